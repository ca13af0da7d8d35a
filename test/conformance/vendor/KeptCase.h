// What a check is at, in files, so that a failure leaves it behind, one by a crash as well:
//
//   CHECK-1/case.relay   the region as a program
//   CHECK-1/inputs/*.npy, expected/*.npy
//   CHECK-1/repeat.sh    runs it, and the check
#pragma once

#include "Harness.h"

namespace bycc::conformance {

// Writes it to setup.caseFolder, in the place of an earlier one. Does nothing when nothing is
// to be kept.
void noteCase(const Setup &setup, const Subject &subject, const std::vector<Tensor> &inputs);
// What follows has nothing to do with it.
void forgetCase(const Setup &setup);
// Moves what was noted into a folder of its own in setup.keepFolder; its path, "" when there is
// nothing.
std::string keepCase(const Setup &setup, const std::string &check, const std::string &why);

} // namespace bycc::conformance
