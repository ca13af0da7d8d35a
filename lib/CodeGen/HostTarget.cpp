// The only place that looks at the build machine, and only for -mcpu=native.
#include "bycc/CodeGen/HostTarget.h"

#include "Object.h"
#include "bycc/Support/Text.h"

#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>

namespace bycc {
namespace {

// Features that shape the code that we or vendors write, or that a machine must have to
// run it. Tuning flags of a CPU model are left to LLVM's -mcpu.
const char *const shapingFeatures[] = {
    "amx-bf16", "amx-int8",   "amx-tile", "avx",  "avx2", "avx512bf16", "avx512bw", "avx512cd", "avx512dq", "avx512f",
    "avx512fp16", "avx512vl", "avx512vnni", "avxvnni", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe",
    "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"};

} // namespace

Expected<TargetInfo> resolveTarget(const std::string &triple, const std::string &cpu, const std::string &attrs) {
  TargetInfo target;
  std::string host = llvm::sys::getDefaultTargetTriple();
  target.triple = triple.empty() ? host : llvm::Triple::normalize(triple);
  bool isNative = cpu == "native";
  if (isNative && llvm::Triple(target.triple).getArch() != llvm::Triple(host).getArch())
    return error(Status::Arg) << "-mcpu=native is not for target '" << target.triple << "'";
  target.cpu = isNative ? std::string(llvm::sys::getHostCPUName()) : cpu.empty() ? "x86-64" : cpu;
  if (llvm::Triple(target.triple).getArch() != llvm::Triple::x86_64)
    return error(Status::Unsup) << "no code generator for target '" << target.triple << "'";
  TargetInfo baseline = target; // LLVM prints a line of its own about an unknown CPU
  baseline.cpu = "x86-64";
  auto machine = BYCC_TRY(te::makeTargetMachine(baseline, 2)); // registers the target
  const llvm::MCSubtargetInfo &base = *machine->getMCSubtargetInfo();
  if (!base.isCPUStringValid(target.cpu)) {
    std::vector<std::string> names;
    for (const auto &known : base.getAllProcessorDescriptions())
      names.push_back(known.Key);
    auto near = nearest(target.cpu, names);
    auto failure = error(Status::Usage) << "unknown CPU '" << escaped(target.cpu) << "'";
    if (near)
      return std::move(failure).note("did you mean '" + *near + "'?");
    return failure;
  }
  std::string features;
  if (isNative)
    for (const auto &feature : llvm::sys::getHostCPUFeatures())
      features += (features.empty() ? "" : ",") + std::string(feature.second ? "+" : "-") + feature.first().str();
  for (const std::string &text : split(attrs, ',')) {
    if (text.empty())
      continue;
    std::string plain = text[0] == '+' || text[0] == '-' ? text.substr(1) : text;
    std::vector<std::string> names;
    for (const auto &known : base.getAllProcessorFeatures())
      names.push_back(known.Key);
    if (std::find(names.begin(), names.end(), plain) == names.end()) {
      auto failure = error(Status::Usage) << "unknown feature '" << escaped(plain) << "'";
      if (auto near = nearest(plain, names))
        return std::move(failure).note("did you mean '" + *near + "'?");
      return failure;
    }
    features += (features.empty() ? "" : ",") + (text[0] == '-' ? text : "+" + plain);
  }
  const llvm::Target *found = &machine->getTarget();
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(found->createMCSubtargetInfo(target.triple, target.cpu, features));
  for (const char *feature : shapingFeatures)
    if (subtarget->checkFeatures(std::string("+") + feature))
      target.features.push_back(feature);
  std::sort(target.features.begin(), target.features.end());
  bool wide = target.has("avx512f") && target.has("avx512vl") && target.has("avx512bw") && target.has("avx512dq");
  target.vectorBits = wide ? 512 : target.has("avx2") ? 256 : 128;
  target.numVectorRegisters = wide ? 32 : 16;
  target.l1Bytes = wide ? 48 << 10 : 32 << 10;
  target.l2Bytes = wide ? 1 << 20 : 512 << 10;
  return target;
}

} // namespace bycc
