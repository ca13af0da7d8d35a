// Saves copies. Rows are written into the value itself where its old content is
// not needed any more, so that a loop that fills an array costs a row a turn:
//
//   Loop  c <- zeros
//     y = SetRows(c, v, i)      y is another name of c: nothing reads c after this
//     Next  c <- y              nothing to move
//
// And a value that a loop carries on is made in the spare memory of the carried
// value instead of being copied there.
#include "Program.h"

#include <algorithm>

namespace bycc::codegen {
namespace {

using Kind = Instr::Kind;

class Updater {
public:
  explicit Updater(Program &program) : p_(program) {}

  void run() {
    findLoops();
    for (size_t i = 0; i < p_.instrs.size(); ++i)
      if (p_.instrs[i].kind == Kind::SetRows && mayOverwrite(i)) {
        Value &updated = p_.values[p_.instrs[i].outputs[0]];
        updated.alias = p_.instrs[i].inputs[0];
        updated.isUpdate = true;
      }
    collectUses();
    for (size_t i = 0; i < p_.instrs.size(); ++i)
      if (p_.instrs[i].kind == Kind::Next)
        for (size_t k = 0; k < p_.instrs[i].inputs.size(); ++k)
          makeInSpare(p_.root(p_.instrs[i].inputs[k]), p_.instrs[i].outputs[k]);
  }

private:
  static constexpr size_t noLoop = SIZE_MAX;

  // The innermost loop of each instruction, and where each value is made.
  void findLoops() {
    std::vector<size_t> open{noLoop};
    maker_.assign(p_.values.size(), SIZE_MAX);
    isBindRead_.assign(p_.values.size(), false);
    for (size_t i = 0; i < p_.instrs.size(); ++i) {
      const Instr &instr = p_.instrs[i];
      if (instr.kind == Kind::Loop)
        open.push_back(i);
      loopOf_.push_back(open.back());
      if (instr.kind == Kind::EndLoop)
        open.pop_back();
      for (ValueId value : instr.outputs)
        if (instr.kind != Kind::Next && instr.kind != Kind::Bind && instr.kind != Kind::Leave)
          maker_[value] = i;
      if (instr.kind == Kind::Bind)
        for (ValueId value : instr.inputs)
          isBindRead_[p_.root(value)] = true;
    }
  }

  bool isOwn(ValueId root) const {
    const Value &value = p_.values[root];
    bool hasMemory = !value.isBound || value.memory != none;
    return value.kind == Value::Kind::Buffer && hasMemory && value.output == none &&
           value.resident == none && maker_[root] != SIZE_MAX;
  }

  bool mayOverwrite(size_t at) const {
    const Instr &instr = p_.instrs[at];
    ValueId root = p_.root(instr.inputs[0]);
    return isOwn(root) && p_.values[instr.outputs[0]].output == none &&
           loopOf_[maker_[root]] == loopOf_[at] && !isBindRead_[root] &&
           p_.root(instr.inputs[1]) != root && p_.root(instr.inputs[2]) != root &&
           !isReadAfter(root, at);
  }

  // On some way from the instruction to the end of the turn or of the program.
  bool isReadAfter(ValueId root, size_t at) const {
    int ifs = 0, loops = 0;
    for (size_t i = at + 1; i < p_.instrs.size(); ++i) {
      const Instr &instr = p_.instrs[i];
      if (instr.kind == Kind::Else && ifs == 0) {
        i = endOfIf(i); // the other branch
        continue;
      }
      if (instr.kind == Kind::EndLoop && loops == 0)
        return false; // only reached by Leave
      if (std::ranges::any_of(instr.inputs, [&](ValueId value) { return p_.root(value) == root; }))
        return true;
      ifs += (instr.kind == Kind::If) - (instr.kind == Kind::EndIf);
      ifs = std::max(ifs, 0); // the end of an if around `at`
      loops += (instr.kind == Kind::Loop) - (instr.kind == Kind::EndLoop);
      if ((instr.kind == Kind::Next || instr.kind == Kind::Leave) && ifs == 0 && loops == 0)
        return false;
    }
    return false;
  }

  size_t endOfIf(size_t otherwise) const {
    int depth = 1;
    size_t i = otherwise;
    while (depth > 0) {
      ++i;
      depth += (p_.instrs[i].kind == Kind::If) - (p_.instrs[i].kind == Kind::EndIf);
    }
    return i;
  }

  void collectUses() {
    uses_.resize(p_.values.size());
    for (size_t i = 0; i < p_.instrs.size(); ++i)
      for (ValueId value : p_.instrs[i].inputs)
        uses_[p_.root(value)].push_back(i);
  }

  void makeInSpare(ValueId made, ValueId carried) {
    const Value &value = p_.values[made];
    size_t loop = maker_[carried];
    if (!isOwn(made) || value.isBound || value.spareOf != none || loopOf_[maker_[made]] != loop ||
        isBindRead_[made])
      return;
    if (p_.instrs[maker_[made]].kind == Kind::Library) // may bring memory of its own
      return;
    if (p_.isStatic(p_.values[carried]) && !p_.isStatic(value))
      return;
    for (size_t use : uses_[made]) {
      const Instr &instr = p_.instrs[use];
      if (instr.kind == Kind::Leave && loopOf_[use] != loop)
        return;
      if (instr.kind == Kind::Next)
        for (size_t k = 0; k < instr.inputs.size(); ++k)
          if (p_.root(instr.inputs[k]) == made && instr.outputs[k] != carried)
            return;
    }
    for (auto [other, spareOf] : spares_)
      if (spareOf == carried && maker_[other] <= uses_[made].back() &&
          maker_[made] <= uses_[other].back())
        return;
    p_.values[made].spareOf = carried;
    spares_.emplace_back(made, carried);
  }

  Program &p_;
  std::vector<size_t> loopOf_; // instruction: Loop around it
  std::vector<size_t> maker_;  // root value: instruction
  std::vector<bool> isBindRead_;
  std::vector<std::vector<size_t>> uses_;
  std::vector<std::pair<ValueId, ValueId>> spares_;
};

} // namespace

void updateInPlace(Program &program) { Updater(program).run(); }

} // namespace bycc::codegen
