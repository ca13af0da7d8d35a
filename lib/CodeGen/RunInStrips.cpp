// Chains of kernels whose intermediate values are larger than the second cache run in
// strips: a part of the rows goes through the whole chain before the next one begins.
// Attention is such a chain,
//
//   s = q k'          s, p: heads x rows x keys, 32 MiB for 8 heads of 1,024 keys
//   p = softmax(s)
//   y = p v
//
// and takes less time through the cache than through memory, and the memory of one strip
// per thread instead of all:
//
//   for head: for 64 rows at a time:    s, p: 64 x keys
//     s = q[head, rows] k[head]';  p = softmax(s);  y[head, rows] = p v[head]
//
// Strips are tasks of the thread pool; what is in one runs on one thread.
//
// Kernels of strips are made from the same computations (Kernel, before it has loops):
// the outermost axis of what passes between them becomes shorter, or goes, and each
// operand's pointer moves by a fixed number of bytes from strip to strip. So an axis has
// to be an axis of all of them, and nothing but loads and stores may depend on it.
// Known extents only. One kernel over all operators of a chain would also keep a strip in
// registers; it needs schedules of several contractions in one nest.
#include "Program.h"

#include <algorithm>

namespace bycc::codegen {
namespace {

using Buffers = std::vector<uint32_t>;

// As a double, which does not overflow and is exact for what fits in memory.
double elementsOf(const Exprs &exprs, const std::vector<Ref> &shape) {
  double product = 1;
  for (Ref extent : shape)
    product *= static_cast<double>(exprs.constant(extent).value_or(0));
  return product;
}
double elementsOf(const Kernel &kernel, uint32_t buffer) {
  return elementsOf(kernel.exprs, kernel.buffers[buffer].shape);
}

// A kernel of a chain while its rows become fewer. `passed` are the buffers that lie
// between kernels of the chain.
class Strip {
public:
  Strip(Kernel kernel, Buffers passed) : kernel(std::move(kernel)), passed_(std::move(passed)) {}

  // Extents of the outermost axes of what is passed; empty: one has none.
  std::vector<int64_t> outerExtents() {
    axes_.assign(kernel.stages.size(), noAxis);
    std::vector<int64_t> extents;
    for (size_t s = 0; s < kernel.stages.size(); ++s)
      for (uint32_t buffer : passed_) {
        const Stage &stage = kernel.stages[s];
        std::vector<Ref> indices = loadsOf(stage, buffer);
        if (stage.buffer == buffer)
          indices.push_back(stage.store);
        for (Ref index : indices) {
          uint32_t axis = outermost(stage, index, elementsOf(kernel, buffer));
          if (axis == noAxis || !assign(s, axis))
            return {};
          extents.push_back(*kernel.exprs.constantExtent(axis));
        }
      }
    return extents;
  }

  // Leaves one of `count` equal parts of that axis. False, with the kernel in an
  // undefined state, where it cannot be done.
  bool cut(int64_t count) {
    if (outerExtents().empty() || !spread())
      return false;
    std::vector<int64_t> steps(kernel.buffers.size(), 0);
    std::vector<bool> isKnown(kernel.buffers.size(), false);
    auto move = [&](uint32_t buffer, int64_t step) {
      bool agrees = !isKnown[buffer] || steps[buffer] == step;
      steps[buffer] = step;
      isKnown[buffer] = true;
      return agrees;
    };
    for (size_t s = 0; s < kernel.stages.size(); ++s) {
      Stage &stage = kernel.stages[s];
      uint32_t axis = axes_[s];
      int64_t rows = *kernel.exprs.constantExtent(axis) / count;
      if (isUsedBare(stage, axis))
        return false;
      for (Ref load : allLoads(stage)) {
        auto step = kernel.exprs.coefficient(kernel.exprs[load].a, axis);
        if (!step || !move(static_cast<uint32_t>(kernel.exprs[load].i), *step * rows))
          return false;
      }
      auto step = kernel.exprs.coefficient(stage.store, axis);
      if (!step || !move(stage.buffer, *step * rows))
        return false;
      shorten(stage, axis, rows);
    }
    for (uint32_t b = 0; b < kernel.buffers.size(); ++b) {
      Buffer &buffer = kernel.buffers[b];
      bool isOwn = buffer.role == Role::Temp || std::ranges::find(passed_, b) != passed_.end();
      if (isOwn && isKnown[b]) {
        int64_t all = static_cast<int64_t>(elementsOf(kernel, b));
        buffer.shape = {kernel.exprs.integer(all / count)};
        steps[b] = 0;
      }
      // What is packed while compiling would be the first strip's.
      buffer.isConstant = buffer.isConstant && steps[b] == 0;
      steps[b] *= sizeInBytes(buffer.type);
    }
    steps_.push_back(std::move(steps));
    return true;
  }

  // Bytes from strip to strip of each buffer, for each cut, the first one first.
  const std::vector<std::vector<int64_t>> &steps() const { return steps_; }

  Kernel kernel;

private:
  std::vector<Ref> allLoads(const Stage &stage) const {
    std::vector<Ref> loads;
    for (Ref root : {stage.body, stage.position})
      if (root != noRef)
        kernel.exprs.visit(root, [&](Ref ref) {
          if (kernel.exprs[ref].op == Op::Load)
            loads.push_back(ref);
          return true;
        });
    return loads;
  }

  std::vector<Ref> loadsOf(const Stage &stage, uint32_t buffer) const {
    std::vector<Ref> indices;
    for (Ref load : allLoads(stage))
      if (kernel.exprs[load].i == buffer)
        indices.push_back(kernel.exprs[load].a);
    return indices;
  }

  uint32_t outermost(const Stage &stage, Ref index, double elements) const {
    for (uint32_t axis : stage.axes) {
      auto extent = kernel.exprs.constantExtent(axis);
      auto step = kernel.exprs.coefficient(index, axis);
      if (extent && step && *extent > 1 && *step > 0 &&
          static_cast<double>(*step) * static_cast<double>(*extent) == elements)
        return axis;
    }
    return noAxis;
  }

  bool assign(size_t stage, uint32_t axis) {
    bool agrees = axes_[stage] == noAxis || axes_[stage] == axis;
    axes_[stage] = axis;
    return agrees;
  }

  // Stages that only see what others of the kernel make: through those values.
  bool spread() {
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t p = 0; p < kernel.stages.size(); ++p)
        for (size_t c = p + 1; c < kernel.stages.size(); ++c) {
          if ((axes_[p] == noAxis) == (axes_[c] == noAxis))
            continue;
          for (Ref index : loadsOf(kernel.stages[c], kernel.stages[p].buffer)) {
            size_t to = axes_[p] == noAxis ? p : c;
            uint32_t axis = outermost(kernel.stages[to], to == p ? kernel.stages[p].store : index,
                                      elementsOf(kernel, kernel.stages[p].buffer));
            if (axis == noAxis || !assign(to, axis))
              return false;
            changed = true;
          }
        }
    }
    for (size_t s = 0; s < kernel.stages.size(); ++s)
      if (axes_[s] == noAxis)
        return false;
    // Both ends of each value that stays inside.
    for (size_t m = 0; m < kernel.stages.size(); ++m) {
      const Stage &maker = kernel.stages[m];
      if (kernel.buffers[maker.buffer].role != Role::Temp)
        continue;
      double elements = elementsOf(kernel, maker.buffer);
      if (outermost(maker, maker.store, elements) != axes_[m])
        return false;
      for (size_t c = 0; c < kernel.stages.size(); ++c)
        for (Ref index : loadsOf(kernel.stages[c], maker.buffer))
          if (outermost(kernel.stages[c], index, elements) != axes_[c])
            return false;
    }
    return true;
  }

  // Anywhere but in the index of a load: a mask of what lies ahead, say.
  bool isUsedBare(const Stage &stage, uint32_t axis) const {
    bool isUsed = false;
    for (Ref root : {stage.body, stage.position})
      if (root != noRef)
        kernel.exprs.visit(root, [&](Ref ref) {
          const Expr &e = kernel.exprs[ref];
          isUsed = isUsed || (e.op == Op::Axis && e.i == axis);
          return e.op != Op::Load;
        });
    return isUsed;
  }

  void shorten(Stage &stage, uint32_t axis, int64_t rows) {
    Ref value = kernel.exprs.integer(0);
    auto at = std::ranges::find(stage.axes, axis);
    if (rows == 1) {
      stage.axes.erase(at);
    } else {
      *at = kernel.exprs.newAxis(kernel.exprs.integer(rows));
      value = kernel.exprs.axis(*at);
    }
    for (Ref *ref : {&stage.body, &stage.position, &stage.store})
      if (*ref != noRef)
        *ref = kernel.exprs.substitute(*ref, {{axis, value}});
  }

  Buffers passed_;
  std::vector<uint32_t> axes_; // by stage: the one that is cut
  std::vector<std::vector<int64_t>> steps_;
};

class StripMaker {
public:
  StripMaker(Program &program, const TargetInfo &target, Scheduler &scheduler)
      : p_(program), facts_(factsOf(target)), scheduler_(scheduler) {}

  Expected<> run() {
    findReaders();
    std::vector<Instr> instrs;
    for (size_t i = 0; i < p_.instrs.size();) {
      std::vector<size_t> chain = chainFrom(i);
      std::vector<Instr> strips = chain.empty() ? std::vector<Instr>() : BYCC_TRY(stripsOf(chain));
      if (strips.empty()) {
        instrs.push_back(std::move(p_.instrs[i++]));
        continue;
      }
      // What stands between them does not read what they pass, so it can come first.
      for (size_t at = i; at < chain.back(); ++at)
        if (std::ranges::find(chain, at) == chain.end())
          instrs.push_back(std::move(p_.instrs[at]));
      std::ranges::move(strips, std::back_inserter(instrs));
      i = chain.back() + 1;
    }
    p_.instrs = std::move(instrs);
    dropUnused();
    return {};
  }

private:
  // Of a strip: what is passed should stay in the second cache beside the operands.
  double budget() const { return static_cast<double>(facts_.l2Bytes) / 2; }

  void findReaders() {
    readers_.resize(p_.values.size());
    for (size_t i = 0; i < p_.instrs.size(); ++i)
      for (ValueId value : p_.instrs[i].inputs)
        if (std::vector<size_t> &readers = readers_[p_.root(value)];
            readers.empty() || readers.back() != i)
          readers.push_back(i);
  }

  const KernelCode *codeOf(size_t instr) const {
    const Instr &at = p_.instrs[instr];
    bool isKernel = at.kind == Instr::Kind::Kernel && at.outputs.size() == 1;
    return isKernel && p_.kernels[at.callee].source ? &p_.kernels[at.callee] : nullptr;
  }

  bool isProduct(size_t instr) const {
    const auto &nests = p_.kernels[p_.instrs[instr].callee].loops.nests;
    return std::ranges::any_of(nests,
                               [](const Nest &nest) { return nest.contraction.has_value(); });
  }

  bool isPlain(ValueId id) const {
    const Value &value = p_.values[id];
    return value.kind == Value::Kind::Buffer && value.alias == none && value.resident == none &&
           !value.isBound && value.spareOf == none && !value.isAsked && p_.isStatic(value);
  }

  // Found from the run alone, whatever ran before.
  bool hasFixedPlace(ValueId id) const {
    const Value &root = p_.values[p_.root(id)];
    return root.kind != Value::Kind::Buffer || isPlain(p_.root(id));
  }

  double bytesOf(ValueId id) const {
    return sizeInBytes(p_.values[id].dtype) * elementsOf(p_.exprs, p_.values[id].dims);
  }

  // The instruction that alone reads the result, when that is large and only kernels
  // stand between; else 0.
  size_t nextOf(size_t instr) const {
    ValueId made = p_.instrs[instr].outputs[0];
    if (!isPlain(made) || p_.values[made].output != none ||
        bytesOf(made) <= static_cast<double>(facts_.l2Bytes) || readers_[made].size() != 1)
      return 0;
    size_t next = readers_[made][0];
    for (size_t at = instr + 1; at <= next; ++at)
      if (p_.instrs[at].kind != Instr::Kind::Kernel)
        return 0;
    return codeOf(next) ? next : 0;
  }

  // A product, what is done to its rows, a product of that.
  std::vector<size_t> chainFrom(size_t first) const {
    if (!codeOf(first) || !isProduct(first))
      return {};
    std::vector<size_t> chain{first};
    for (size_t next = nextOf(first); next; next = nextOf(next)) {
      chain.push_back(next);
      if (isProduct(next))
        break;
    }
    bool isWhole =
        chain.size() > 2 && isProduct(chain.back()) && isPlain(p_.instrs[chain.back()].outputs[0]);
    return isWhole ? chain : std::vector<size_t>();
  }

  // The buffers of an instruction's kernel that have one of these values.
  Buffers buffersWith(const Instr &instr, const std::vector<ValueId> &values) const {
    const std::vector<uint32_t> &arguments = p_.kernels[instr.callee].loops.arguments;
    Buffers found;
    for (size_t a = 0; a < arguments.size(); ++a)
      if (std::ranges::find(values, p_.root(instr.arguments[a])) != values.end())
        found.push_back(arguments[a]);
    return found;
  }

  // How many parts the next cut makes; 0: none can be made.
  static int64_t nextCount(std::vector<Strip> &strips, double bytes, double budget) {
    std::vector<int64_t> extents;
    for (Strip &strip : strips) {
      std::vector<int64_t> own = strip.outerExtents();
      if (own.empty())
        return 0;
      extents.insert(extents.end(), own.begin(), own.end());
    }
    int64_t all = *std::ranges::min_element(extents);
    if (std::ranges::any_of(extents, [&](int64_t extent) { return extent % all != 0; }))
      return 0;
    for (int64_t count = 2; count < all; ++count)
      if (all % count == 0 && bytes / static_cast<double>(count) <= budget)
        return count;
    return all;
  }

  Expected<std::vector<Instr>> stripsOf(const std::vector<size_t> &chain) {
    std::vector<ValueId> passed;
    double bytes = 0;
    for (size_t at : chain)
      if (at != chain.back()) {
        passed.push_back(p_.instrs[at].outputs[0]);
        bytes += bytesOf(passed.back());
      }
    std::vector<Strip> strips;
    for (size_t at : chain)
      strips.emplace_back(*codeOf(at)->source, buffersWith(p_.instrs[at], passed));
    std::vector<int64_t> counts;
    while (bytes > budget()) {
      std::vector<Strip> before = strips;
      int64_t count = nextCount(strips, bytes, budget());
      if (count == 0 ||
          !std::ranges::all_of(strips, [&](Strip &strip) { return strip.cut(count); })) {
        strips = std::move(before);
        break;
      }
      counts.push_back(count);
      bytes /= static_cast<double>(count);
    }
    if (counts.empty() || bytes > 4 * budget())
      return std::vector<Instr>();
    return instrsOf(chain, passed, strips, counts);
  }

  Expected<std::vector<Instr>> instrsOf(const std::vector<size_t> &chain,
                                        const std::vector<ValueId> &passed,
                                        std::vector<Strip> &strips,
                                        const std::vector<int64_t> &counts) {
    std::unordered_map<ValueId, ValueId> small; // what is passed: the memory of a strip
    std::vector<Instr> kernels;
    Instr begin, end;
    int64_t stripBytes = 0;
    auto addOwn = [&](const Kernel &kernel, uint32_t buffer) {
      auto elements = static_cast<int64_t>(elementsOf(kernel, buffer));
      DType type = kernel.buffers[buffer].type;
      ValueId made = addBuffer(type, elements, stripBytes);
      stripBytes += (elements * sizeInBytes(type) + 63) / 64 * 64;
      return made;
    };
    ProfiledNode profiled{p_.nodes[p_.instrs[chain.back()].node].name + "_strips", "", 0};
    for (size_t k = 0; k < chain.size(); ++k) {
      const Instr &whole = p_.instrs[chain[k]];
      const KernelCode &code = p_.kernels[whole.callee];
      std::unordered_map<uint32_t, ValueId> ofBuffer;
      for (size_t a = 0; a < whole.arguments.size(); ++a)
        ofBuffer[code.loops.arguments[a]] = whole.arguments[a];
      std::vector<std::vector<int64_t>> steps = strips[k].steps();
      size_t numBuffers = strips[k].kernel.buffers.size();
      Instr part;
      part.callee = BYCC_TRY(findKernel(std::move(strips[k].kernel), code.name));
      const Loops &loops = p_.kernels[part.callee].loops;
      if (!loops.packs.empty())
        return std::vector<Instr>();
      part.steps.resize(counts.size());
      for (uint32_t buffer : loops.arguments) {
        const Buffer &own = loops.kernel.buffers[buffer];
        ValueId value = none;
        if (own.role == Role::Temp) {
          value = addOwn(loops.kernel, buffer);
          part.temps.push_back(value);
        } else if (auto it = ofBuffer.find(buffer); it != ofBuffer.end()) {
          value = it->second;
          bool isPassed = std::ranges::find(passed, p_.root(value)) != passed.end();
          if (isPassed) {
            auto [place, isNew] = small.try_emplace(p_.root(value), none);
            if (isNew)
              place->second = addOwn(loops.kernel, buffer);
            value = place->second;
          }
          (own.role == Role::Input ? part.inputs : part.outputs).push_back(value);
          if (!isPassed && !hasFixedPlace(value))
            return std::vector<Instr>();
          if (!isPassed && own.role == Role::Input)
            begin.inputs.push_back(value);
        } else {
          return std::vector<Instr>();
        }
        part.arguments.push_back(value);
        for (size_t level = 0; level < counts.size(); ++level)
          part.steps[level].push_back(buffer < numBuffers ? steps[level][buffer] : 0);
      }
      kernels.push_back(std::move(part));
      profiled.addSource(p_.nodes[whole.node].source);
      profiled.flops += p_.nodes[whole.node].flops;
    }
    p_.stripBytes = std::max(p_.stripBytes, static_cast<uint64_t>(stripBytes));
    begin.node = static_cast<uint32_t>(p_.nodes.size());
    p_.nodes.push_back(std::move(profiled));
    // Operands live until the last strip, the result from the first one on.
    begin.kind = Instr::Kind::Strips;
    begin.outputs = p_.instrs[chain.back()].outputs;
    end.kind = Instr::Kind::EndStrips;
    end.inputs = begin.inputs;
    end.inputs.push_back(begin.outputs[0]);
    begin.counts = counts;
    std::vector<Instr> instrs{std::move(begin)};
    std::ranges::move(kernels, std::back_inserter(instrs));
    instrs.push_back(std::move(end));
    return instrs;
  }

  ValueId addBuffer(DType type, int64_t elements, int64_t offset) {
    Value value;
    value.stripOffset = offset;
    value.dtype = type;
    value.dims = {p_.exprs.integer(elements)};
    p_.values.push_back(std::move(value));
    return static_cast<ValueId>(p_.values.size() - 1);
  }

  Expected<uint32_t> findKernel(Kernel kernel, const std::string &name) {
    auto [it, isNew] =
        kernelIds_.try_emplace(kernel.fingerprint(), static_cast<uint32_t>(p_.kernels.size()));
    if (isNew)
      p_.kernels.push_back(
          BYCC_TRY(scheduler_.run(name + "_strip", std::move(kernel), it->first, true)));
    return it->second;
  }

  // Whole kernels that strips stand for, and their rows of a profile.
  void dropUnused() {
    std::vector<uint32_t> kernels(p_.kernels.size(), none), nodes(p_.nodes.size(), none);
    std::vector<KernelCode> usedKernels;
    std::vector<ProfiledNode> usedNodes;
    for (Instr &instr : p_.instrs) {
      if (instr.kind == Instr::Kind::Kernel)
        keep(instr.callee, kernels, p_.kernels, usedKernels);
      if (instr.node != none)
        keep(instr.node, nodes, p_.nodes, usedNodes);
    }
    for (KernelCode &code : usedKernels)
      code.source.reset();
    p_.kernels = std::move(usedKernels);
    p_.nodes = std::move(usedNodes);
  }

  // What is at `index`, once, and where it is now.
  template <typename T>
  static void keep(uint32_t &index, std::vector<uint32_t> &numbers, std::vector<T> &all,
                   std::vector<T> &used) {
    if (numbers[index] == none) {
      numbers[index] = static_cast<uint32_t>(used.size());
      used.push_back(std::move(all[index]));
    }
    index = numbers[index];
  }

  Program &p_;
  const TargetFacts &facts_;
  Scheduler &scheduler_;
  std::vector<std::vector<size_t>> readers_; // by root value
  std::unordered_map<std::string, uint32_t> kernelIds_;
};

} // namespace

// Reads or makes a value that the second cache does not hold; all extents are known.
bool mayRunInStrips(const Kernel &kernel, const TargetInfo &target) {
  if (kernel.numDims > 0)
    return false;
  return std::ranges::any_of(kernel.buffers, [&](const Buffer &buffer) {
    double bytes = sizeInBytes(buffer.type) * elementsOf(kernel.exprs, buffer.shape);
    return buffer.role != Role::Temp && !buffer.isConstant &&
           bytes > static_cast<double>(factsOf(target).l2Bytes);
  });
}

Expected<> runInStrips(Program &program, const TargetInfo &target, Scheduler &scheduler) {
  return StripMaker(program, target, scheduler).run();
}

} // namespace bycc::codegen
