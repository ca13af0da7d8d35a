#include "Net.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace floor_bench {

namespace {

using Type = dnnl::memory::data_type;

Type typeOf(const dnnl::memory::desc &desc) {
#if DNNL_VERSION_MAJOR >= 3
  return desc.get_data_type();
#else
  return desc.data_type();
#endif
}

size_t elementBytes(const dnnl::memory::desc &desc) {
  return dnnl::memory::data_type_size(typeOf(desc));
}

class Random {
public:
  // Uniform in [-1, 1).
  float next() {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return float(int32_t(state_ >> 32)) / 2147483648.f;
  }

private:
  uint64_t state_ = 1;
};

// A bfloat16 is the upper half of a float.
uint16_t upperHalf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return uint16_t(bits >> 16);
}

void fill(char *data, size_t bytes, Type type, Fill how) {
  Random random;
  auto next = [&] { return how.spread == 0 ? how.value : how.spread * random.next(); };
  if (type == Type::f32) {
    auto *values = reinterpret_cast<float *>(data);
    std::generate(values, values + bytes / sizeof(float), next);
  } else if (type == Type::bf16) {
    auto *values = reinterpret_cast<uint16_t *>(data);
    std::generate(values, values + bytes / sizeof(uint16_t), [&] { return upperHalf(next()); });
  } else {
    std::generate(data, data + bytes, [&] { return char(100 * random.next()); });
  }
}

size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

} // namespace

// `placed` is sorted by offset.
size_t Net::lowestOffset(const Life &life,
                         const std::vector<std::pair<std::string, Life>> &placed) {
  size_t offset = 0;
  for (const auto &[name, other] : placed) {
    bool isAlive = other.first <= life.last && life.first <= other.last;
    if (isAlive && other.offset < offset + life.bytes)
      offset = std::max(offset, aligned(other.offset + other.bytes));
  }
  return offset;
}

double milliseconds() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

Net::Net(const std::vector<Layer> &layers, const std::vector<std::string> &forms)
    : stream_(engine()) {
  for (size_t i = 0; i < layers.size(); ++i) {
    auto made = make(layers[i], forms[i]);
    if (!made)
      fail("layer " + layers[i].name + " cannot be made as " + forms[i]);
    scratchpadBytes_ = std::max(scratchpadBytes_, made->scratchpadBytes);
    steps_.push_back({std::move(*made), {}, {}});
  }
  scratchpad_ = allocate(scratchpadBytes_);
  placeSums();
  allocateTensors();
  for (Step &step : steps_)
    bind(step);
}

char *Net::allocate(size_t bytes) {
  char *data = static_cast<char *>(std::aligned_alloc(64, aligned(std::max<size_t>(bytes, 1))));
  if (data == nullptr)
    fail("out of memory");
  memory_.push_back(Bytes(data, std::free));
  return data;
}

void Net::placeSums() {
  for (Step &step : steps_) {
    if (step.made.sumTensor.empty())
      continue;
    auto found = inPlace_.find(step.made.sumTensor);
    const std::string &target = found == inPlace_.end() ? step.made.sumTensor : found->second;
    inPlace_[step.made.arguments[step.made.resultIndex].tensor] = target;
  }
}

// Tensors of one name but another element size are apart: integers read as floats would be
// denormals.
std::string Net::bufferOf(const Argument &argument) const {
  auto found = inPlace_.find(argument.tensor);
  const std::string &tensor = found == inPlace_.end() ? argument.tensor : found->second;
  return tensor + ":" + std::to_string(elementBytes(argument.desc));
}

// What is written lives from its first step to its last; what is only read, always.
std::map<std::string, Net::Life> Net::lives() const {
  std::map<std::string, Life> lives;
  for (size_t i = 0; i < steps_.size(); ++i)
    for (size_t k = 0; k < steps_[i].made.arguments.size(); ++k) {
      const Argument &argument = steps_[i].made.arguments[k];
      if (argument.tensor.empty())
        continue;
      Life &life =
          lives.insert({bufferOf(argument), {0, i, i, typeOf(argument.desc), false}}).first->second;
      life.bytes = std::max(life.bytes, argument.desc.get_size() +
                                            argument.offset * elementBytes(argument.desc));
      life.last = i;
      life.isWritten |= int(k) == steps_[i].made.resultIndex;
    }
  return lives;
}

// Intermediates share one arena, the largest placed first, each as low as those alive with it
// allow.
void Net::allocateTensors() {
  std::vector<std::pair<std::string, Life>> written, placed;
  for (const auto &[name, life] : lives())
    if (life.isWritten)
      written.push_back({name, life});
    else
      fill(buffers_[name] = allocate(life.bytes), life.bytes, life.type, {});
  std::stable_sort(written.begin(), written.end(),
                   [](const auto &a, const auto &b) { return a.second.bytes > b.second.bytes; });
  size_t arenaBytes = 0;
  for (auto &[name, life] : written) {
    life.offset = lowestOffset(life, placed);
    arenaBytes = std::max(arenaBytes, life.offset + life.bytes);
    auto after = [](const auto &a, const auto &b) { return a.second.offset < b.second.offset; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), std::pair(name, life), after),
                  {name, life});
  }
  char *arena = allocate(arenaBytes);
  fill(arena, arenaBytes / 4 * 4, Type::f32, {});
  for (const auto &[name, life] : placed)
    buffers_[name] = arena + life.offset;
}

void *Net::dataOf(const Argument &argument) {
  if (!argument.tensor.empty())
    return buffers_.at(bufferOf(argument)) + argument.offset * elementBytes(argument.desc);
  char *data = allocate(argument.desc.get_size());
  fill(data, argument.desc.get_size(), typeOf(argument.desc), argument.fill);
  return data;
}

void Net::bind(Step &step) {
  std::vector<int> keys;
  for (const Argument &argument : step.made.arguments) {
    step.memories.push_back({argument.desc, engine(), dataOf(argument)});
    keys.push_back(argument.key);
  }
  dnnl::memory::desc scratch({int64_t(step.made.scratchpadBytes)}, Type::u8,
                             dnnl::memory::format_tag::x);
  if (step.made.scratchpadBytes > 0) {
    step.memories.push_back({scratch, engine(), scratchpad_});
    keys.push_back(DNNL_ARG_SCRATCHPAD);
  }
  for (size_t i = 0; i < keys.size(); ++i)
    step.arguments.push_back({keys[i], step.memories[i].get()});
}

// The C call: the C++ one copies a map of the arguments at each run.
void Net::run() {
  for (Step &step : steps_)
    if (dnnl_primitive_execute(step.made.primitive.get(), stream_.get(), int(step.arguments.size()),
                               step.arguments.data()) != dnnl_success)
      fail("a primitive failed");
}

void Net::run(std::vector<double> &times) {
  times.resize(steps_.size());
  double start = milliseconds();
  for (size_t i = 0; i < steps_.size(); ++i) {
    Step &step = steps_[i];
    if (dnnl_primitive_execute(step.made.primitive.get(), stream_.get(), int(step.arguments.size()),
                               step.arguments.data()) != dnnl_success)
      fail("a primitive failed");
    double end = milliseconds();
    times[i] = end - start;
    start = end;
  }
}

} // namespace floor_bench
