// The table of checks, and running one in a child process. The child writes one
// line per finding into a pipe; what it is at is in shared memory, for the message
// when it dies.
#include "Suite.h"

#include "Checks.h"
#include "KeptCase.h"

#include "bycc/Support/File.h"
#include "bycc/Support/Json.h"
#include "bycc/Support/Text.h"

#include <chrono>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bycc::conformance {

const std::vector<Check> &checks() {
  static const std::vector<Check> table = {
      {"answers", "supports() is deterministic and says why not, for odd calls of every operator",
       checkAnswers},
      {"answers.names", "supports() does not depend on names of nodes and values", checkNames},
      {"annotate", "annotate() is deterministic, and compile() takes each node that it takes",
       checkAnnotate},
      {"numeric.operators", "every operator case that is taken gives the expected results",
       checkOperators},
      {"numeric.odd", "odd calls that are taken give the results of the evaluator", checkOddCalls},
      {"numeric.patterns", "every pattern's composite gives the results of its parts",
       checkPatterns},
      {"numeric.regions", "random regions give the results of the evaluator", checkRegions},
      {"numeric.open", "random regions of an extent that is known at run time only, for several",
       checkOpenRegions},
      {"numeric.layouts",
       "programs converted to the layouts of the vendor's file give the same results",
       checkLayouts},
      {"blob.same", "a region compiles to the same bytes again", checkSameBlob},
      {"blob.damaged", "load() refuses cut bytes and survives changed ones", checkDamagedBlob},
      {"blob.weights", "load() refuses weights that are too short", checkShortWeights},
      {"weights.none", "compile() says why, or does without, when it gets no memory for weights",
       checkOwnWeights},
      {"run.repeated", "runs are equal, write all of each output and nothing else",
       checkRepeatedRuns},
      {"run.concurrent", "contexts run at the same time with equal bits", checkConcurrentRuns},
      {"run.threads", "one and two threads give the expected results", checkThreadCounts},
      {"run.profiled", "profiled runs give the same results and name their steps",
       checkProfiledRuns},
      {"tune", "tune() gives the same record again, and compile() keeps to the results with it",
       checkTune},
      {"load.many", "loading and unloading many times keeps memory bounded", checkManyLoads},
      {"load.contexts", "several contexts are open at a time, and one outlives another",
       checkContexts},
      {"memory.alloc", "memory for values between regions is there once, and comes back",
       checkAlloc},
      {"memory.resident", "random regions cut in two pass values in the vendor's memory",
       checkResident},
  };
  return table;
}

int64_t Gaps::unitsOf(const std::string &item) const {
  int64_t most = 0;
  for (const auto &[glob, count] : units)
    if (matchesGlob(glob, item))
      most = std::max(most, count);
  return most;
}

Expected<Gaps> readGaps(const std::string &file, const std::string &vendor) {
  std::string text = BYCC_TRY(readFile(file, 1 << 20));
  JsonValue json = BYCC_TRY(parseJson(text, file));
  const JsonValue *name = json.find("vendor"), *list = json.find("gaps");
  if (!name || name->string != vendor || !list || !list->isArray())
    return error(Status::Input, {file}) << "no gaps of vendor '" << escaped(vendor) << "' in it";
  Gaps gaps;
  for (const JsonValue &each : list->items) {
    const JsonValue *item = each.find("item"), *reason = each.find("reason");
    if (!item || !reason || reason->string.empty())
      return error(Status::Input, {file}) << "a gap needs an 'item' and a 'reason'";
    if (const JsonValue *units = each.find("units"))
      gaps.units.emplace(item->string, units->integer);
    else
      gaps.items.emplace(item->string, reason->string);
  }
  return gaps;
}

namespace {

constexpr int timeLimitMs = 120'000;
constexpr size_t placeBytes = 512;
constexpr size_t maxFailures = 20;

// In the child: findings as lines "kind text".
class PipeFindings : public Findings {
public:
  PipeFindings(int pipe, char *place, const Check &check, const Setup &setup)
      : pipe_(pipe), place_(place), check_(check), setup_(setup) {}

  void begin(const std::string &item) override {
    size_t length = std::min(item.size(), placeBytes - 1);
    std::memcpy(place_, item.data(), length);
    place_[length] = 0;
    forgetCase(setup_);
  }
  void fail(const std::string &item, const std::string &why) override {
    std::string kept = keepCase(setup_, check_.name, item + ": " + why);
    write('F', item + ": " + why + (kept.empty() ? "" : " (kept in " + kept + ")"));
  }
  void skip(const std::string &why) override { write('S', why); }
  void note(const std::string &text) override { write('N', text); }
  bool isGap(const std::string &item) override {
    for (const auto &[glob, reason] : setup_.gaps.items)
      if (matchesGlob(glob, std::string(check_.name) + "/" + item)) {
        ++gaps_;
        return true;
      }
    ++items_;
    return false;
  }
  void end() { write('E', std::to_string(items_) + " " + std::to_string(gaps_)); }

private:
  void write(char kind, const std::string &text) {
    std::string line = kind + escaped(text, 2000) + "\n";
    for (size_t done = 0; done < line.size();) {
      ssize_t n = ::write(pipe_, line.data() + done, line.size() - done);
      if (n <= 0)
        return;
      done += static_cast<size_t>(n);
    }
  }

  int pipe_;
  char *place_;
  const Check &check_;
  const Setup &setup_;
  uint64_t items_ = 0, gaps_ = 0;
};

// All that comes out of the pipe until it closes; false: the time is over.
bool readAll(int pipe, std::string &text) {
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeLimitMs);
  char buffer[4096];
  for (;;) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                    end - std::chrono::steady_clock::now())
                    .count();
    pollfd wait = {pipe, POLLIN, 0};
    if (left <= 0 || ::poll(&wait, 1, static_cast<int>(left)) == 0)
      return false;
    ssize_t n = ::read(pipe, buffer, sizeof buffer);
    if (n == 0 || (n < 0 && errno != EINTR))
      return true;
    if (n > 0)
      text.append(buffer, static_cast<size_t>(n));
  }
}

// True when the check came to its end.
bool readFindings(const std::string &text, Result &result) {
  bool isWhole = false;
  for (const std::string &line : split(text, '\n')) {
    if (line.empty())
      continue;
    std::string rest = line.substr(1);
    if (line[0] == 'F' && result.failures.size() < maxFailures)
      result.failures.push_back(rest);
    else if (line[0] == 'S')
      result.skipped = rest;
    else if (line[0] == 'N')
      result.notes.push_back(rest);
    if (line[0] == 'E') {
      isWhole = true;
      size_t space = rest.find(' ');
      result.items = static_cast<uint64_t>(parseInt(rest.substr(0, space)).value_or(0));
      result.gaps = static_cast<uint64_t>(parseInt(rest.substr(space + 1)).value_or(0));
    }
  }
  return isWhole;
}

std::string deathOf(int status, bool inTime, const char *place) {
  std::string at = *place ? std::string(place) + ": " : "";
  if (!inTime)
    return at + "no end after " + std::to_string(timeLimitMs / 1000) + " s";
  if (WIFSIGNALED(status))
    return at + "the process dies of signal " + std::to_string(WTERMSIG(status)) + " (" +
           strsignal(WTERMSIG(status)) + ")";
  return at + "the process ends with status " + std::to_string(WEXITSTATUS(status));
}

} // namespace

Result runCheck(const Check &check, const Setup &setup) {
  Result result;
  result.check = check.name;
  auto begin = std::chrono::steady_clock::now();
  int ends[2];
  void *place =
      ::mmap(nullptr, placeBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED || ::pipe(ends) != 0) {
    result.verdict = Verdict::Fail;
    result.failures.push_back(std::string("cannot start the check: ") + std::strerror(errno));
    return result;
  }
  pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    PipeFindings findings(ends[1], static_cast<char *>(place), check, setup);
    check.run(setup, findings);
    findings.end();
    ::_exit(0); // vendors' exit handlers are not part of the contract
  }
  ::close(ends[1]);
  std::string text;
  bool inTime = readAll(ends[0], text);
  ::close(ends[0]);
  if (!inTime)
    ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!readFindings(text, result)) {
    std::string death = deathOf(status, inTime, static_cast<const char *>(place));
    std::string kept = keepCase(setup, check.name, death);
    result.failures.push_back(death + (kept.empty() ? "" : " (kept in " + kept + ")"));
  }
  ::munmap(place, placeBytes);
  result.verdict = !result.failures.empty()  ? Verdict::Fail
                   : !result.skipped.empty() ? Verdict::Skip
                                             : Verdict::Pass;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

} // namespace bycc::conformance
