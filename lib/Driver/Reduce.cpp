// bycc reduce MODEL --script=./fails.sh -o small.relay: the smallest program that still fails,
// in the way of llvm-reduce.
//
//   1  ask       the script about MODEL as Relay text: exit code 0 says "still interesting"
//   2  clean     away with large constants, and with what no result needs, if that is not what
//                fails
//   3  move      each kind of edit (ReduceMoves.h) on all of its places, then on halves,
//                quarters, .., single ones; what is still interesting is the program from
//                then on, and the output file
//   4  again     until no edit of any kind is taken
//
// Candidates are made from the text of the program, and parsed before the script sees them:
// each is a program with types that hold. One that is not smaller is not asked about, nor is
// one that was asked about before, so that the search ends.

#include "CommandProcess.h"
#include "ReduceMoves.h"
#include "Terminal.h"
#include "bycc/Driver/Driver.h"
#include "bycc/IR/Printer.h"
#include "bycc/Parser/Relay.h"
#include "bycc/Support/ChildProgram.h"
#include "bycc/Support/File.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Phrases.h"
#include "bycc/Support/TemporaryFolder.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <unordered_set>

namespace bycc {
namespace {

volatile std::sig_atomic_t reduceIsStopped = 0;
void stopReducing(int) { reduceIsStopped = 1; }

class Reduction {
public:
  Reduction(CommandSession &command, const Options &options)
      : terminal_(command.terminal), session_(command.session), options_(options) {}

  Expected<> run() {
    BYCC_TRY(checkSupported(options_));
    BYCC_TRY(checkOutput());
    BYCC_TRY(session_.load());
    if (!session_.module().main())
      return error(Status::Input, {options_.input.model}).as(MessageId::NoMain)
             << "the program has no @main";
    terminal_.clearProgress();
    enterStage(Stage::Passes);
    BYCC_TRY(begin());
    apply(reduceMoves().front()); // data is most of a text, which is read for each candidate
    clean();
    while (improveOnce()) {
    }
    if (failure_)
      return *failure_;
    return finish();
  }

private:
  std::string path() const {
    return options_.output.output.value_or(stemOf(options_) + ".reduced.relay");
  }

  Expected<> checkOutput() const {
    if (isSameFile(path(), options_.input.model))
      return error(Status::Usage).as(MessageId::OutputIsInput)
             << "the output " << escaped(path()) << " is an input";
    if (path() == "-")
      return error(Status::Usage) << "reduce: -o names a file: it always holds the smallest "
                                     "program so far";
    return {};
  }

  std::string print(const Module &module) const {
    PrintOptions print;
    print.keepNames = keepsNames_;
    return printModule(module, print);
  }

  bool isText() const { return options_.diagnosticsFormat == "text"; }

  // --- asking

  std::string candidate() const { return folder_->file("candidate.relay"); }

  Expected<> writeCandidate(const std::string &text) const {
    std::FILE *file = std::fopen(candidate().c_str(), "wb");
    bool isWritten = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (!file || std::fclose(file) != 0 || !isWritten)
      return error(Status::Io, {candidate()}) << "cannot be written: " << std::strerror(errno);
    return {};
  }

  // Exit code 0; what else the script's end may mean is the script's matter.
  Expected<bool> isInteresting(const std::string &text) {
    ++numRuns_;
    BYCC_TRY(writeCandidate(text));
    ChildProgram child;
    child.program = options_.reduce.script;
    child.arguments = {candidate()};
    child.timeoutSeconds = 1e9; // the script knows what is long: timeout(1)
    child.proceed = [] { return reduceIsStopped == 0; };
    Expected<ChildOutput> ran = runChildProgram(child, "");
    if (ran)
      return true;
    if (ran.error().status() != Status::Input && ran.error().status() != Status::Cancelled)
      return ran.takeError();
    why_.emplace(ran.takeError());
    return false;
  }

  bool isOver() const {
    return failure_ || reduceIsStopped ||
           (options_.reduce.maxRuns && numRuns_ >= *options_.reduce.maxRuns);
  }

  Expected<> begin() {
    const Module &module = session_.module();
    keepsNames_ =
        std::ranges::find(module.moduleAttrs, "keep_names", &Attr::key) != module.moduleAttrs.end();
    text_ = print(module);
    size_ = sizeOf(module);
    size_.textBytes = text_.size();
    numOperators_ = size_.operators;
    folder_.emplace(BYCC_TRY(TemporaryFolder::make("reduce")));
    if (BYCC_TRY(isInteresting(text_)))
      return {};
    if (reduceIsStopped)
      return cancelledError();
    Error problem = error(Status::Arg, {options_.reduce.script})
                        .note("exit code 0 says that a program still fails, any other that it "
                              "does not; the script gets the program as Relay text, by its path")
                    << "the script does not find the original program interesting";
    for (const Diagnostic &diagnostic : why_->diagnostics()) {
      problem.diagnostics().front().notes.push_back({{}, diagnostic.message});
      for (const Note &note : diagnostic.notes)
        problem.diagnostics().front().notes.push_back(note);
    }
    return problem;
  }

  // --- changing

  Expected<Module> parse(const std::string &text) const {
    return parseRelay(text, "<candidate>", {.maxErrors = 1});
  }

  // True when the edit gives a smaller program that is still interesting: it is the program
  // from now on.
  template <typename Edit> bool attempt(const char *what, Edit edit) {
    if (isOver())
      return false;
    Expected<Module> module = parse(text_);
    BYCC_ASSERT(module, "a program that was printed parses");
    if (!edit(*module))
      return false;
    if (dropsNodes_)
      dropDeadNodes(*module);
    if (dropsFunctions_)
      dropUnusedFunctions(*module);
    if (dropsParams_)
      dropUnusedParams(*module);
    std::string text = print(*module);
    Expected<Module> checked = parse(text);
    if (!checked || !checked->main())
      return false;
    ProgramSize size = sizeOf(*checked);
    size.textBytes = text.size();
    if (!(size < size_) || !asked_.insert(std::hash<std::string>()(text)).second)
      return false;
    Expected<bool> interesting = isInteresting(text);
    if (interesting && !*interesting)
      return false;
    Expected<> kept = interesting ? keep(std::move(text), size) : interesting.takeError();
    if (!kept) {
      failure_ = kept.takeError();
      return false;
    }
    if (options_.verbose && isText())
      std::fprintf(stderr, "reduce: %s: %s left, %s\n", what,
                   counted(static_cast<int64_t>(size_.operators), "operator").c_str(),
                   counted(numRuns_, "run").c_str());
    return true;
  }

  // The file holds the best program at any time, whatever becomes of this process.
  Expected<> keep(std::string text, const ProgramSize &size) {
    text_ = std::move(text);
    size_ = size;
    OutputSet output;
    BYCC_TRY(output.add(path(), text_));
    BYCC_TRY(output.commit());
    isWritten_ = true;
    return {};
  }

  // What nothing needs may be just what fails; else it goes from every candidate.
  void clean() {
    auto tryOne = [&](bool &drops, const char *what, void (*drop)(Module &)) {
      Expected<Module> module = parse(text_);
      BYCC_ASSERT(module, "a program that was printed parses");
      ProgramSize before = sizeOf(*module);
      drop(*module);
      bool isClean = sizeOf(*module) == before;
      drops = isClean || attempt(what, [&](Module &each) {
                drop(each);
                return true;
              });
    };
    tryOne(dropsNodes_, "unused nodes", dropDeadNodes);
    tryOne(dropsFunctions_, "unused functions", dropUnusedFunctions);
    tryOne(dropsParams_, "unused parameters", dropUnusedParams);
  }

  // One kind of edit, on fewer and fewer places at a time.
  bool apply(const ReduceMove &move) {
    bool isBetter = false;
    auto places = [&] {
      Expected<Module> module = parse(text_);
      return module ? move.count(*module) : 0;
    };
    size_t count = places();
    for (size_t step = count; step > 0 && !isOver(); step /= 2)
      for (size_t begin = 0; begin < count && !isOver();) {
        size_t end = std::min(begin + step, count);
        if (attempt(move.name, [&](Module &module) { return move.edit(module, begin, end); })) {
          isBetter = true;
          count = places();
        } else {
          begin = end;
        }
      }
    return isBetter;
  }

  bool improveOnce() {
    bool isBetter = false;
    for (const ReduceMove &move : reduceMoves())
      isBetter |= apply(move);
    return isBetter && !isOver();
  }

  // --- the end

  Expected<> finish() {
    if (!isWritten_)
      BYCC_TRY(keep(text_, size_));
    if (options_.quiet || !isText())
      return {};
    if (reduceIsStopped)
      std::fputs("reduce: stopped, the smallest program so far stays\n", stderr);
    else if (options_.reduce.maxRuns && numRuns_ >= *options_.reduce.maxRuns)
      std::fprintf(stderr, "reduce: stopped after %s (--max-runs)\n",
                   counted(numRuns_, "run").c_str());
    std::fprintf(stderr, "%zu of %s %s left: %s\n", size_.operators,
                 counted(static_cast<int64_t>(numOperators_), "operator").c_str(),
                 size_.operators == 1 ? "is" : "are", escaped(path()).c_str());
    return {};
  }

  const Terminal &terminal_;
  Session &session_;
  const Options &options_;
  std::optional<TemporaryFolder> folder_;
  std::string text_; // the smallest one so far
  ProgramSize size_;
  size_t numOperators_ = 0; // of the original
  int64_t numRuns_ = 0;
  bool keepsNames_ = false, isWritten_ = false;
  bool dropsNodes_ = false, dropsFunctions_ = false, dropsParams_ = false;
  std::unordered_set<size_t> asked_;
  std::optional<Error> why_, failure_;
};

} // namespace

int reduceCommand(const Options &options) {
  // The process that started this one ends by the signal, after it.
  for (int signal : {SIGINT, SIGTERM, SIGHUP})
    if (std::signal(signal, stopReducing) == SIG_IGN)
      std::signal(signal, SIG_IGN);
  CommandSession command(options);
  auto result = Reduction(command, options).run();
  command.session.flushMessages();
  return result ? 0 : command.terminal.fail(result.error());
}

} // namespace bycc
