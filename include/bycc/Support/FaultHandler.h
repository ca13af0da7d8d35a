// What happens when BYCC_ASSERT finds a fault of the program.
#pragma once

#include <string>

namespace bycc {

// Asked before the fault is reported: what is broken may have a cause outside of it.
// `handler` does not return where it knows the cause.
void setFaultHandler(void (*handler)());

// A fault as an exception, for the library: it may not end its user's process.
struct Fault {
  std::string text; // "text (file:line: condition)"
};

// While one lives, faults that this thread finds are thrown as a Fault instead of ending
// the process.
class ThrowFaults {
public:
  ThrowFaults();
  ThrowFaults(const ThrowFaults &) = delete;
  ~ThrowFaults();

private:
  bool before_;
};

extern const char *const faultNote; // what to do about one

} // namespace bycc
