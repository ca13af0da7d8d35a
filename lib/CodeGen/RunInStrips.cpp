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
// operand's pointer moves by as many bytes from strip to strip. So an axis has
// to be an axis of all of them, and nothing but loads and stores may depend on it.
//
// Extents that are open stay so: an axis of both operands of the products is cut into its
// single indices, and the rows of one operand into as many as the second cache holds, which
// is counted when they are known; the last strip has what is left. There, too, is decided
// whether the values are so large, and if not the whole kernels run.
//
// One kernel over all operators of a chain would also keep a strip in
// registers; it needs schedules of several contractions in one nest.
#include "CutKernel.h"
#include "Program.h"

#include <algorithm>

namespace bycc::codegen {
namespace {

// As a double, which does not overflow and is exact for what fits in memory; 0: not known.
double knownElements(const Exprs &exprs, const std::vector<Ref> &shape) {
  double product = 1;
  for (Ref extent : shape)
    product *= static_cast<double>(exprs.constant(extent).value_or(0));
  return product;
}

bool isKnown(const Exprs &exprs, const std::vector<Ref> &shape) {
  return std::ranges::all_of(shape, [&](Ref extent) { return exprs.constant(extent).has_value(); });
}

class StripMaker {
public:
  StripMaker(Program &program, const TargetInfo &target, Scheduler &scheduler)
      : p_(program), x_(program.exprs), facts_(factsOf(target)), scheduler_(scheduler) {}

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
  static constexpr int64_t enoughParts = 16; // for the threads that there may be

  // Of a strip: what is passed should stay in the second cache beside the operands.
  int64_t budget() const { return facts_.l2Bytes / 2; }
  // Where it cannot be cut so small; beyond, whole kernels are as good.
  int64_t mostBytes() const { return 4 * budget(); }

  // Who reads a value, not its extents alone.
  void findReaders() {
    readers_.resize(p_.values.size());
    for (size_t i = 0; i < p_.instrs.size(); ++i) {
      const Instr &instr = p_.instrs[i];
      bool isKernel = instr.kind == Instr::Kind::Kernel;
      for (ValueId value : instr.inputs)
        if (!isKernel || hasArgument(instr, value))
          addReader(value, i);
      for (Ref ref : instr.dims)
        x_.visit(ref, [&](Ref at) {
          if (x_[at].op == Op::Load)
            addReader(static_cast<ValueId>(x_[at].i), i);
          return true;
        });
    }
  }

  void addReader(ValueId value, size_t instr) {
    std::vector<size_t> &readers = readers_[p_.root(value)];
    if (readers.empty() || readers.back() != instr)
      readers.push_back(instr);
  }

  bool hasArgument(const Instr &instr, ValueId value) const {
    return std::ranges::any_of(instr.arguments,
                               [&](ValueId at) { return p_.root(at) == p_.root(value); });
  }

  const KernelCode *codeOf(size_t instr) const {
    const Instr &at = p_.instrs[instr];
    bool isKernel = at.kind == Instr::Kind::Kernel && at.outputs.size() == 1;
    return isKernel && p_.kernels[at.callee].source ? &p_.kernels[at.callee] : nullptr;
  }

  // The nest of a kernel that is a product.
  std::optional<size_t> productIn(size_t instr) const {
    const auto &nests = p_.kernels[p_.instrs[instr].callee].loops.nests;
    for (size_t n = 0; n < nests.size(); ++n)
      if (nests[n].contraction)
        return n;
    return std::nullopt;
  }

  // In memory of its own.
  bool isPlain(ValueId id) const {
    const Value &value = p_.values[id];
    return value.kind == Value::Kind::Buffer && value.alias == none && value.resident == none &&
           !value.isBound && value.spareOf == none;
  }

  // Two of them are larger than the second cache, or may be.
  bool isLarge(ValueId id) const {
    const Value &value = p_.values[id];
    double bytes = sizeInBytes(value.dtype) * knownElements(x_, value.dims);
    return !isKnown(x_, value.dims) || bytes > static_cast<double>(budget());
  }

  // The instruction that alone reads the result, when that is large and only kernels and
  // what they need of extents stand between; else 0.
  size_t nextOf(size_t instr) const {
    ValueId made = p_.instrs[instr].outputs[0];
    if (!isPlain(made) || p_.values[made].output != none || !isLarge(made) ||
        readers_[made].size() != 1)
      return 0;
    using Kind = Instr::Kind;
    size_t next = readers_[made][0];
    for (size_t at = instr + 1; at <= next; ++at)
      if (Kind kind = p_.instrs[at].kind;
          kind != Kind::Kernel && kind != Kind::SetDim && kind != Kind::Require)
        return 0;
    return codeOf(next) ? next : 0;
  }

  // A product, what is done to its rows, a product of that.
  std::vector<size_t> chainFrom(size_t first) const {
    if (!codeOf(first) || !productIn(first))
      return {};
    std::vector<size_t> chain{first};
    for (size_t next = nextOf(first); next; next = nextOf(next)) {
      chain.push_back(next);
      if (productIn(next))
        break;
    }
    bool isWhole =
        chain.size() > 2 && productIn(chain.back()) && isPlain(p_.instrs[chain.back()].outputs[0]);
    return isWhole ? chain : std::vector<size_t>();
  }

  // The buffers of an instruction's kernel that have one of these values.
  std::vector<uint32_t> buffersWith(const Instr &instr, const std::vector<ValueId> &values) const {
    const std::vector<uint32_t> &arguments = p_.kernels[instr.callee].loops.arguments;
    std::vector<uint32_t> found;
    for (size_t a = 0; a < arguments.size(); ++a)
      if (std::ranges::find(values, p_.root(instr.arguments[a])) != values.end())
        found.push_back(arguments[a]);
    return found;
  }

  // A chain on its way into strips.
  struct Chain {
    std::vector<size_t> kernels; // instructions
    std::vector<ValueId> passed;
    std::vector<CutKernel> strips;
    std::vector<Ref> counts;
    std::vector<Instr> extents; // SetDim
    Instr::Rows rows;
    Ref bytesOfRow = noRef; // where `rows` are: of what is passed
  };

  // Of what a strip passes on, by `divisor`; nullopt: that does not divide it.
  std::optional<Ref> bytesOf(Chain &chain, const Product &divisor = {}) {
    Ref bytes = x_.integer(0);
    for (size_t k = 0; k + 1 < chain.kernels.size(); ++k) {
      CutKernel &strip = chain.strips[k];
      for (uint32_t b = 0; b < strip.kernel.buffers.size(); ++b) {
        if (strip.kernel.buffers[b].role != Role::Output)
          continue;
        auto elements = strip.productOf(strip.kernel.elements(b));
        auto part = elements ? elements->over(divisor) : std::nullopt;
        if (!part)
          return std::nullopt;
        bytes = x_.add(bytes, x_.times(toRef(*part), sizeInBytes(strip.kernel.buffers[b].type)));
      }
    }
    return bytes;
  }

  // How many parts the next cut can make at most; nullopt: none.
  static std::optional<Product> mostParts(Chain &chain) {
    std::vector<Product> extents;
    for (CutKernel &strip : chain.strips) {
      std::vector<Product> own = strip.outerExtents();
      if (own.empty())
        return std::nullopt;
      extents.insert(extents.end(), own.begin(), own.end());
    }
    for (const Product &most : extents)
      if (std::ranges::all_of(extents,
                              [&](const Product &each) { return each.over(most).has_value(); }))
        return most;
    return std::nullopt;
  }

  // Whether each part reads the whole of an operand, which costs something.
  static bool isShared(Chain &chain) {
    return chain.strips[0].sharesOperand() || chain.strips.back().sharesOperand();
  }

  // The fewest parts that are small and enough, or all.
  int64_t partsOf(int64_t all, int64_t bytes, int64_t enough) const {
    for (int64_t count = std::max<int64_t>(enough, 2); count < all; ++count)
      if (all % count == 0 && bytes / count <= budget())
        return count;
    return all;
  }

  // Cuts once more. False: the chain is as small as it gets.
  bool cutOnce(Chain &chain) {
    std::optional<Product> most = mostParts(chain);
    if (!most)
      return false;
    std::optional<Ref> bytes = bytesOf(chain);
    if (!bytes)
      return false;
    if (std::optional<int64_t> known = x_.constant(*bytes)) {
      if (!most->isNumber())
        return false;
      int64_t all = most->number;
      most->number = partsOf(all, *known, isShared(chain) ? 1 : enoughParts);
      // 257 rows are 257 parts or one: better as many rows at once as fit.
      if (isShared(chain) && all / most->number < std::min(tileRows(chain.kernels[0]), all / 2))
        return cutRows(chain, Product{all, {}});
    } else if (isShared(chain)) {
      return cutRows(chain, *most);
    }
    if (!std::ranges::all_of(chain.strips, [&](CutKernel &strip) { return strip.cut(*most); }))
      return false;
    chain.counts.push_back(toRef(*most));
    return true;
  }

  Ref toRef(const Product &product) {
    Ref made = x_.integer(product.number);
    for (auto [own, program] : product.factors)
      made = x_.mul(made, program);
    return made;
  }

  // Into as many rows as the cache holds, but so that all threads have some.
  bool cutRows(Chain &chain, const Product &most) {
    std::optional<Ref> row = bytesOf(chain, most);
    if (!row)
      return false;
    chain.bytesOfRow = *row;
    chain.rows.all = toRef(most);
    chain.rows.most = addDim(chain, rowsAtOnce(chain));
    chain.rows.dim = p_.addDim({}, CutKernel::likelyRows);
    if (!std::ranges::all_of(chain.strips, [&](CutKernel &strip) {
          return strip.cutRows(most, chain.rows.most, chain.rows.dim);
        }))
      return false;
    chain.counts.push_back(addDim(chain, quotientUp(chain.rows.all, chain.rows.most)));
    return true;
  }

  Ref rowsAtOnce(const Chain &chain) {
    Ref turns = chain.rows.all;
    for (Ref count : chain.counts)
      turns = x_.mul(turns, count);
    Ref fitting = x_.binary(Op::FloorDiv, x_.integer(budget()), chain.bytesOfRow);
    Ref rows = x_.binary(Op::Min, fitting, quotientUp(turns, threads()));
    rows = x_.binary(Op::Max, rows, x_.integer(1));
    // Whole tiles, where there is one.
    Ref tile = x_.integer(tileRows(chain.kernels[0]));
    Ref tiles = x_.sub(rows, x_.binary(Op::FloorMod, rows, tile));
    return x_.binary(Op::Max, tiles, x_.binary(Op::Min, rows, tile));
  }

  int64_t tileRows(size_t instr) const {
    const KernelCode &code = p_.kernels[p_.instrs[instr].callee];
    const auto &product = code.loops.schedule.nests[*productIn(instr)].product;
    return product ? product->tile.rows * product->tile.outerRows : 1;
  }

  Ref threads() {
    if (threads_ == noRef)
      threads_ = p_.addDim({none, 0, true}, 1);
    return threads_;
  }

  Ref quotientUp(Ref a, Ref b) { return x_.binary(Op::FloorDiv, x_.plus(x_.add(a, b), -1), b); }

  // What is counted before the strips begin.
  Ref addDim(Chain &chain, Ref value) {
    Instr set;
    set.kind = Instr::Kind::SetDim;
    set.callee = static_cast<uint32_t>(p_.dims.size());
    set.dims = {value};
    chain.extents.push_back(std::move(set));
    return p_.addDim({}, p_.likely(value));
  }

  bool isWithin(Chain &chain, int64_t most) {
    auto bytes = bytesOf(chain);
    auto known = bytes ? x_.constant(*bytes) : std::nullopt;
    return known && *known <= most;
  }

  Expected<std::vector<Instr>> stripsOf(const std::vector<size_t> &kernels) {
    Chain chain{kernels, {}, {}, {}, {}, {}, noRef};
    for (size_t at : kernels)
      if (at != kernels.back())
        chain.passed.push_back(p_.instrs[at].outputs[0]);
    for (size_t at : kernels)
      chain.strips.emplace_back(*codeOf(at)->source, buffersWith(p_.instrs[at], chain.passed),
                                p_.instrs[at].dims, x_);
    while (!isWithin(chain, budget()) && chain.rows.dim == noRef) {
      Chain before = chain;
      if (!cutOnce(chain)) {
        chain = std::move(before);
        break;
      }
    }
    if (chain.counts.empty() || (chain.rows.dim == noRef && !isWithin(chain, mostBytes())))
      return std::vector<Instr>();
    std::vector<Instr> strips = BYCC_TRY(instrsOf(chain));
    if (strips.empty())
      return strips;
    forgetExtentsOf(chain);
    const Value &scores = p_.values[chain.passed[0]];
    return isKnown(x_, scores.dims) ? std::move(strips) : whereLarge(chain, std::move(strips));
  }

  // What reads no more than the extents of what is passed does not need it, and strips
  // do not make it whole.
  void forgetExtentsOf(const Chain &chain) {
    for (size_t at = chain.kernels[0]; at < p_.instrs.size(); ++at)
      if (std::ranges::find(chain.kernels, at) == chain.kernels.end())
        std::erase_if(p_.instrs[at].inputs, [&](ValueId value) {
          return std::ranges::find(chain.passed, p_.root(value)) != chain.passed.end();
        });
  }

  // The strips where the values are large when the extents are known, else the whole kernels.
  std::vector<Instr> whereLarge(const Chain &chain, std::vector<Instr> strips) {
    const Value &scores = p_.values[chain.passed[0]];
    Ref bytes = x_.integer(sizeInBytes(scores.dtype));
    for (Ref dim : scores.dims)
      bytes = x_.mul(bytes, dim);
    Instr condition, otherwise, end;
    condition.kind = Instr::Kind::If;
    Ref isLarge = x_.binary(Op::Lt, x_.integer(budget()), bytes);
    if (chain.bytesOfRow != noRef) {
      Ref tile = x_.integer(tileRows(chain.kernels[0]));
      isLarge = x_.both(isLarge, x_.binary(Op::Le, tile, chain.rows.all));
      isLarge = x_.both(isLarge, x_.binary(Op::Le, chain.bytesOfRow, x_.integer(mostBytes())));
    }
    condition.dims = {isLarge};
    condition.outputs = p_.instrs[chain.kernels.back()].outputs;
    otherwise.kind = Instr::Kind::Else;
    end.kind = Instr::Kind::EndIf;
    std::vector<Instr> instrs{std::move(condition)};
    std::ranges::move(strips, std::back_inserter(instrs));
    instrs.push_back(std::move(otherwise));
    for (size_t at : chain.kernels)
      instrs.push_back(p_.instrs[at]);
    instrs.push_back(std::move(end));
    return instrs;
  }

  // The memory of a strip.
  struct Memory {
    std::unordered_map<ValueId, ValueId> ofPassed;
    Ref bytes = noRef;
  };

  ValueId addOwn(Memory &memory, const Chain &chain, const CutKernel &strip, const Loops &loops,
                 uint32_t buffer) {
    std::vector<Ref> dims = strip.dims; // of a strip with all its rows
    std::ranges::replace(dims, chain.rows.dim, chain.rows.most);
    Value value;
    value.dtype = loops.kernel.buffers[buffer].type;
    value.stripOffset = memory.bytes;
    Ref elements = x_.integer(1);
    for (Ref extent : loops.kernel.buffers[buffer].shape)
      elements = x_.mul(elements, translate(loops.kernel.exprs, extent, dims, x_));
    value.dims = {elements};
    Ref bytes = x_.times(elements, sizeInBytes(value.dtype));
    memory.bytes = x_.add(memory.bytes, x_.times(quotientUp(bytes, x_.integer(64)), 64));
    p_.values.push_back(std::move(value));
    return static_cast<ValueId>(p_.values.size() - 1);
  }

  // One kernel of the chain as a part of its strips; nullopt: it cannot be one.
  Expected<std::optional<Instr>> partOf(Chain &chain, size_t number, Memory &memory, Instr &begin) {
    const Instr &whole = p_.instrs[chain.kernels[number]];
    CutKernel &strip = chain.strips[number];
    const KernelCode &code = p_.kernels[whole.callee];
    std::unordered_map<uint32_t, ValueId> ofBuffer;
    for (size_t a = 0; a < whole.arguments.size(); ++a)
      ofBuffer[code.loops.arguments[a]] = whole.arguments[a];
    Instr part;
    part.callee = BYCC_TRY(findKernel(strip.kernel, code.name));
    part.dims = strip.dims;
    const Loops &loops = p_.kernels[part.callee].loops;
    if (!loops.packs.empty())
      return std::optional<Instr>();
    part.steps.resize(chain.counts.size());
    for (uint32_t buffer : loops.arguments) {
      auto it = ofBuffer.find(buffer);
      ValueId from = it == ofBuffer.end() ? none : it->second;
      if (loops.kernel.buffers[buffer].role != Role::Temp && from == none)
        return std::optional<Instr>();
      ValueId value = argumentOf(chain, strip, loops, buffer, from, memory);
      part.arguments.push_back(value);
      switch (loops.kernel.buffers[buffer].role) {
      case Role::Temp:
        part.temps.push_back(value);
        break;
      case Role::Output:
        part.outputs.push_back(value);
        break;
      case Role::Input:
        part.inputs.push_back(value);
        if (value == from)
          begin.inputs.push_back(value);
      }
      for (size_t level = 0; level < chain.counts.size(); ++level)
        part.steps[level].push_back(strip.step(level, buffer));
    }
    return std::optional<Instr>(std::move(part));
  }

  // What a kernel has in place of `from`: itself, or memory of the strip.
  ValueId argumentOf(const Chain &chain, const CutKernel &strip, const Loops &loops,
                     uint32_t buffer, ValueId from, Memory &memory) {
    if (loops.kernel.buffers[buffer].role == Role::Temp)
      return addOwn(memory, chain, strip, loops, buffer);
    if (std::ranges::find(chain.passed, p_.root(from)) == chain.passed.end())
      return from;
    auto [place, isNew] = memory.ofPassed.try_emplace(p_.root(from), none);
    if (isNew)
      place->second = addOwn(memory, chain, strip, loops, buffer);
    return place->second;
  }

  Expected<std::vector<Instr>> instrsOf(Chain &chain) {
    Memory memory{{}, x_.integer(0)};
    std::vector<Instr> kernels;
    Instr begin, end;
    ProfiledNode profiled{p_.nodes[p_.instrs[chain.kernels.back()].node].name + "_strips", "", 0};
    for (size_t k = 0; k < chain.kernels.size(); ++k) {
      std::optional<Instr> part = BYCC_TRY(partOf(chain, k, memory, begin));
      if (!part)
        return std::vector<Instr>();
      kernels.push_back(std::move(*part));
      const Instr &whole = p_.instrs[chain.kernels[k]];
      profiled.addSource(p_.nodes[whole.node].source);
      profiled.flops += p_.nodes[whole.node].flops;
    }
    begin.node = static_cast<uint32_t>(p_.nodes.size());
    p_.nodes.push_back(std::move(profiled));
    // Operands live until the last strip, the result from the first one on.
    begin.kind = Instr::Kind::Strips;
    begin.outputs = p_.instrs[chain.kernels.back()].outputs;
    end.kind = Instr::Kind::EndStrips;
    end.inputs = begin.inputs;
    end.inputs.push_back(begin.outputs[0]);
    begin.counts = chain.counts;
    begin.rows = chain.rows;
    placeMemory(memory, begin, end);
    std::vector<Instr> instrs = std::move(chain.extents);
    instrs.push_back(std::move(begin));
    std::ranges::move(kernels, std::back_inserter(instrs));
    instrs.push_back(std::move(end));
    return instrs;
  }

  // In the scratch, or in memory of its own when its size is not known.
  void placeMemory(const Memory &memory, Instr &begin, Instr &end) {
    if (std::optional<int64_t> known = x_.constant(memory.bytes)) {
      p_.stripBytes = std::max(p_.stripBytes, static_cast<uint64_t>(*known));
      return;
    }
    Value value;
    value.dtype = DType::Int8;
    value.dims = {threads(), memory.bytes};
    p_.values.push_back(std::move(value));
    begin.temps = {static_cast<ValueId>(p_.values.size() - 1)};
    end.inputs.push_back(begin.temps[0]);
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
  Exprs &x_;
  const TargetFacts &facts_;
  Scheduler &scheduler_;
  Ref threads_ = noRef;
  std::vector<std::vector<size_t>> readers_; // by root value
  std::unordered_map<std::string, uint32_t> kernelIds_;
};

} // namespace

// Reads or makes a value of which the second cache does not hold two, as far as is known.
bool mayRunInStrips(const Kernel &kernel, const TargetInfo &target) {
  return std::ranges::any_of(kernel.buffers, [&](const Buffer &buffer) {
    double bytes = sizeInBytes(buffer.type) * knownElements(kernel.exprs, buffer.shape);
    return buffer.role != Role::Temp && !buffer.isConstant &&
           (!isKnown(kernel.exprs, buffer.shape) ||
            2 * bytes > static_cast<double>(factsOf(target).l2Bytes));
  });
}

Expected<> runInStrips(Program &program, const TargetInfo &target, Scheduler &scheduler) {
  return StripMaker(program, target, scheduler).run();
}

} // namespace bycc::codegen
