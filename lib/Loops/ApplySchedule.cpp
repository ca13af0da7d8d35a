// Loops as their schedule wants them: panels, chunks, the axes that lanes run along; then
// places of row-local buffers, and the kernel's arguments.
#include "LoopSteps.h"

#include <algorithm>
#include <map>
#include <set>

namespace bycc::loops {
namespace {

// The innermost axis becomes rows of `chunk` elements.
void makeChunks(Exprs &exprs, Nest &nest, int64_t chunk) {
  NestStage &inner = nest.stages[0];
  uint32_t axis = inner.stage.axes.back();
  Ref extent = exprs.extent(axis);
  Ref chunks = exprs.binary(Op::FloorDiv, exprs.plus(extent, chunk - 1), exprs.integer(chunk));
  uint32_t outer = exprs.newAxis(chunks);
  Ref start = exprs.times(exprs.axis(outer), chunk);
  uint32_t rest =
      exprs.newAxis(exprs.binary(Op::Min, exprs.integer(chunk), exprs.sub(extent, start)));
  Ref value = exprs.add(start, exprs.axis(rest));
  Stage &stage = inner.stage;
  stage.body = exprs.substitute(stage.body, {{axis, value}});
  stage.store = exprs.substitute(stage.store, {{axis, value}});
  nest.rows.push_back(outer);
  std::replace(stage.axes.begin(), stage.axes.end(), axis, rest);
  if (inner.vectorAxis == axis)
    inner.vectorAxis = rest;
}

// Argument order: inputs that are read as they are, outputs, temps that are not row
// local (panels too).
void listArguments(Loops &loops) {
  const Kernel &kernel = loops.kernel;
  std::set<uint32_t> stored, read;
  auto readAll = [&](Ref body) {
    kernel.exprs.visit(body, [&](Ref ref) {
      if (kernel.exprs[ref].op == Op::Load)
        read.insert(static_cast<uint32_t>(kernel.exprs[ref].i));
      return true;
    });
  };
  for (size_t n = 0; n < loops.nests.size(); ++n) {
    const Nest &nest = loops.nests[n];
    if (nest.contraction) {
      Packing packing = loops.schedule.nests[n].product->packing;
      stored.insert(nest.contraction->epilogue.buffer);
      if (packing != Packing::InPlace)
        stored.insert(nest.contraction->packed);
      if (packing != Packing::Constant)
        read.insert(nest.contraction->vector.buffer);
      if (loops.schedule.nests[n].product->copiesRows)
        stored.insert(nest.contraction->copied);
      if (const std::optional<Decoding> &decoding = nest.contraction->decoding) {
        stored.insert(decoding->packedScale);
        if (decoding->zero)
          stored.insert(decoding->packedZero);
      }
      read.insert(nest.contraction->broadcast.buffer);
      readAll(nest.contraction->epilogue.body);
    }
    for (const NestStage &stage : nest.stages) {
      readAll(stage.stage.body);
      if (!stage.isLocal)
        stored.insert(stage.stage.buffer);
    }
  }
  for (uint32_t b = 0; b < kernel.buffers.size(); ++b) {
    Role role = kernel.buffers[b].role;
    if (role == Role::Output || (role == Role::Temp && stored.count(b)) ||
        (role == Role::Input && read.count(b)))
      loops.arguments.push_back(b);
  }
}

// An index into a buffer as that of the row's own part of it: terms of row axes go, the others
// get the strides that `compact` has for theirs.
Ref indexInRow(Exprs &exprs, const Nest &nest, const std::map<int64_t, int64_t> &compact,
               Ref index) {
  auto isRow = [&](Ref factor) {
    return exprs[factor].op == Op::Axis &&
           std::find(nest.rows.begin(), nest.rows.end(), exprs[factor].i) != nest.rows.end();
  };
  Affine form = exprs.affine(index), now;
  for (auto [atom, coefficient] : form.terms)
    if (std::ranges::none_of(exprs.factors(atom), isRow))
      now.terms.push_back({atom, compact.at(coefficient)});
  return exprs.fromAffine(now);
}

// Local buffers are indexed by their inner axes alone, in compact order.
void layOutLocal(Kernel &kernel, Nest &nest, NestStage &inner, int64_t lanes) {
  Exprs &exprs = kernel.exprs;
  std::map<int64_t, int64_t> compact; // stride in the buffer -> stride in scratch
  int64_t elements = 1;
  for (size_t d = inner.stage.axes.size(); d-- > 0;) {
    uint32_t axis = inner.stage.axes[d];
    compact[*exprs.coefficient(inner.stage.store, axis)] = elements;
    elements *= *exprs.constantExtent(axis);
  }
  uint32_t buffer = inner.stage.buffer;
  inner.isPerLane = lanes > 1;
  if (!inner.isRegister) {
    inner.localOffset = nest.localBytes;
    nest.localBytes += (elements * lanes * sizeInBytes(kernel.buffers[buffer].type) + 63) / 64 * 64;
  }
  inner.stage.store = indexInRow(exprs, nest, compact, inner.stage.store);
  for (NestStage &user : nest.stages)
    user.stage.body = exprs.rewrite(user.stage.body, [&](Ref, const Expr &node) {
      if (node.op != Op::Load || node.i != buffer)
        return noRef;
      return exprs.load(buffer, node.type, indexInRow(exprs, nest, compact, node.a));
    });
}

// A line more than whole lines apart: no two neighbours fall on one set.
void placeRows(Kernel &kernel, Contraction &c) {
  constexpr int64_t lineBytes = 64;
  DType type = kernel.buffers[c.broadcast.buffer].type;
  c.copiedElements = *rowElements(kernel, c);
  int64_t lines = ceilDiv(c.copiedElements * sizeInBytes(type), lineBytes);
  c.copiedStride = (lines + 1 - lines % 2) * lineBytes / sizeInBytes(type);
  Exprs &exprs = kernel.exprs;
  c.copied =
      kernel.addBuffer(type, {exprs.times(exprs.extent(c.innerRow), c.copiedStride)}, Role::Temp);
}

} // namespace

void applyShapes(Loops &loops) {
  for (size_t n = 0; n < loops.nests.size(); ++n) {
    Nest &nest = loops.nests[n];
    const NestSchedule &schedule = loops.schedule.nests[n];
    if (nest.contraction) {
      makePanels(loops, *nest.contraction, *schedule.product);
      if (schedule.product->copiesRows)
        placeRows(loops.kernel, *nest.contraction);
      continue;
    }
    for (size_t s = 0; s < nest.stages.size(); ++s) {
      const Stage &stage = nest.stages[s].stage;
      if (schedule.stages[s].isVector)
        nest.stages[s].vectorAxis =
            (stage.reduce == Reduce::None ? stage.axes : stage.reduceAxes).back();
    }
    if (schedule.chunk > 0)
      makeChunks(loops.kernel.exprs, nest, schedule.chunk);
    if (schedule.lanes == LanesRun::Turned) {
      auto row = std::ranges::find(nest.rows, turnedRow(loops.kernel.exprs, nest));
      std::rotate(row, row + 1, nest.rows.end());
    }
  }
}

void finishLoops(Loops &loops) {
  listArguments(loops);
  for (size_t n = 0; n < loops.nests.size(); ++n) {
    Nest &nest = loops.nests[n];
    int64_t lanes = loops.schedule.nests[n].lanes == LanesRun::Across ? loops.schedule.lanes : 1;
    for (NestStage &inner : nest.stages)
      if (inner.isLocal)
        layOutLocal(loops.kernel, nest, inner, lanes);
    loops.scratchBytes = std::max(loops.scratchBytes, nest.localBytes);
  }
}

} // namespace bycc::loops
