// Random regions of operators that a vendor takes.
#pragma once

#include "Harness.h"

namespace bycc::conformance {

// At most `size` calls in a directed acyclic graph with several results; constants,
// operands used twice, values that several calls share, and results that other
// calls read as well. Nothing when the vendor takes no call.
std::optional<Subject> randomSubject(const Setup &setup, uint32_t seed, size_t size);
// The same with an extent that is known at run time only, the symbol `n`, as the batch of its
// inputs. Nothing when the vendor takes no call with such an input.
std::optional<Subject> randomOpenSubject(const Setup &setup, uint32_t seed, size_t size);

// Of the constants that its calls read.
uint64_t constantBytes(const Subject &subject);

// One that does something: the first of some seeds with three calls or more, else
// the largest.
std::optional<Subject> sampleSubject(const Setup &setup);

} // namespace bycc::conformance
