// What a run half promises about runs, contexts and memory.
#include "Checks.h"
#include "KeptCase.h"
#include "RandomSubject.h"

#include <algorithm>
#include <cstdio>
#include <malloc.h>
#include <thread>
#include <unistd.h>

namespace bycc::conformance {

namespace {

struct Sample {
  Subject subject;
  Built built;
  std::vector<Tensor> inputs, wanted;
};

std::optional<Sample> sampleOf(const Setup &setup, Findings &findings) {
  findings.begin("sample");
  std::optional<Subject> subject = sampleSubject(setup);
  if (!subject) {
    findings.skip("the vendor takes none of the operators that samples are made of");
    return std::nullopt;
  }
  Expected<Built> built = build(setup, *subject);
  std::vector<Tensor> inputs = subject->inputs(7);
  noteCase(setup, *subject, inputs);
  Expected<std::vector<Tensor>> wanted = evaluate(subject->module, subject->function, inputs);
  if (built && wanted)
    return Sample{std::move(*subject), built.takeValue(), std::move(inputs), wanted.takeValue()};
  findings.fail("sample", built ? wanted.error().message() : built.error().message());
  return std::nullopt;
}

// The sample, loaded for a number of threads; fails are said.
std::optional<Loaded> loaded(const Setup &setup, Findings &findings, const Sample &sample,
                             int32_t threads) {
  Expected<Loaded> region = Loaded::load(setup, sample.built, threads);
  if (region)
    return std::move(*region);
  findings.fail("load", region.error().message());
  return std::nullopt;
}

uint64_t residentBytes() {
  long pages = 0, resident = 0;
  if (std::FILE *file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &pages, &resident) != 2)
      resident = 0;
    std::fclose(file);
  }
  return static_cast<uint64_t>(resident) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

// In use, of all arenas. Sanitizers count their own way: then it is always the same.
int64_t heapBytes() {
  struct mallinfo2 info = ::mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

} // namespace

void checkRepeatedRuns(const Setup &setup, Findings &findings) {
  std::optional<Sample> s = sampleOf(setup, findings);
  std::optional<Loaded> region = s ? loaded(setup, findings, *s, 1) : std::nullopt;
  if (!region || findings.isGap("sample"))
    return;
  Loaded::Context context(*region, 1);
  std::vector<Tensor> first;
  std::vector<Tensor> others = s->subject.inputs(99);
  for (uint8_t poison : {0xa5, 0x00, 0xff}) {
    findings.begin("run with outputs filled with " + std::to_string(poison));
    Expected<std::vector<Tensor>> results = context.run(s->inputs, poison);
    if (!results)
      return findings.fail("sample", results.error().message());
    if (first.empty())
      first = *results;
    findings.expect(sameBits(first, *results), "sample",
                    "a run on other contents of the outputs gives other results");
    // Something else in between, so that what it leaves behind shows.
    if (Expected<std::vector<Tensor>> between = context.run(others, poison); !between)
      findings.fail("sample", between.error().message());
  }
  findings.expect(differenceOf(first, s->wanted).empty(), "sample", differenceOf(first, s->wanted));
}

void checkConcurrentRuns(const Setup &setup, Findings &findings) {
  std::optional<Sample> s = sampleOf(setup, findings);
  std::optional<Loaded> region = s ? loaded(setup, findings, *s, 1) : std::nullopt;
  if (!region || findings.isGap("sample"))
    return;
  constexpr size_t numThreads = 4;
  constexpr int numRuns = 25;
  Expected<std::vector<Tensor>> wanted = Loaded::Context(*region, 1).run(s->inputs);
  if (!wanted)
    return findings.fail("sample", wanted.error().message());
  std::vector<std::string> problems(numThreads);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < numThreads; ++t)
    threads.emplace_back([&, t] {
      Loaded::Context context(*region, 1);
      for (int i = 0; i < numRuns && problems[t].empty(); ++i) {
        Expected<std::vector<Tensor>> results = context.run(s->inputs);
        problems[t] = !results                      ? results.error().message()
                      : sameBits(*results, *wanted) ? ""
                                                    : "a run beside others gives other results";
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (size_t t = 0; t < numThreads; ++t)
    findings.expect(problems[t].empty(), "thread " + std::to_string(t), problems[t]);
}

void checkThreadCounts(const Setup &setup, Findings &findings) {
  std::optional<Sample> s = sampleOf(setup, findings);
  if (!s)
    return;
  for (int32_t loadedFor : {1, 2}) {
    std::optional<Loaded> region = loaded(setup, findings, *s, loadedFor);
    if (!region)
      return;
    for (int32_t threads : {2, 1, 2}) {
      std::string item =
          "loaded for " + std::to_string(loadedFor) + ", run with " + std::to_string(threads);
      findings.begin(item);
      if (findings.isGap(item))
        continue;
      Expected<std::vector<Tensor>> results = Loaded::Context(*region, threads).run(s->inputs);
      std::string why = results ? differenceOf(*results, s->wanted) : results.error().message();
      findings.expect(why.empty(), item, why);
    }
  }
}

void checkProfiledRuns(const Setup &setup, Findings &findings) {
  const bycc_vendor_runtime &runtime = *setup.runtime;
  if (!runtime.num_steps || !runtime.step)
    return findings.skip("the run half has no steps");
  std::optional<Sample> s = sampleOf(setup, findings);
  std::optional<Loaded> region = s ? loaded(setup, findings, *s, 1) : std::nullopt;
  if (!region || findings.isGap("sample"))
    return;
  uint32_t count = runtime.num_steps(setup.context, region->region());
  for (uint32_t i = 0; i < count; ++i) {
    std::string item = "step " + std::to_string(i);
    findings.begin(item);
    const bycc_step_info *info = runtime.step(setup.context, region->region(), i);
    findings.expect(info && info->name && info->detail && info->source, item,
                    "no name, detail or source");
  }
  std::vector<uint64_t> ns(std::max<uint32_t>(count, 1), 0);
  Loaded::Context context(*region, 1);
  findings.begin("profiled");
  Expected<std::vector<Tensor>> plain = context.run(s->inputs),
                                profiled = context.run(s->inputs, 0xa5, &ns);
  if (!plain || !profiled)
    return findings.fail("profiled", (plain ? profiled : plain).error().message());
  findings.expect(sameBits(*plain, *profiled), "profiled",
                  "other results than a run without step_ns");
}

void checkManyLoads(const Setup &setup, Findings &findings) {
  std::optional<Sample> s = sampleOf(setup, findings);
  if (!s || findings.isGap("sample"))
    return;
  constexpr int rounds = 300, warm = 60, half = (rounds - warm) / 2;
  constexpr uint64_t allowance = 4 << 20;
  // Of the heap, which tells more than pages: a region that is never freed is some hundred bytes.
  // What grows once, as tables of a library do, does so in one half of the rounds.
  constexpr int64_t heapAllowance = 64 * half;
  uint64_t before = 0;
  int64_t heapBefore = 0, heapHalfway = 0;
  for (int i = 0; i < rounds; ++i) {
    findings.begin("load " + std::to_string(i));
    std::optional<Loaded> region = loaded(setup, findings, *s, 1);
    if (!region)
      return;
    if (Expected<std::vector<Tensor>> results = Loaded::Context(*region, 1).run(s->inputs);
        !results)
      return findings.fail("sample", results.error().message());
    region.reset();
    if (i == warm) {
      before = residentBytes();
      heapBefore = heapBytes();
    }
    if (i == warm + half)
      heapHalfway = heapBytes();
  }
  int64_t left = std::min(heapHalfway - heapBefore, heapBytes() - heapHalfway);
  findings.expect(left < heapAllowance, "sample",
                  std::to_string(half) + " loads leave " + std::to_string(left) +
                      " bytes of the heap behind");
  uint64_t after = residentBytes();
  findings.expect(after < before + allowance, "sample",
                  std::to_string(rounds - warm) + " loads leave " +
                      std::to_string((after - before) >> 10) + " KiB behind");
}

namespace {

// A context beside the one of the suite, with the same options and threads.
class OpenContext {
public:
  explicit OpenContext(const Setup &setup) : table_(*setup.runtime), context_(*setup.context) {
    context_.impl = nullptr;
    char text[256] = "";
    if (table_.open && table_.open(&context_, text, sizeof text) != BYCC_OK)
      problem_ = text[0] ? text : "no reason given";
  }
  OpenContext(const OpenContext &) = delete;
  ~OpenContext() {
    if (problem_.empty() && table_.close)
      table_.close(&context_);
  }
  const std::string &problem() const { return problem_; }
  const bycc_vendor_context *get() const { return &context_; }

private:
  const bycc_vendor_runtime &table_;
  bycc_vendor_context context_;
  std::string problem_;
};

} // namespace

// What a context holds is not another one's.
void checkContexts(const Setup &setup, Findings &findings) {
  std::optional<Sample> s = sampleOf(setup, findings);
  if (!s || findings.isGap("sample"))
    return;
  findings.begin("open");
  auto first = std::make_unique<OpenContext>(setup), second = std::make_unique<OpenContext>(setup);
  for (const auto *context : {&first, &second})
    if (!(*context)->problem().empty())
      return findings.fail("open",
                           "a context beside others is not opened: " + (*context)->problem());
  Setup one = setup, other = setup;
  one.context = first->get();
  other.context = second->get();
  std::optional<Loaded> inOne = loaded(one, findings, *s, 1),
                        inOther = loaded(other, findings, *s, 1);
  if (!inOne || !inOther)
    return;
  auto check = [&](const Loaded &region, const char *what) {
    findings.begin(what);
    Expected<std::vector<Tensor>> results = Loaded::Context(region, 1).run(s->inputs);
    std::string why = results ? differenceOf(*results, s->wanted) : results.error().message();
    findings.expect(why.empty(), "sample", std::string(what) + ": " + why);
  };
  check(*inOne, "in the first of two contexts");
  check(*inOther, "in the second of two contexts");
  inOne.reset();
  first.reset(); // closes it
  check(*inOther, "in the second context after the first was closed");
}

} // namespace bycc::conformance
