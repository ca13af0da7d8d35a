// Looking into constants and calls: what rewrites ask before they act.
#pragma once

#include "bycc/IR/Module.h"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace bycc {

// Element as a double (int64 beyond 2^53 is rounded).
double elementAt(const Module &module, const Constant &constant, int64_t index);
// The value all elements of a constant node have; nullopt when it is not a
// constant, is empty, or its elements differ. Zeros of both signs differ.
std::optional<double> uniformValue(const Module &module, NodeId node);
// The same bytes under another shape; nothing is copied.
NodeId reshapeConstant(Module &module, NodeId constant, std::span<const Dim> shape);

// Integers of a call's attribute: a list, or one number as a list of one. Empty
// when it is None or something else.
std::vector<int64_t> intsAttr(const Module &module, NodeId call, std::string_view key);
int64_t intAttr(const Module &module, NodeId call, std::string_view key, int64_t otherwise);
std::string_view textAttr(const Module &module, NodeId call, std::string_view key);

// A negative axis counted from the end; nullopt when out of range.
std::optional<size_t> normalizedAxis(int64_t axis, size_t rank);

// For convolutions and dense: the axis of the result that bias and scale run
// along; nullopt for other operators and for blocked layouts.
std::optional<size_t> channelAxis(const Module &module, NodeId node);
// True when broadcasting `shape` against `full` varies along `axis` only and is
// as long there.
bool isAlongAxis(std::span<const Dim> shape, std::span<const Dim> full, size_t axis);

} // namespace bycc
