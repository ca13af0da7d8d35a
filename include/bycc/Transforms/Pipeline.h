// A pass list as data: read from text, edited by name, checked, printed.
//
//   fold-constants,merge-composite{vendor=dnnl},annotate-target{vendors=a,b},default<O2>
//
// Inside braces `key=value` pairs are separated by ',' or ';'; a piece without
// '=' continues the value before it (vendors=a,b), or is a switch when it is first, or the
// operand of a pass that has one (pipe{./mypass.py}).
#pragma once

#include "bycc/Transforms/PassRegistry.h"

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bycc {

struct PipelineEntry {
  std::string pass;
  PassOptions options;
};
using Pipeline = std::vector<PipelineEntry>;

// What `default<OLEVEL>` stands for.
using DefaultPipelineFn = std::function<Pipeline(int level)>;

// Usage errors: unknown pass or option (with the nearest), bad braces.
Expected<Pipeline> parsePipeline(std::string_view text, const PassRegistry &registry,
                                 const DefaultPipelineFn &defaults);
// Text that parses back, without quotes.
std::string printPipeline(const Pipeline &pipeline);

// --disable-pass, --require-pass, --run-before=P:NEW, --run-after=P:NEW.
struct PipelineEdits {
  std::vector<std::string> disable;
  std::vector<std::string> require;
  std::vector<std::pair<std::string, std::string>> runBefore; // P, NEW
  std::vector<std::pair<std::string, std::string>> runAfter;
};
// NEW is a pass with optional braces. A required pass that the default list of a
// higher level has stands where that list has it (`reference`), else before the
// first pass that would then be illegal after it, else last. Disabling wins over
// requiring; disabling a pass that is not in the list changes nothing.
Expected<Pipeline> editPipeline(Pipeline pipeline, const PipelineEdits &edits,
                                const Pipeline &reference, const PassRegistry &registry);

// Usage error naming the missing pass when an entry's needs are not met by what
// holds at the start (`facts`) and what the passes before it make.
Expected<> checkPipeline(const Pipeline &pipeline, const PassRegistry &registry,
                         std::span<const std::string> facts = {});

// Facts of a program as it was read, by which a pass list may start half way:
// "hand-annotations", "annotations", "regions", "composites", "external-functions",
// "kernels".
std::vector<std::string> factsOf(const Module &module);

} // namespace bycc
