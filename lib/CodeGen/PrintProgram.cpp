// See PrintProgram.h: what the kernels of a program have in common, then each of them.
#include "PrintProgram.h"

#include "bycc/Loops/PrintLoops.h"

namespace bycc::codegen {

namespace {

// How often a cut divides, where that is known.
std::string textOf(const Program &program, Ref count) {
  auto known = program.exprs.constant(count);
  return known ? std::to_string(*known) : "?";
}

} // namespace

std::vector<std::string> printStrips(const Program &program) {
  std::vector<std::string> lines;
  for (const Instr &instr : program.instrs) {
    if (instr.kind == Instr::Kind::Strips) {
      std::string counts;
      for (Ref count : instr.counts)
        counts += (counts.empty() ? "" : "x") + textOf(program, count);
      lines.push_back("strips " + program.nodes[instr.node].name + " " + counts);
    } else if (instr.kind == Instr::Kind::Kernel && program.kernels[instr.callee].isOfStrips) {
      lines.back() += " " + program.kernels[instr.callee].fingerprint;
    }
  }
  return lines;
}

std::string printProgram(const Program &program, const TargetInfo &target) {
  const TargetFacts &facts = factsOf(target);
  std::string out = "# loops for " + target.cpu + ": " + std::to_string(facts.lanes) + " lanes, " +
                    std::to_string(facts.registers) + " vector registers, second cache of " +
                    std::to_string(facts.l2Bytes) + " bytes\n";
  for (const std::string &strips : printStrips(program))
    out += strips + "\n";
  for (const KernelCode &code : program.kernels)
    out += "\n" + printKernel(code);
  return out;
}

} // namespace bycc::codegen
