// Takes statements out of a failing program for as long as it fails.
#pragma once

#include <functional>
#include <string>

namespace bycc::cases {

// `fails` is asked about programs that may be invalid: it must say no to those.
// Programs are of the form that randomProgram() writes. The result is one from
// which no single statement can be taken.
std::string shrinkProgram(std::string text, const std::function<bool(const std::string &)> &fails);

} // namespace bycc::cases
