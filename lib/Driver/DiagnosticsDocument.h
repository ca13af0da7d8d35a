// Errors and warnings of a command for other programs: -fdiagnostics-format=json (share/schema/
// diagnostics.schema.json) or sarif (SARIF 2.1.0, which code hosts and editors read).
#pragma once

#include "bycc/Compiler/CompileRequest.h"
#include "bycc/Support/Error.h"

#include <string>
#include <vector>

namespace bycc {

class DiagnosticsDocument {
public:
  void add(const Error &error);
  void add(const Message &message); // a warning or a remark
  std::string json() const;
  std::string sarif() const;
  void print(std::string_view format) const; // "json" or "sarif", to standard error

private:
  struct Entry {
    const char *severity; // "error", "warning", "remark"
    Diagnostic diagnostic;
  };
  std::vector<Entry> entries_;
};

} // namespace bycc
