// Values that stay in a vendor's own memory: made by a region, read by regions of
// the same vendor and by nothing else.
//
//   x -> [npu_0] -a-> [npu_1] -b-> host      a is resident, b is not
//
// A region that is called in several places is loaded once, so what holds for an
// input or output at one call must hold at all of them. And none is that its vendor was not
// told of when it compiled the region (Partition/ResidentTensors has the same rule, of the
// program as it stood then).
#include "Program.h"

#include <algorithm>

namespace bycc::codegen {
namespace {

class Finder {
public:
  explicit Finder(Program &program) : p_(program), maker_(program.values.size(), none) {}

  void run() {
    if (std::ranges::none_of(p_.regions, &RegionCode::ownsMemory))
      return;
    markCandidates();
    while (dropDisagreeing())
      ;
    placeReleases();
  }

private:
  bool isRegion(const Instr &instr) const { return instr.kind == Instr::Kind::Region; }

  void markCandidates() {
    std::vector<bool> isRead(p_.values.size());
    // The end of a turn can come before a release: what a loop's body makes is not resident.
    int loops = 0;
    for (const Instr &instr : p_.instrs) {
      loops += (instr.kind == Instr::Kind::Loop) - (instr.kind == Instr::Kind::EndLoop);
      if (loops == 0 && isRegion(instr) && p_.regions[instr.callee].ownsMemory)
        for (ValueId value : instr.outputs)
          if (p_.values[value].output == none && p_.isStatic(p_.values[value]))
            maker_[value] = instr.callee;
    }
    for (const Instr &instr : p_.instrs) {
      for (ValueId value : instr.inputs) {
        ValueId root = p_.root(value);
        isRead[root] = true;
        if (maker_[root] != none && !(isRegion(instr) && isOfOneVendor(instr.callee, maker_[root])))
          maker_[root] = none;
      }
      if (!isRegion(instr))
        for (ValueId value : instr.outputs)
          maker_[p_.root(value)] = none;
    }
    for (ValueId id = 0; id < p_.values.size(); ++id)
      if (!isRead[id])
        maker_[id] = none;
  }

  bool isOfOneVendor(uint32_t a, uint32_t b) const {
    return p_.regions[a].vendor == p_.regions[b].vendor;
  }

  // Leaves the flags of each region as all its calls so far agree on them.
  bool agree(std::vector<uint8_t> &flags, const std::vector<uint8_t> &told, bool isFirst,
             const std::vector<ValueId> &values) {
    if (isFirst)
      flags.assign(values.size(), 0);
    for (size_t i = 0; isFirst && i < std::min(told.size(), values.size()); ++i)
      flags[i] = told[i];
    bool changed = false;
    for (size_t i = 0; i < values.size(); ++i) {
      uint32_t &maker = maker_[p_.root(values[i])];
      if (maker == none)
        flags[i] = 0;
      else if (!flags[i])
        maker = none, changed = true;
    }
    return changed;
  }

  bool dropDisagreeing() {
    std::vector<bool> isSeen(p_.regions.size());
    bool changed = false;
    for (const Instr &instr : p_.instrs) {
      if (!isRegion(instr))
        continue;
      RegionCode &region = p_.regions[instr.callee];
      changed |= agree(region.residentInputs, region.code.residentInputs, !isSeen[instr.callee],
                       instr.inputs);
      changed |= agree(region.residentOutputs, region.code.residentOutputs, !isSeen[instr.callee],
                       instr.outputs);
      isSeen[instr.callee] = true;
    }
    // Flags that a later call cleared: earlier calls have to follow.
    for (const Instr &instr : p_.instrs)
      if (isRegion(instr)) {
        RegionCode &region = p_.regions[instr.callee];
        changed |= agree(region.residentInputs, {}, false, instr.inputs);
        changed |= agree(region.residentOutputs, {}, false, instr.outputs);
      }
    return changed;
  }

  // After the last reader; when that is in a branch or loop that the maker is not in,
  // after the end of that.
  void placeReleases() {
    std::vector<int> depth;
    for (const Instr &instr : p_.instrs) {
      int before = depth.empty() ? 0 : depth.back();
      auto is = [&](Instr::Kind kind) { return instr.kind == kind ? 1 : 0; };
      depth.push_back(before + is(Instr::Kind::If) + is(Instr::Kind::Loop) -
                      is(Instr::Kind::EndIf) - is(Instr::Kind::EndLoop));
    }
    std::vector<size_t> first(p_.values.size()), last(p_.values.size());
    for (size_t i = 0; i < p_.instrs.size(); ++i) {
      for (size_t o = 0; o < p_.instrs[i].outputs.size(); ++o) {
        ValueId value = p_.instrs[i].outputs[o];
        first[value] = i;
        p_.values[value].residentOutput = static_cast<uint32_t>(o);
      }
      for (ValueId value : p_.instrs[i].inputs)
        last[p_.root(value)] = i;
    }
    for (ValueId id = 0; id < p_.values.size(); ++id) {
      if (maker_[id] == none)
        continue;
      p_.values[id].resident = maker_[id];
      size_t at = last[id];
      while (depth[at] > depth[first[id]])
        ++at;
      p_.instrs[at].released.push_back(id);
    }
  }

  Program &p_;
  std::vector<uint32_t> maker_; // region that makes the value, while it may be resident
};

} // namespace

void findResidentValues(Program &program) { Finder(program).run(); }

} // namespace bycc::codegen
