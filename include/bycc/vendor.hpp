// The kit: vendor.h in C++20, and what is the same in every vendor. It is headers alone, and
// knows vendor.h and the standard library: a plugin that uses it links nothing, and promises and
// needs what one written on vendor.h does.
//
//   Region, Node, Value    what compile() is given; attributes by one set of rules (Attributes)
//   Flat, Uses, Extents    composites opened; who makes and reads a value; extents of a run
//   planArena, Memory      offsets for buffers that live for some steps each; for all values
//   Writer, Reader         blobs: one function says a format for both; a reader believes nothing
//   compilerTable          the table of a class with `supports` and `compile`
//   runtimeTable           the table of a class with `run`
//   relayText              a region as a program, for logs
//
// Errors are exceptions here, and never cross the boundary: the tables turn them into reasons and
// statuses. `Refusal` is a vendor's no, `Failure` a run half's error.
//
// Ownership: Region, Node, Value, Attributes and all texts and spans that they give are views of
// the caller's, valid for the call that they were given to, as vendor.h says. All else owns what
// it holds. Threads: everything may be used on any thread; objects are not locked.
#pragma once

#include "bycc/vendor_plan.hpp"
#include "bycc/vendor_region.hpp"
#include "bycc/vendor_tables.hpp"
#include "bycc/vendor_text.hpp"
