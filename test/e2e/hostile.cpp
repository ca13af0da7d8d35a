// A vendor that misbehaves as the environment says, and otherwise computes
// elementwise float32 operators for real. Both halves are in this file.
//
//   HOSTILE=MODE[:OP],...  the compile half, for regions that have operator OP (any):
//     blame refuse abort segv exit hang throw empty huge fds memory
//   HOSTILE=size:N         refuses regions of more than N nodes
//   HOSTILE=together:A+B   refuses regions that have both
//   HOSTILE=loud           writes to standard output wherever it is called
//   HOSTILE=random         another blob each time
//   HOSTILE=supports-MODE[:OP]  abort segv exit hang throw fds, when it is asked about operator OP
//   (any)
//   HOSTILE=annotate-MODE  the same in an annotator, which otherwise takes what supports() does
//   HOSTILE_WEIGHTS=1      stores constants as weights of its own
//   HOSTILE_RUN=load|run|abi|version|null|memory|throw|number   the run half (the last three: what
//   it throws in a run); throw-entry|throw-load|throw-state   what it throws before; wrong computes
//   nn.relu with 1 too much
#include <bycc/vendor.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

constexpr const char *operators[] = {"add", "multiply", "subtract", "nn.relu", "negative", "abs"};

std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

int indexOf(const char *op) {
  for (int i = 0; i < 6; ++i)
    if (!std::strcmp(op, operators[i]))
      return i;
  return -1;
}

void misbehave(const std::string &mode) {
  if (mode == "abort")
    std::abort();
  if (mode == "segv")
    *reinterpret_cast<volatile int *>(8) = 1;
  if (mode == "exit")
    std::exit(0);
  if (mode == "hang")
    for (;;)
      pause();
  if (mode == "throw")
    throw std::runtime_error("thrown by hostile");
  if (mode == "memory")
    for (;;)
      std::memset(new char[64 << 20], 1, 64 << 20);
  if (mode == "fds")
    for (int fd = 3; fd < 64; ++fd)
      if (fcntl(fd, F_GETFD) == FD_CLOEXEC) // bycc's own
        (void)!write(fd, "this is no answer, by no means one", 34);
}

void speak() {
  if (environment("HOSTILE") == "loud") {
    std::printf("hostile was here\n");
    (void)!write(1, "and here\n", 9);
  }
}

int32_t supports(void *, const bycc_target *, const bycc_region *region, bycc_answer *answer) {
  speak();
  std::string mode = environment("HOSTILE");
  const bycc_node &node = *bycc_node_at(region, 0);
  size_t colon = std::min(mode.find(':'), mode.size());
  if (mode.starts_with("supports-") && (colon == mode.size() || mode.substr(colon + 1) == node.op))
    misbehave(mode.substr(9, colon - 9));
  if (node.body)
    return 1;
  const bycc_value &out = *bycc_value_at(region, node.outputs[0]);
  bool fits = indexOf(node.op) >= 0 && out.dtype == BYCC_FLOAT32;
  for (uint32_t i = 0; i < node.num_inputs && fits; ++i) {
    const bycc_value &in = *bycc_value_at(region, node.inputs[i]);
    fits = in.rank == out.rank && !std::memcmp(in.dims, out.dims, sizeof(int64_t) * out.rank);
  }
  if (!fits)
    answer->reason(answer, "not elementwise float32");
  return fits;
}

int32_t annotate(void *, const bycc_target *, const bycc_region *block, bycc_answer *answer) {
  misbehave(environment("HOSTILE").substr(9));
  for (uint32_t i = 0; i < block->num_nodes; ++i)
    if (indexOf(bycc_node_at(block, i)->op) >= 0)
      answer->take(answer, i, 0);
  return 0;
}

bool has(const bycc_region &region, const std::string &op) {
  for (uint32_t i = 0; i < region.num_nodes; ++i)
    if (const bycc_node &node = *bycc_node_at(&region, i);
        op == node.op || (node.body && has(*node.body, op)))
      return true;
  return false;
}

// --- a region as a list of numbers: values (elements, weights offset or -1),
// steps (operator, inputs, output), inputs, outputs

struct Writer {
  std::vector<int64_t> values, steps, ins, outs;
  std::vector<uint8_t> own; // weights, with HOSTILE_WEIGHTS

  int64_t placeOf(const bycc_value &value) {
    if (!value.data)
      return -1;
    if (environment("HOSTILE_WEIGHTS").empty())
      return static_cast<int64_t>(value.weights_offset);
    auto at = static_cast<int64_t>(own.size());
    auto *bytes = static_cast<const uint8_t *>(value.data);
    own.insert(own.end(), bytes, bytes + value.bytes);
    return at;
  }

  int64_t addValue(const bycc_value &value) {
    int64_t count = 1;
    for (int32_t d = 0; d < value.rank; ++d)
      count *= value.dims[d];
    values.insert(values.end(), {count, placeOf(value)});
    return static_cast<int64_t>(values.size() / 2 - 1);
  }

  // `known` are the numbers of the region's inputs; returns those of its outputs.
  std::vector<int64_t> add(const bycc_region &region, const std::vector<int64_t> &known) {
    std::vector<int64_t> number(region.num_values, -1);
    for (uint32_t i = 0; i < region.num_inputs; ++i)
      number[region.inputs[i]] = known[i];
    for (uint32_t i = 0; i < region.num_nodes; ++i) {
      const bycc_node &node = *bycc_node_at(&region, i);
      std::vector<int64_t> inputs;
      for (uint32_t k = 0; k < node.num_inputs; ++k) {
        uint32_t value = node.inputs[k];
        if (number[value] < 0)
          number[value] = addValue(*bycc_value_at(&region, value));
        inputs.push_back(number[value]);
      }
      if (node.body) {
        number[node.outputs[0]] = add(*node.body, inputs)[0];
        continue;
      }
      number[node.outputs[0]] = addValue(*bycc_value_at(&region, node.outputs[0]));
      steps.insert(steps.end(),
                   {indexOf(node.op), inputs[0], inputs.back(), number[node.outputs[0]]});
    }
    std::vector<int64_t> results;
    for (uint32_t i = 0; i < region.num_outputs; ++i)
      results.push_back(number[region.outputs[i]]);
    return results;
  }

  std::vector<int64_t> write(const bycc_region &region) {
    for (uint32_t i = 0; i < region.num_inputs; ++i)
      ins.push_back(addValue(*bycc_value_at(&region, region.inputs[i])));
    outs = add(region, ins);
    std::vector<int64_t> blob;
    for (const auto *list : {&values, &steps, &ins, &outs}) {
      blob.push_back(static_cast<int64_t>(list->size()));
      blob.insert(blob.end(), list->begin(), list->end());
    }
    return blob;
  }
};

int32_t refuseIf(bool refuses, const bycc_region &region, const std::string &mode,
                 const std::string &op, bycc_answer *answer) {
  if (!refuses)
    return 0;
  answer->reason(answer, ("cannot do " + op).c_str());
  for (uint32_t i = 0; mode == "blame" && i < region.num_nodes; ++i)
    if (const bycc_node &node = *bycc_node_at(&region, i);
        op == node.op || (node.body && has(*node.body, op))) {
      answer->blame(answer, i);
      break;
    }
  return 1;
}

// One "MODE:OP"; not 0 when it makes compile() refuse.
int32_t act(std::string mode, const bycc_region &region, bycc_answer *answer) {
  std::string op;
  if (size_t colon = mode.find(':'); colon != std::string::npos) {
    op = mode.substr(colon + 1);
    mode.resize(colon);
  }
  bool concerned = op.empty() || has(region, op);
  size_t plus = op.find('+');
  bool refuses =
      ((mode == "refuse" || mode == "blame") && concerned) ||
      (mode == "size" && region.num_nodes > std::stoul(op)) ||
      (mode == "together" && has(region, op.substr(0, plus)) && has(region, op.substr(plus + 1)));
  if (int32_t no = refuseIf(refuses, region, mode, op, answer))
    return no;
  if (concerned)
    misbehave(mode);
  Writer writer;
  std::vector<int64_t> blob = writer.write(region);
  if (!writer.own.empty()) {
    void *memory = answer->weights(answer, writer.own.size());
    if (!memory) {
      answer->reason(answer, "no memory for weights");
      return 1;
    }
    std::memcpy(memory, writer.own.data(), writer.own.size());
  }
  if (mode == "random")
    blob.push_back(getpid());
  if (mode == "huge" && concerned)
    answer->blob(answer, std::calloc(1, size_t{1} << 30), size_t{1} << 30);
  else
    answer->blob(answer, blob.data(), mode == "empty" && concerned ? 0 : blob.size() * 8);
  return 0;
}

int32_t compile(void *, const bycc_target *, const bycc_region *region, bycc_answer *answer) {
  speak();
  std::string modes = environment("HOSTILE");
  for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = modes.find(',', begin);
    if (int32_t no = act(modes.substr(begin, end - begin), *region, answer))
      return no;
  }
  return 0;
}

// --- the run half

struct Region {
  std::vector<int64_t> values, steps, ins, outs;
  const uint8_t *weights;
};

int32_t load(const bycc_vendor_context *, const bycc_region_load *info, void **region, char *error,
             size_t errorSize) {
  const uint8_t *weights = info->weights;
  if (!environment("HOSTILE_TRACE").empty())
    std::fprintf(stderr, "%s: %d bytes of weights, %s\n", info->symbol,
                 static_cast<int>(info->weights_bytes),
                 !weights                                    ? "null"
                 : reinterpret_cast<uintptr_t>(weights) % 64 ? "not aligned"
                                                             : "aligned");
  if (environment("HOSTILE_RUN") == "throw-load")
    throw std::runtime_error("thrown by hostile");
  if (environment("HOSTILE_RUN") == "load") {
    std::snprintf(error, errorSize, "hostile does not want to");
    return BYCC_LOAD;
  }
  auto *made = new Region{{}, {}, {}, {}, weights};
  const int64_t *at = reinterpret_cast<const int64_t *>(info->blob);
  std::vector<int64_t> words(info->blob_bytes / 8);
  std::memcpy(words.data(), at, words.size() * 8);
  at = words.data();
  for (auto *list : {&made->values, &made->steps, &made->ins, &made->outs}) {
    list->assign(at + 1, at + 1 + at[0]);
    at += 1 + at[0];
  }
  *region = made;
  return BYCC_OK;
}

void unload(const bycc_vendor_context *, void *region) { delete static_cast<Region *>(region); }
uint64_t stateBytes(const bycc_vendor_context *, void *) { return 8; }
int32_t initState(const bycc_vendor_context *, void *, void *, int32_t) {
  if (environment("HOSTILE_RUN") == "throw-state")
    throw std::runtime_error("thrown by hostile");
  return BYCC_OK;
}
void dropState(const bycc_vendor_context *, void *, void *) {}

float apply(int64_t op, float a, float b) {
  switch (op) {
  case 0:
    return a + b;
  case 1:
    return a * b;
  case 2:
    return a - b;
  case 3:
    return a > 0 ? a : 0;
  case 4:
    return -a;
  default:
    return std::fabs(a);
  }
}

int32_t run(const bycc_vendor_context *, void *handle, void *, const bycc_region_run *run,
            char *error, size_t errorSize) {
  if (environment("HOSTILE_RUN") == "run") {
    std::snprintf(error, errorSize, "hostile has stopped");
    return BYCC_INTERNAL;
  }
  if (environment("HOSTILE_RUN") == "memory")
    throw std::bad_alloc();
  if (environment("HOSTILE_RUN") == "throw")
    throw std::runtime_error("thrown by hostile");
  if (environment("HOSTILE_RUN") == "number")
    throw 7;
  const Region &region = *static_cast<Region *>(handle);
  std::vector<std::vector<float>> made(region.values.size() / 2);
  std::vector<const float *> data(made.size());
  for (size_t i = 0; i < made.size(); ++i)
    if (region.values[2 * i + 1] >= 0)
      data[i] = reinterpret_cast<const float *>(region.weights + region.values[2 * i + 1]);
  for (size_t i = 0; i < region.ins.size(); ++i)
    data[region.ins[i]] = static_cast<const float *>(run->inputs[i].data);
  for (size_t s = 0; s < region.steps.size(); s += 4) {
    const int64_t *step = &region.steps[s];
    std::vector<float> &out = made[step[3]];
    float tooMuch =
        environment("HOSTILE_RUN") == "wrong" && !std::strcmp(operators[step[0]], "nn.relu") ? 1
                                                                                             : 0;
    for (int64_t i = 0; i < region.values[2 * step[3]]; ++i)
      out.push_back(apply(step[0], data[step[1]][i], data[step[2]][i]) + tooMuch);
    data[step[3]] = out.data();
  }
  for (size_t i = 0; i < region.outs.size(); ++i)
    std::memcpy(run->outputs[i].data, data[region.outs[i]],
                sizeof(float) * region.values[2 * region.outs[i]]);
  return BYCC_OK;
}

constexpr const char *patterns = R"J({"schema": 1, "vendor": "hostile", "patterns": [
  {"name": "hostile.subtract_relu", "root": "nn.relu(subtract($a, $b))"}]})J";

} // namespace

extern "C" const bycc_vendor_compiler *bycc_vendor_compiler_entry() {
  speak();
  static const bycc_vendor_compiler compiler = {
      .abi_version = BYCC_VENDOR_ABI_VERSION,
      .size = sizeof compiler,
      .name = "hostile",
      .version = "1.0",
      .patterns = environment("HOSTILE_PATTERNS").empty() ? nullptr : patterns,
      .flags = (environment("HOSTILE_MEMORY").empty() ? 0 : BYCC_VENDOR_OWN_MEMORY) |
               (environment("HOSTILE_WEIGHTS").empty() ? 0 : BYCC_VENDOR_OWN_WEIGHTS),
      .supports = supports,
      .compile = compile,
      .annotate = environment("HOSTILE").starts_with("annotate-") ? annotate : nullptr};
  return &compiler;
}

extern "C" const bycc_vendor_runtime *bycc_vendor_runtime_entry() {
  std::string mode = environment("HOSTILE_RUN");
  if (mode == "null")
    return nullptr;
  if (mode == "throw-entry")
    throw std::runtime_error("thrown by hostile");
  static bycc_vendor_runtime runtime = {};
  runtime.abi_version = mode == "abi" ? 999 : BYCC_VENDOR_ABI_VERSION;
  runtime.size = sizeof runtime;
  runtime.name = "hostile";
  runtime.version = mode == "version" ? "2.0" : "1.0";
  runtime.load = load;
  runtime.unload = unload;
  runtime.state_bytes = stateBytes;
  runtime.init_state = initState;
  runtime.drop_state = dropState;
  runtime.run = mode == "lacking" ? nullptr : run;
  if (mode == "short")
    runtime.size = 64;
  if (mode == "older") { // what the header did not have then must not be read
    runtime.size = offsetof(bycc_vendor_runtime, reads);
    runtime.reads = reinterpret_cast<const char *>(8);
    runtime.open = reinterpret_cast<decltype(runtime.open)>(8);
    runtime.alloc = reinterpret_cast<decltype(runtime.alloc)>(8);
    runtime.release = reinterpret_cast<decltype(runtime.release)>(8);
  }
  return &runtime;
}
