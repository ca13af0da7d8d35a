// The entry of a large program as functions of bounded size. LLVM's passes over machine
// code take time quadratic in a function or in one of its blocks, optimised or not.
//
//   i32 entry(exec)                     i32 part(exec, slots)
//     part(exec, slots)                   some instructions, one after the other;
//     if (..) part(..) else part(..)      ifs and loops among them are whole
//
// Ifs and loops that are larger than a part stay where they are, with parts as their
// bodies, and so do ifs that hold the Next or Leave of a loop around them. What one part
// leaves to another stands in the slots of the entry.
#include "EntryEmitter.h"

namespace bycc::codegen {
namespace {

constexpr size_t mostInPart = 256;
constexpr uint64_t mostOnStack = 4096; // slots

} // namespace

size_t EntryEmitter::weightOf(const Instr &instr) {
  size_t values =
      instr.inputs.size() + instr.outputs.size() + instr.temps.size() + instr.released.size();
  return 1 + values / 8;
}

// Where each instruction ends that opens something, what it weighs with all that is in
// it, and whether it jumps to a loop around it.
void EntryEmitter::findSpans() {
  spans_.resize(p_.instrs.size());
  std::vector<uint32_t> open;
  for (uint32_t i = 0; i < p_.instrs.size(); ++i) {
    const Instr &instr = p_.instrs[i];
    Span &own = spans_[i];
    own = {i + 1, 0, weightOf(instr),
           instr.kind == Instr::Kind::Next || instr.kind == Instr::Kind::Leave};
    bool isOpening = instr.kind == Instr::Kind::If || instr.kind == Instr::Kind::Loop ||
                     instr.kind == Instr::Kind::Strips;
    bool isEnd = instr.kind == Instr::Kind::EndIf || instr.kind == Instr::Kind::EndLoop ||
                 instr.kind == Instr::Kind::EndStrips;
    if (instr.kind == Instr::Kind::Else)
      spans_[open.back()].otherwise = i;
    if (isOpening)
      open.push_back(i);
    if (!isOpening && !open.empty())
      addTo(spans_[open.back()], own);
    if (!isEnd)
      continue;
    Span &ended = spans_[open.back()];
    open.pop_back();
    ended.end = i + 1;
    if (instr.kind == Instr::Kind::EndLoop)
      ended.jumpsOut = false;
    if (!open.empty())
      addTo(spans_[open.back()], ended);
  }
}

void EntryEmitter::addTo(Span &outer, const Span &inner) {
  outer.weight += inner.weight;
  outer.jumpsOut |= inner.jumpsOut;
}

void EntryEmitter::emitInParts() {
  // Stands for the slots until it is known how many there are.
  auto *slots = llvm::IRBuilder<>(frame_.allocas).CreateAlloca(b_.getInt64Ty(), i64(0));
  frame_.slots = slots;
  findSpans();
  emitInParts(0, static_cast<uint32_t>(p_.instrs.size()));
  slots->setOperand(0, i64(static_cast<int64_t>(numSlots_)));
  if (numSlots_ <= mostOnStack)
    return;
  auto place = b_.saveIP();
  b_.SetInsertPoint(frame_.allocas);
  LValue *api = field(frame_.function->getArg(0), offsetof(bycc_exec, api));
  auto *type = llvm::FunctionType::get(b_.getPtrTy(), {b_.getPtrTy(), b_.getInt64Ty()}, false);
  LValue *memory =
      b_.CreateCall(type, field(api, offsetof(bycc_exec_api, alloc)),
                    {frame_.function->getArg(0), i64(static_cast<int64_t>(8 * numSlots_))});
  failIfNull(memory);
  frame_.allocas = b_.GetInsertBlock();
  slots->replaceAllUsesWith(memory);
  slots->eraseFromParent();
  b_.restoreIP(place);
}

void EntryEmitter::emitInParts(uint32_t begin, uint32_t end) {
  for (uint32_t at = begin; at < end;) {
    size_t weight = 0;
    uint32_t last = at;
    while (last < end && !spans_[last].jumpsOut && weight + spans_[last].weight <= mostInPart) {
      weight += spans_[last].weight;
      last = spans_[last].end;
    }
    if (last == at)
      emitLarge(at);
    else
      emitPart(at, last);
    at = std::max(last, spans_[at].end);
  }
}

// One that stays where it is.
void EntryEmitter::emitLarge(uint32_t index) {
  const Span &span = spans_[index];
  emitAll(index, index + 1);
  if (span.end == index + 1)
    return;
  if (span.otherwise) {
    emitInParts(index + 1, span.otherwise);
    emitAll(span.otherwise, span.otherwise + 1);
  }
  emitInParts(std::max(span.otherwise + 1, index + 1), span.end - 1);
  emitAll(span.end - 1, span.end);
}

void EntryEmitter::emitPart(uint32_t begin, uint32_t end) {
  auto *type = llvm::FunctionType::get(b_.getInt32Ty(), {b_.getPtrTy(), b_.getPtrTy()}, false);
  auto *part = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage,
                                      options_.moduleName + "_part", module_);
  loadFrame();
  LValue *status = b_.CreateCall(type, part, {frame_.exec, frame_.slots});
  auto place = b_.saveIP();
  Frame caller = frame_;
  beginFunction(part);
  frame_.slots = part->getArg(1);
  emitAll(begin, end);
  endFunction();
  frame_ = caller;
  b_.restoreIP(place);
  returnIfFailed(status);
}

} // namespace bycc::codegen
