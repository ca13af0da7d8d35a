// The compile half: bycc loads this into the compiler. It answers for nodes and
// turns a region into a command stream. It never touches the device.
#include "device.h"
#include "region.h"
#include "translate.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <unistd.h>

extern "C" const char examplenpu_patterns[]; // the text of examplenpu.json

namespace examplenpu {

namespace {

// --- for trying out what happens when a vendor says no or fails

std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

// Is the name in EXAMPLENPU_REFUSE=nn.dense,conv_7?
bool isRefused(const std::string &name) {
  return ("," + environment("EXAMPLENPU_REFUSE") + ",").find("," + name + ",") != std::string::npos;
}

// Why the node, or one inside of a composite, is to be refused; "" when it is not. The
// model's names count at compile() only: an answer of supports() must not depend on
// them.
std::string whyRefused(const bycc_node &node, bool byName) {
  if (isRefused(node.op))
    return std::string(node.op) + " is in EXAMPLENPU_REFUSE";
  if (byName && node.source && isRefused(node.source))
    return std::string(node.source) + " is in EXAMPLENPU_REFUSE";
  for (uint32_t i = 0; node.body && i < node.body->num_nodes; ++i)
    if (std::string reason = whyRefused(*bycc_node_at(node.body, i), byName); !reason.empty())
      return reason;
  return "";
}

std::string answerFor(const bycc_region &region, const bycc_node &node, Work &work) {
  std::string reason = whyRefused(node, false);
  return reason.empty() ? translate(region, node, work) : reason;
}

// --- supports: one node

int32_t supports(void *, const bycc_target *, const bycc_region *region, bycc_answer *answer) {
  const bycc_node &node = *bycc_node_at(region, 0);
  Work work;
  if (std::string reason = answerFor(*region, node, work); !reason.empty()) {
    answer->reason(answer, reason.c_str());
    return 0;
  }
  for (const Way &way : waysToRun(work))
    answer->offer(answer, way.name, way.microseconds);
  return 1;
}

// --- annotate: a whole block (used with EXAMPLENPU_ANNOTATE=1)
//
// Asked node by node, a vendor cannot see that an operator stands alone. Here the
// heavy operators are taken first, then those that something taken feeds: an
// elementwise operator alone is not worth a trip to the device.

int32_t annotate(void *, const bycc_target *, const bycc_region *block, bycc_answer *answer) {
  std::set<uint32_t> onDevice; // values
  for (uint32_t i = 0; i < block->num_nodes; ++i) {
    const bycc_node &node = *bycc_node_at(block, i);
    Work work;
    std::string reason = answerFor(*block, node, work);
    bool isHeavy = work.command.code == Code::Conv2d || work.command.code == Code::Dense;
    bool isFed = std::any_of(node.inputs, node.inputs + node.num_inputs,
                             [&](uint32_t value) { return onDevice.count(value) > 0; });
    if (reason.empty() && !isHeavy && !isFed)
      reason = "nothing before it runs on the device";
    if (reason.empty()) {
      answer->take(answer, i, 0); // in no group: regions as bycc finds them
      onDevice.insert(node.outputs, node.outputs + node.num_outputs);
    } else {
      answer->refuse(answer, i, reason.c_str());
    }
  }
  return 0;
}

// --- compile: a whole region

class StreamWriter {
public:
  StreamWriter(const bycc_region &region, uint64_t heapBytes)
      : region_(region), heapBytes_(heapBytes) {}

  // "" or why not; then `blamed` is the node, if one is to blame.
  std::string run(uint32_t &blamed) {
    for (uint32_t i = 0; i < region_.num_inputs; ++i) {
      uint32_t buffer = bufferOf(bycc_value_at(&region_, region_.inputs[i]));
      stream.inputs.push_back(buffer);
      add({Code::CopyIn, buffer, noBuffer, noBuffer, noBuffer, noBuffer, {static_cast<int32_t>(i)}});
    }
    for (uint32_t n = 0; n < region_.num_nodes; ++n)
      if (std::string reason = addNode(n); !reason.empty()) {
        blamed = n;
        return reason;
      }
    for (uint32_t i = 0; i < region_.num_outputs; ++i) {
      uint32_t buffer = bufferOf(bycc_value_at(&region_, region_.outputs[i]));
      stream.outputs.push_back(buffer);
      add({Code::CopyOut, buffer, noBuffer, noBuffer, noBuffer, noBuffer, {static_cast<int32_t>(i)}});
    }
    Header &header = stream.header;
    header.numBuffers = static_cast<uint32_t>(stream.buffers.size());
    header.numCommands = static_cast<uint32_t>(stream.commands.size());
    header.numInputs = region_.num_inputs;
    header.numOutputs = region_.num_outputs;
    return checkMemory();
  }

  Stream stream = {};

private:
  void add(const Command &command) { stream.commands.push_back(command); }

  std::string addNode(uint32_t index) {
    const bycc_node &node = *bycc_node_at(&region_, index);
    if (std::string reason = whyRefused(node, true); !reason.empty())
      return reason;
    Work work;
    if (std::string reason = translate(region_, node, work); !reason.empty())
      return reason;
    work.command.a = bufferOf(work.a);
    work.command.b = bufferOf(work.b);
    work.command.c = bufferOf(work.c);
    work.command.out = bufferOf(work.out);
    work.command.node = index;
    if (work.command.code == Code::Conv2d) {
      // bycc chose among what supports() offered.
      work.command.p[Pointwise] = node.implementation && std::strcmp(node.implementation, "pointwise") == 0;
      work.command.p[Tile] = tunedTile();
    }
    add(work.command);
    return "";
  }

  // What tune() found, one tile per convolution in order; 4 when it was not asked.
  int32_t tunedTile() {
    uint32_t index = numConvs_++;
    auto *tiles = static_cast<const uint8_t *>(region_.tuning);
    return index < region_.tuning_bytes && tiles[index] ? tiles[index] : 4;
  }

  // Every value gets a place of its own; a real device would reuse them.
  uint32_t bufferOf(const bycc_value *value) {
    if (!value)
      return noBuffer;
    auto [found, isNew] = buffers_.try_emplace(value, static_cast<uint32_t>(stream.buffers.size()));
    if (!isNew)
      return found->second;
    uint64_t bytes = static_cast<uint64_t>(elements(*value)) * sizeof(float);
    uint64_t &area = value->data ? stream.header.weightBytes : stream.header.runBytes;
    stream.buffers.push_back({bytes, area, value->weights_offset, value->data != nullptr});
    area += (bytes + 63) / 64 * 64;
    return found->second;
  }

  // What does not fit is known here, so that it need not fail when the model runs. Some
  // is held back for values between regions.
  std::string checkMemory() const {
    constexpr uint64_t reserve = 4096;
    uint64_t needed = stream.header.weightBytes + stream.header.runBytes;
    if (needed + reserve <= heapBytes_)
      return "";
    return "it needs " + std::to_string(needed) + " bytes of device memory, the device has " +
           std::to_string(heapBytes_) + " with " + std::to_string(reserve) + " in reserve";
  }

  const bycc_region &region_;
  const uint64_t heapBytes_;
  std::map<const bycc_value *, uint32_t> buffers_;
  uint32_t numConvs_ = 0;
};

int32_t compile(void *, const bycc_target *target, const bycc_region *region, bycc_answer *answer) {
  std::string failure = environment("EXAMPLENPU_FAIL");
  if (failure == "abort")
    std::abort();
  while (failure == "hang")
    sleep(1);
  if (failure == "compile") {
    answer->reason(answer, "EXAMPLENPU_FAIL says so");
    return 1;
  }
  StreamWriter writer(*region, heapBytes(target->options, target->num_options));
  uint32_t blamed = noBuffer;
  if (std::string reason = writer.run(blamed); !reason.empty()) {
    answer->reason(answer, reason.c_str());
    if (blamed != noBuffer)
      answer->blame(answer, blamed);
    return 1;
  }
  std::vector<uint8_t> bytes = writer.stream.write();
  answer->blob(answer, bytes.data(), bytes.size());
  return 0;
}

// --- tune: the best tile of each convolution, by trying them on the device

int32_t tune(void *, const bycc_target *, const bycc_region *region, bycc_answer *answer) {
  std::vector<uint8_t> tiles;
  for (uint32_t n = 0; n < region->num_nodes; ++n) {
    Work work;
    if (!translate(*region, *bycc_node_at(region, n), work).empty() ||
        work.command.code != Code::Conv2d)
      continue;
    uint8_t best = 1;
    for (uint8_t tile : {2, 4, 8, 16, 32})
      if (convCycles(work.command, tile) < convCycles(work.command, best))
        best = tile;
    tiles.push_back(best);
  }
  answer->blob(answer, tiles.data(), tiles.size());
  return 0;
}

// --vendor-option examplenpu.heap=65536 when a model is compiled.
const bycc_vendor_option options[] = {
    {sizeof(bycc_vendor_option), BYCC_ATTR_INT, "heap", "67108864", nullptr,
     "bytes of memory that the device has", 0},
};

} // namespace

} // namespace examplenpu

extern "C" __attribute__((visibility("default"))) const bycc_vendor_compiler *
bycc_vendor_compiler_entry(void) {
  using namespace examplenpu;
  static bycc_vendor_compiler vendor = {};
  vendor.abi_version = BYCC_VENDOR_ABI_VERSION;
  vendor.size = sizeof vendor;
  vendor.name = "examplenpu";
  vendor.version = "1.0"; // the run half says which of them it reads
  vendor.library = "examplenpu driver 7";
  vendor.patterns = examplenpu_patterns;
  vendor.supports = supports;
  vendor.compile = compile;
  vendor.annotate = environment("EXAMPLENPU_ANNOTATE").empty() ? nullptr : annotate;
  vendor.tune = tune;
  vendor.num_options = 1;
  vendor.options = options;
  vendor.flags = BYCC_VENDOR_OWN_MEMORY;
  return &vendor;
}
