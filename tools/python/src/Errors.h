// How errors of bycc reach Python: bycc._errors makes the exception from the text that the
// C API gives, "FILE:L:C: error[INPUT]: message", or from the parts of a Diagnostic.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

namespace bycc::python {

namespace nb = nanobind;

// Raises what `maker` of bycc._errors makes of the arguments.
template <typename... Args> [[noreturn]] void raise(const char *maker, Args &&...args) {
  nb::object problem =
      nb::module_::import_("bycc._errors").attr(maker)(std::forward<Args>(args)...);
  PyErr_SetObject(problem.type().ptr(), problem.ptr());
  throw nb::python_error();
}

[[noreturn]] inline void raiseText(const std::string &text) { raise("from_text", text); }
[[noreturn]] inline void raiseArg(const std::string &text) { raiseText("error[ARG]: " + text); }

} // namespace bycc::python
