#include "AskedPasses.h"

#include "bycc/Support/Text.h"

#include <algorithm>

namespace bycc {
namespace {

// Puts who asks in front of what is wrong, and where it is written.
Error blame(Error error, const std::string &who, const SourceLocation &place = {}) {
  for (Diagnostic &diagnostic : error.diagnostics()) {
    diagnostic.message = who + ": " + diagnostic.message;
    if (!place.file.empty())
      diagnostic.location = place;
  }
  return error;
}

Pipeline with(const Pipeline &pipeline, size_t place, const Pipeline &added) {
  Pipeline result = pipeline;
  result.insert(result.begin() + static_cast<long>(place), added.begin(), added.end());
  return result;
}

} // namespace

size_t beginOfPartition(const Pipeline &pipeline) {
  constexpr std::string_view names[] = {"place-nodes", "merge-composite", "annotate-target"};
  auto found = std::ranges::find_if(pipeline, [&](const PipelineEntry &entry) {
    return std::ranges::find(names, entry.pass) != std::end(names);
  });
  return static_cast<size_t>(found - pipeline.begin());
}

bool contains(const Pipeline &pipeline, std::string_view pass) {
  return std::ranges::find(pipeline, pass, &PipelineEntry::pass) != pipeline.end();
}

std::vector<std::string> passesAskedByProgram(const Module &module) {
  std::vector<std::string> passes;
  if (!module.main())
    return passes;
  const AttrValue *list = module.functionAttr(module.main(), "required_passes");
  if (list && list->isList())
    for (const AttrValue &item : list->asList())
      if (item.isString())
        passes.push_back(item.asString());
  return passes;
}

Expected<> addProgramPasses(Pipeline &pipeline, const Module &module, const PassRegistry &registry,
                            const std::vector<std::string> &disabled) {
  std::vector<std::string> facts = factsOf(module);
  for (const std::string &text : passesAskedByProgram(module)) {
    auto asked = parsePipeline(text, registry, {});
    if (!asked)
      return blame(asked.takeError(), "the program asks for a pass");
    for (const PipelineEntry &entry : *asked) {
      if (std::ranges::find(disabled, entry.pass) != disabled.end())
        return error(Status::Usage)
               << "--disable-pass=" << entry.pass << ": the program asks for this pass";
      if (contains(pipeline, entry.pass))
        continue;
      size_t place = 0;
      Expected<> legal;
      while (!(legal = checkPipeline(with(pipeline, place, {entry}), registry, facts)) &&
             place < pipeline.size())
        ++place;
      if (!legal)
        return blame(legal.takeError(), "the program asks for pass '" + entry.pass + "'");
      pipeline = with(pipeline, place, {entry});
    }
  }
  return {};
}

Expected<> addVendorPasses(Pipeline &pipeline, const Module &module, const PassRegistry &registry,
                           const VendorSet &vendors) {
  size_t place = beginOfPartition(pipeline);
  if (place == pipeline.size())
    return {};
  std::vector<std::string> facts = factsOf(module);
  bool hasRewrites = false, hasLayouts = false;
  for (size_t i = 0; i < vendors.size(); ++i) {
    hasRewrites |= !vendors[i].rewrites.empty();
    hasLayouts |= !vendors[i].layouts.empty();
    if (vendors[i].passes.empty())
      continue;
    std::string who =
        "vendor '" + vendors[i].name() + "' asks for passes '" + escaped(vendors[i].passes) + "'";
    auto asked = parsePipeline(vendors[i].passes, registry, {});
    if (!asked)
      return blame(asked.takeError(), who, vendors[i].passesPlace);
    Pipeline longer = with(pipeline, place, *asked);
    if (auto legal = checkPipeline(longer, registry, facts); !legal)
      return blame(legal.takeError(), who, vendors[i].passesPlace);
    pipeline = std::move(longer);
    place += asked->size();
  }
  if (Pipeline longer = with(pipeline, place, {{"convert-layout", {}}});
      hasLayouts && !contains(pipeline, "convert-layout") && checkPipeline(longer, registry, facts))
    pipeline = std::move(longer), ++place;
  Pipeline longer = with(pipeline, place, {{"apply-rewrites", {}}});
  if (hasRewrites && !contains(pipeline, "apply-rewrites") &&
      checkPipeline(longer, registry, facts))
    pipeline = std::move(longer);
  return {};
}

} // namespace bycc
