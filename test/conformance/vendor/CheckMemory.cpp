// Memory of a vendor's own: what alloc() gives, and values that pass between two regions in it.
#include "Checks.h"
#include "KeptCase.h"
#include "RandomSubject.h"
#include "SplitSubject.h"

#include "bycc/Support/Sized.h"

#include <algorithm>
#include <set>

namespace bycc::conformance {

namespace {

// Released when it goes.
class VendorMemory {
public:
  VendorMemory(const Setup &setup, const bycc_tensor &tensor)
      : setup_(setup), memory_(setup.runtime->alloc(setup.context, &tensor)) {}
  VendorMemory(VendorMemory &&other) noexcept
      : setup_(other.setup_), memory_(std::exchange(other.memory_, nullptr)) {}
  ~VendorMemory() {
    if (memory_)
      setup_.runtime->release(setup_.context, memory_);
  }
  void *get() const { return memory_; }

private:
  const Setup &setup_;
  void *memory_;
};

bycc_tensor tensorOf(const std::vector<int64_t> &shape) {
  auto tensor = sized<bycc_tensor>();
  tensor.dtype = BYCC_FLOAT32;
  tensor.rank = static_cast<int32_t>(shape.size());
  tensor.flags = BYCC_VALUE_RESIDENT;
  tensor.shape = shape.data();
  tensor.layout = "";
  tensor.bytes = sizeof(float);
  for (int64_t extent : shape)
    tensor.bytes *= static_cast<uint64_t>(extent);
  return tensor;
}

// One of the two regions, compiled and loaded, with a context.
struct Part {
  Built built;
  std::optional<Loaded> loaded;
  std::unique_ptr<Loaded::Context> context;
};

Expected<std::unique_ptr<Part>> partOf(const Setup &setup, const Subject &subject,
                                       const BuildOptions &options) {
  auto part = std::make_unique<Part>();
  part->built = BYCC_TRY(build(setup, subject, options));
  part->loaded.emplace(BYCC_TRY(Loaded::load(setup, part->built, 1)));
  part->context = std::make_unique<Loaded::Context>(*part->loaded, 1);
  return part;
}

Tensor emptyTensor(const std::pair<DType, std::vector<int64_t>> &type) {
  return noise(type.first, type.second, 1); // of other contents than any result
}

bycc_array arrayOf(const Tensor &tensor) {
  return {const_cast<uint8_t *>(tensor.bytes.get()), tensor.shape.data()};
}

// Runs of the two regions, the second of each after the first of all: what passes between
// them is in the vendor's memory for a while, of several runs at once.
class PairOfRegions {
public:
  PairOfRegions(const Setup &setup, const SplitSubject &split) : setup_(setup), split_(split) {}

  Expected<> load() {
    BuildOptions first, second;
    first.residentOutputs = split_.onlyPasses;
    for (const TensorSource &source : split_.secondInputs)
      second.residentInputs.push_back(isResident(source));
    first_ = BYCC_TRY(partOf(setup_, split_.first, first));
    second_ = BYCC_TRY(partOf(setup_, split_.second, second));
    return {};
  }

  struct Run {
    std::vector<Tensor> inputs, outputs, results; // of the whole; of the first, of the second
    std::vector<VendorMemory> memory;
    std::vector<bycc_array> between; // outputs of the first
  };

  Expected<> runFirst(Run &run) {
    std::vector<bycc_array> in;
    for (const TensorSource &source : split_.firstInputs)
      in.push_back(arrayOf(run.inputs[source.index]));
    std::vector<bycc_tensor> tensors = tensorsOf(first_->built.outputs, split_.onlyPasses);
    run.outputs.reserve(tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      run.outputs.push_back(emptyTensor(first_->built.outputs[i]));
      run.between.push_back(arrayOf(run.outputs.back()));
      if (!split_.onlyPasses[i])
        continue;
      run.memory.emplace_back(setup_, tensors[i]);
      run.between.back().data = run.memory.back().get();
      if (!run.between.back().data)
        return error(Status::Limit) << "alloc() has no memory for " << tensors[i].bytes << " bytes";
    }
    return first_->context->runOn(in.data(), run.between.data());
  }

  Expected<std::vector<Tensor>> runSecond(Run &run) {
    std::vector<bycc_array> in, out;
    for (const TensorSource &source : split_.secondInputs)
      in.push_back(source.kind == TensorSource::Input ? arrayOf(run.inputs[source.index])
                                                      : run.between[source.index]);
    run.results.reserve(second_->built.outputs.size());
    for (const auto &type : second_->built.outputs) {
      run.results.push_back(emptyTensor(type));
      out.push_back(arrayOf(run.results.back()));
    }
    BYCC_TRY(second_->context->runOn(in.data(), out.data()));
    std::vector<Tensor> results;
    for (const TensorSource &source : split_.results)
      results.push_back(source.kind == TensorSource::Input   ? run.inputs[source.index]
                        : source.kind == TensorSource::First ? run.outputs[source.index]
                                                             : run.results[source.index]);
    return results;
  }

private:
  bool isResident(const TensorSource &source) const {
    return source.kind == TensorSource::First && split_.onlyPasses[source.index];
  }
  const Setup &setup_;
  const SplitSubject &split_;
  std::unique_ptr<Part> first_, second_;
};

// "" or what goes wrong.
std::string runPair(const Setup &setup, const Subject &whole, const SplitSubject &split) {
  noteCase(setup, whole, whole.inputs(7));
  PairOfRegions pair(setup, split);
  if (Expected<> loaded = pair.load(); !loaded)
    return loaded.error().message();
  std::vector<PairOfRegions::Run> runs(3);
  for (uint32_t i = 0; i < runs.size(); ++i) {
    runs[i].inputs = whole.inputs(7 + 100 * i);
    if (Expected<> done = pair.runFirst(runs[i]); !done)
      return "the first region: " + done.error().message();
  }
  for (PairOfRegions::Run &run : runs) {
    Expected<std::vector<Tensor>> wanted = evaluate(whole.module, whole.function, run.inputs);
    Expected<std::vector<Tensor>> results = pair.runSecond(run);
    if (!wanted || !results)
      return "the second region: " + (wanted ? results : wanted).error().message();
    if (std::string why = differenceOf(*results, *wanted); !why.empty())
      return why + " (through values in the vendor's memory, of several runs at once)";
  }
  return "";
}

} // namespace

void checkAlloc(const Setup &setup, Findings &findings) {
  if (!setup.vendor->hasOwnMemory())
    return findings.skip("the vendor has no memory of its own");
  findings.begin("alloc");
  if (!setup.runtime->alloc || !setup.runtime->release)
    return findings.fail("alloc", "the run half has no alloc() or no release()");
  const std::vector<std::vector<int64_t>> shapes = {{},   {1},          {3, 5}, {2, 4, 8, 8},
                                                    {64}, {2, 4, 8, 8}, {0}};
  std::vector<VendorMemory> held;
  std::set<void *> places;
  for (const std::vector<int64_t> &shape : shapes) {
    held.emplace_back(setup, tensorOf(shape));
    if (!held.back().get())
      findings.fail("alloc", "it has no memory for a tensor of " +
                                 std::to_string(tensorOf(shape).bytes) + " bytes");
    else if (!places.insert(held.back().get()).second)
      findings.fail("alloc", "two tensors that are there at the same time are in one place");
  }
  held.clear();
  constexpr int rounds = 4000;
  const std::vector<int64_t> shape = {64, 32, 32};
  findings.begin("release");
  for (int i = 0; i < rounds; ++i)
    if (VendorMemory memory(setup, tensorOf(shape)); !memory.get())
      return findings.fail("release",
                           "after " + std::to_string(i) +
                               " tensors of 256 KiB, each released, there is no memory left");
}

void checkResident(const Setup &setup, Findings &findings) {
  if (!setup.vendor->hasOwnMemory())
    return findings.skip("the vendor has no memory of its own");
  size_t run = 0;
  for (uint32_t seed = setup.seed; seed < setup.seed + 12; ++seed) {
    std::string item = "seed " + std::to_string(seed);
    findings.begin(item);
    std::optional<Subject> whole = randomSubject(setup, seed, 3 + seed % 8);
    if (!whole || findings.isGap(item))
      continue;
    for (size_t at = 1; at < numCalls(*whole); ++at) {
      std::optional<SplitSubject> split = splitSubject(*whole, at);
      if (!split || std::ranges::count(split->onlyPasses, 1) == 0)
        continue;
      findings.begin(item + ", " + std::to_string(at) + " calls first");
      ++run;
      if (std::string why = runPair(setup, *whole, *split); !why.empty()) {
        findings.fail(item + ", " + std::to_string(at) + " calls first", why);
        break;
      }
    }
  }
  if (run == 0)
    findings.skip("no random region comes apart into two that pass a value");
}

} // namespace bycc::conformance
