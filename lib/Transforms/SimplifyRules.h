// The rules of simplify-expr, by subject. Each looks at one operator call whose
// operands are already simple and returns the node to use instead, or the call
// itself. All are exact: the result has the same bits, NaN and -0 included.
#pragma once

#include "bycc/IR/Builder.h"

#include <vector>

namespace bycc {

// x * 1, x - 0, double negation, clip of clip, 1 / sqrt(x), ...
Expected<NodeId> simplifyArithmetic(Module &module, NodeId call, Builder &builder);
// Casts that change nothing, chains of casts.
Expected<NodeId> simplifyCast(Module &module, NodeId call, Builder &builder);
// Reshapes, transposes and other calls that only rename elements.
Expected<NodeId> simplifyMovement(Module &module, NodeId call, Builder &builder);
// Taps of convolutions that meet padding alone.
Expected<NodeId> simplifyConvolution(Module &module, NodeId call, Builder &builder);
// f(view(x)) as view(f(x)) for elementwise f, so that f meets its producer.
Expected<NodeId> sinkView(Module &module, NodeId call, Builder &builder);

// (a, b).1 => b; any other node is itself.
NodeId simplifyProject(const Module &module, NodeId node);

// True for calls whose result is the operand's elements in the same row-major
// order under another static shape.
bool isView(const Module &module, NodeId node);
// nn.conv1d to 3d, with weights of rows that make a channel each (OI..).
bool isPlainConvolution(const Module &module, NodeId call);
// A tensor whose extents are numbers, symbols, or computed from them.
bool hasKnownExtents(const Module &module, NodeId node);
// isView for shapes with extents that are known at run time only.
bool keepsElements(const Module &module, NodeId node);
// Whether makeReshape can write that. Always where both are static.
bool canReshape(Module &module, std::span<const Dim> from, std::span<const Dim> to);
// What x, or what x is a view of, is under `shape`: a reshape, or the value itself
// when it has that shape.
Expected<NodeId> makeReshape(Builder &builder, NodeId x, std::span<const Dim> shape);

// Attributes of a slice of neighbours, from `begin` on and before `end`.
AttrDict sliceAttrs(const std::vector<int64_t> &begin, const std::vector<int64_t> &end,
                    const std::vector<int64_t> &axes);

} // namespace bycc
