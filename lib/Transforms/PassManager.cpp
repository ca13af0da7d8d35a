// runPass() and what it wraps around each pass.

#include "bycc/Transforms/PassManager.h"

#include "LineDiff.h"
#include "bycc/IR/Verifier.h"
#include "bycc/Support/File.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace bycc {
namespace {

bool isListed(const std::vector<std::string> &names, const std::string &name) {
  return std::ranges::find(names, name) != names.end();
}

// There is no host code for what it writes in plain operators.
constexpr std::string_view neverLeftOut = "legalize";

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string row(double seconds, double total, size_t runs, const std::string &name) {
  char text[160];
  std::snprintf(text, sizeof text, "%10.4f s %5.1f %% %5zu  ", seconds,
                total > 0 ? 100 * seconds / total : 0.0, runs);
  return text + name + "\n";
}

// Puts the name of the pass in front of what the verifier says: the fault is ours.
Error blame(Error error, const PassInfo &pass) {
  for (Diagnostic &diagnostic : error.diagnostics()) {
    diagnostic.message = "after pass '" + pass.name + "': " + diagnostic.message;
    diagnostic.status = Status::Internal;
  }
  return error;
}

} // namespace

Expected<bool> PassManager::run(Module &module, PassContext &context, const Pipeline &pipeline) {
  BYCC_TRY(checkPipeline(pipeline, registry_, factsOf(module)));
  bool changed = false;
  for (size_t i = 0; i < pipeline.size(); ++i) {
    if (options_.proceed && !options_.proceed(pipeline[i].pass, i, pipeline.size()))
      return cancelledError();
    changed |= BYCC_TRY(runPass(module, context, pipeline[i]));
  }
  return changed;
}

bool PassManager::isSkipped(const Module &module, const PassInfo &pass) {
  if (options_.optBisectLimit >= 0) {
    bool runs = numRun_ < options_.optBisectLimit || pass.name == neverLeftOut;
    write("BISECT: " + std::string(runs ? "running" : "NOT running") + " pass (" +
          std::to_string(numRun_ + 1) + ") " + pass.name + "\n");
    if (!runs) {
      ++numRun_;
      return true;
    }
  }
  ++numRun_;
  for (PassInstrument *instrument : instruments_)
    if (!instrument->shouldRun(module, pass))
      return true;
  return false;
}

Expected<bool> PassManager::runPass(Module &module, PassContext &context,
                                    const PipelineEntry &entry) {
  const PassInfo &pass = *BYCC_TRY(registry_.get(entry.pass));
  if (isSkipped(module, pass))
    return false;
  if (options_.printBeforeAll || isListed(options_.printBefore, pass.name))
    BYCC_TRY(show(module, pass, "before"));
  std::string before;
  if (options_.printChanged != PrintChanged::Off)
    before = printModule(module, options_.print);
  for (PassInstrument *instrument : instruments_)
    instrument->beforePass(module, pass);

  context.options = entry.options;
  auto start = std::chrono::steady_clock::now();
  Expected<bool> result = pass.run(module, context);
  times_.push_back({pass.name, secondsSince(start), result && *result, start});
  context.options.clear();
  if (!result)
    return result.takeError();

  for (PassInstrument *instrument : instruments_)
    instrument->afterPass(module, pass, *result);
  if (options_.printChanged != PrintChanged::Off)
    BYCC_TRY(showChange(module, pass, before, *result));
  if (options_.printAfterAll || isListed(options_.printAfter, pass.name))
    BYCC_TRY(show(module, pass, "after"));
  if (options_.verifyEach)
    if (auto verified = verify(module); !verified)
      return blame(verified.takeError(), pass);
  return *result;
}

Expected<> PassManager::show(const Module &module, const PassInfo &pass, const char *when) {
  return emit("IR " + std::string(when) + " " + pass.name, std::string(when) + "-" + pass.name,
              printModule(module, options_.print));
}

Expected<> PassManager::showChange(const Module &module, const PassInfo &pass,
                                   const std::string &before, bool changed) {
  std::string after = changed ? printModule(module, options_.print) : before;
  if (after == before) {
    write("// IR after " + pass.name + ": no change\n");
    return {};
  }
  bool asDiff = options_.printChanged == PrintChanged::Diff;
  return emit("IR changed by " + pass.name, "changed-" + pass.name,
              asDiff ? lineDiff(before, after) : after);
}

Expected<> PassManager::emit(const std::string &title, const std::string &fileName,
                             const std::string &text) {
  if (options_.irDumpDirectory.empty()) {
    write("// " + title + "\n" + text);
    return {};
  }
  BYCC_TRY(makeFolder(options_.irDumpDirectory));
  char number[16];
  std::snprintf(number, sizeof number, "%03lld-", static_cast<long long>(numRun_));
  OutputSet output;
  BYCC_TRY(output.add(options_.irDumpDirectory + "/" + number + fileName + ".relay", text));
  return output.commit();
}

void PassManager::write(std::string_view text) const {
  if (options_.write)
    options_.write(text);
  else
    std::fwrite(text.data(), 1, text.size(), stderr);
}

std::string PassManager::timeReport() const {
  std::vector<PassTime> sums; // `seconds` summed by name, in order of first run
  std::vector<size_t> runs;
  double total = 0;
  for (const PassTime &time : times_) {
    total += time.seconds;
    auto it = std::ranges::find(sums, time.pass, &PassTime::pass);
    if (it == sums.end()) {
      sums.push_back(time);
      runs.push_back(1);
      continue;
    }
    it->seconds += time.seconds;
    ++runs[static_cast<size_t>(it - sums.begin())];
  }
  std::vector<size_t> order(sums.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::ranges::stable_sort(order, std::greater<>(), [&](size_t i) { return sums[i].seconds; });
  std::string text = "      time   share  runs  pass\n";
  for (size_t i : order)
    text += row(sums[i].seconds, total, runs[i], sums[i].pass);
  return text + row(total, total, times_.size(), "total");
}

} // namespace bycc
