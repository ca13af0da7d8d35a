// Rows of the pass table by name, and the rows of Passes.def.

#include "bycc/Transforms/PassRegistry.h"

#include "bycc/Support/Messages.h"
#include "bycc/Support/Text.h"
#include "bycc/Transforms/Passes.h"

#include <algorithm>

namespace bycc {
namespace {

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> result = split(text, ' ');
  std::erase(result, "");
  return result;
}

} // namespace

void PassRegistry::add(PassInfo info) {
  if (auto it = byName_.find(info.name); it != byName_.end()) {
    *it->second = std::move(info);
    return;
  }
  passes_.push_back(std::move(info));
  byName_.emplace(passes_.back().name, &passes_.back());
}

void PassRegistry::add(std::string_view name, int level, std::string_view needs,
                       std::string_view makes, std::string_view options,
                       std::string_view description, PassFn run) {
  PassInfo info;
  info.name = name;
  info.level = level;
  info.needs = words(needs);
  info.makes = words(makes);
  info.options = words(options);
  info.takesOperators = std::ranges::find(info.options, "[operator]") != info.options.end();
  for (std::string &option : info.options)
    if (option.starts_with('<'))
      info.operand = option = option.substr(1, option.size() - 2);
  info.description = description;
  info.run = std::move(run);
  add(std::move(info));
}

const PassInfo *PassRegistry::find(std::string_view name) const {
  auto it = byName_.find(std::string(name));
  return it == byName_.end() ? nullptr : it->second;
}

Expected<const PassInfo *> PassRegistry::get(std::string_view name) const {
  if (const PassInfo *info = find(name))
    return info;
  std::vector<std::string> names;
  for (const PassInfo *info : all())
    names.push_back(info->name);
  auto close = nearest(name, names);
  auto builder = error(Status::Usage).as(MessageId::UnknownPass)
                 << "no pass '" << escaped(name) << "'";
  if (close)
    return std::move(builder).note("did you mean '" + *close + "'?");
  return std::move(builder).note("--list-passes lists them");
}

std::vector<const PassInfo *> PassRegistry::all() const {
  std::vector<const PassInfo *> result;
  for (const PassInfo &info : passes_)
    result.push_back(&info);
  std::ranges::sort(result, {}, &PassInfo::name);
  return result;
}

const PassInfo *PassRegistry::makerOf(std::string_view fact) const {
  for (const PassInfo *info : all())
    if (std::ranges::find(info->makes, fact) != info->makes.end())
      return info;
  return nullptr;
}

void registerTransforms(PassRegistry &registry) {
#define BYCC_PASS(function, name, level, needs, makes, options, description)                       \
  registry.add(name, level, needs, makes, options, description, function);
#include "bycc/Transforms/Passes.def"
#undef BYCC_PASS
}

} // namespace bycc
