// The only place that looks at the build machine, and only for -mcpu=native.
#include "bycc/CodeGen/HostTarget.h"

#include "Object.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Text.h"

#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <map>
#include <string_view>

namespace bycc {
namespace {

// What code is made with, and what a machine must have to run it: the instruction sets
// that LLVM, our own kernels or vendors choose by themselves. Every name must be one
// that the runtime can check (Runtime/CpuFeatures.cpp). LLVM is told of no other: the
// CPU's name only tunes.
const char *const knownFeatures[] = {"amx-bf16",
                                     "amx-int8",
                                     "amx-tile",
                                     "avx",
                                     "avx2",
                                     "avx512bf16",
                                     "avx512bitalg",
                                     "avx512bw",
                                     "avx512cd",
                                     "avx512dq",
                                     "avx512f",
                                     "avx512fp16",
                                     "avx512vbmi",
                                     "avx512vbmi2",
                                     "avx512vl",
                                     "avx512vnni",
                                     "avx512vpopcntdq",
                                     "avxneconvert",
                                     "avxvnni",
                                     "bmi",
                                     "bmi2",
                                     "f16c",
                                     "fma",
                                     "fma4",
                                     "gfni",
                                     "lzcnt",
                                     "movbe",
                                     "popcnt",
                                     "sse3",
                                     "sse4.1",
                                     "sse4.2",
                                     "sse4a",
                                     "ssse3",
                                     "tbm",
                                     "xop"};

// AVX-512 is one set to us; with a part of it (Knights Landing) code is that of AVX2.
const char *const wideFeatures[] = {"avx512bw", "avx512dq", "avx512f", "avx512vl"};

template <size_t count> std::vector<std::string> listOf(const char *const (&names)[count]) {
  return {names, names + count};
}

bool isKnown(const std::string &feature) {
  return std::ranges::find(knownFeatures, feature) != std::end(knownFeatures);
}

Error unknownFeature(const std::string &feature) {
  auto failure = error(Status::Usage).as(MessageId::UnknownCpu)
                 << "unknown feature '" << escaped(feature) << "'";
  if (auto near = nearest(feature, listOf(knownFeatures)))
    return std::move(failure).note("did you mean '" + *near + "'?");
  return std::move(failure).note("features: " + join(listOf(knownFeatures), ", "));
}

// -mattr: +NAME, -NAME or NAME, by commas.
Expected<std::string> readAttributes(const std::string &attrs) {
  std::string features;
  for (const std::string &text : split(attrs, ',')) {
    if (text.empty())
      continue;
    bool isSigned = text[0] == '+' || text[0] == '-';
    std::string plain = text.substr(isSigned);
    if (!isKnown(plain))
      return unknownFeature(plain);
    features += (text[0] == '-' ? ",-" : ",+") + plain;
  }
  return features;
}

// Virtual machines may show the number of an older CPU; what it can do tells more. (LLVM
// calls a Granite Rapids that claims to be model 167 "rocketlake", which has no tiles.)
std::string nativeCpu() {
  return llvm::sys::getHostCPUFeatures().lookup("amx-tile") &&
                 llvm::sys::getHostCPUName() == "rocketlake"
             ? "sapphirerapids"
             : llvm::sys::getHostCPUName().str();
}

// What the user asked for must be in the code.
Expected<> checkAttributes(const std::string &attributes, const TargetInfo &target) {
  std::map<std::string, bool> wanted; // the last one counts
  for (const std::string &text : split(attributes, ','))
    if (!text.empty())
      wanted[text.substr(1)] = text[0] == '+';
  for (const auto &[feature, isOn] : wanted)
    if (isOn && !target.has(feature))
      return (error(Status::Usage) << "-mattr: " << feature << " is not used without all of "
                                   << join(listOf(wideFeatures), ", "))
          .note("-mcpu=x86-64-v4 has them");
  return {};
}

} // namespace

Expected<TargetInfo> resolveTarget(const std::string &triple, const std::string &cpu,
                                   const std::string &attrs) {
  TargetInfo target;
  std::string host = llvm::sys::getDefaultTargetTriple();
  target.triple = triple.empty() ? host : llvm::Triple::normalize(triple);
  bool isNative = cpu == "native";
  if (isNative && llvm::Triple(target.triple).getArch() != llvm::Triple(host).getArch())
    return error(Status::Arg) << "-mcpu=native is not for target '" << target.triple << "'";
  target.cpu = isNative ? nativeCpu() : cpu.empty() ? "x86-64" : cpu;
  if (llvm::Triple(target.triple).getArch() != llvm::Triple::x86_64)
    return error(Status::Unsup).as(MessageId::UnknownCpu)
           << "no code generator for target '" << target.triple << "'";
  TargetInfo baseline = target; // LLVM prints a line of its own about an unknown CPU
  baseline.cpu = "x86-64";
  auto machine = BYCC_TRY(codegen::makeTargetMachine(baseline, 2)); // registers the target
  const llvm::MCSubtargetInfo &base = *machine->getMCSubtargetInfo();
  if (!base.isCPUStringValid(target.cpu)) {
    std::vector<std::string> names;
    for (const auto &known : base.getAllProcessorDescriptions())
      names.push_back(known.Key);
    auto near = nearest(target.cpu, names);
    auto failure = error(Status::Usage).as(MessageId::UnknownCpu)
                   << "unknown CPU '" << escaped(target.cpu) << "'";
    if (near)
      return std::move(failure).note("did you mean '" + *near + "'?");
    return failure;
  }
  std::string features, attributes = BYCC_TRY(readAttributes(attrs));
  if (isNative)
    for (const auto &feature : llvm::sys::getHostCPUFeatures())
      features += (feature.second ? ",+" : ",-") + feature.first().str();
  features += attributes;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      machine->getTarget().createMCSubtargetInfo(target.triple, target.cpu, features));
  auto has = [&](const char *feature) {
    return subtarget->checkFeatures(std::string("+") + feature);
  };
  bool wide = std::ranges::all_of(wideFeatures, has);
  for (const char *feature : knownFeatures)
    if (has(feature) && (wide || !std::string_view(feature).starts_with("avx512")))
      target.features.push_back(feature);
  BYCC_TRY(checkAttributes(attributes, target));
  std::sort(target.features.begin(), target.features.end());
  target.vectorBits = wide ? 512 : target.has("avx2") ? 256 : 128;
  return target;
}

} // namespace bycc
