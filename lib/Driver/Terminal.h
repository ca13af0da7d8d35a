// Between the compiler, which prints nothing, and who has typed a command: messages and what
// is printed go to standard error, the parent process hears what is going on
// (CommandProcess.h), and what plugins write to standard output goes to standard error.
#pragma once

#include "DiagnosticsDocument.h"
#include "ProgressLine.h"
#include "StdoutGuard.h"
#include "bycc/Compiler/Session.h"
#include "bycc/Driver/Options.h"
#include "bycc/Target/VendorRegistry.h"

#include <optional>
#include <string>

namespace bycc {

class Terminal {
public:
  explicit Terminal(const Options &options);
  ~Terminal(); // prints what was collected for -fdiagnostics-format, and with -v the times
  Terminal(const Terminal &) = delete;
  Terminal &operator=(const Terminal &) = delete;

  // What the options ask of the compiler. Lives no longer than the terminal.
  CompileRequest request();
  // The vendors that can be asked for.
  Expected<VendorRegistry> knownVendors();
  // Prints an error; returns the exit code.
  int fail(const Error &error) const;
  // Before anything else is printed: no line of progress stands in its way.
  void clearProgress() const { progress_.clear(); }

private:
  bool hear(const Progress &progress);
  void show(const Message &message);
  bool isText() const { return options_.diagnosticsFormat == "text"; }

  const Options &options_;
  mutable DiagnosticsDocument document_; // unless messages are text
  mutable ProgressLine progress_;
  std::optional<StdoutGuard> guard_;                 // while code of plugins runs
  std::optional<std::pair<int, std::string>> stage_; // that the parent was told
};

// A session of a command that looks at a model; it does not compile.
struct CommandSession {
  explicit CommandSession(const Options &options)
      : terminal(options), request(terminal.request()), session(request) {}
  Terminal terminal;
  CompileRequest request;
  Session session;
};

// UNSUP for options that commands do not have yet.
Expected<> checkSupported(const Options &options);

// STEM of the outputs: OUT without ".o", else MODEL's name without its suffix.
std::string outputStem(const Options &options);

// Folders, and lists of them, in which plugins are looked for: those of $BYCC_PLUGIN_PATH,
// and ../lib/bycc beside the program (or as the library folder is called), where the runtime
// looks for run halves as well.
std::vector<std::string> pluginFolders();

} // namespace bycc
