// Pass lists: text, edits, and the check of what each pass needs. The grammar:
//
//   list    := element (',' element)*
//   element := 'default<O' digit '>' | NAME [ '{' piece ((','|';') piece)* '}' ]
//   piece   := KEY '=' VALUE | VALUE
//
// A piece without '=' continues the value of the piece before it; the first one is a
// switch, or the value of the pass's operand: pipe{./mypass.py}.

#include "bycc/Transforms/Pipeline.h"

#include "bycc/IR/Visitor.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <map>
#include <set>

namespace bycc {
namespace {

constexpr size_t maxEntries = 10000;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\n";
  size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

// The elements between commas that are not inside braces.
Expected<std::vector<std::string_view>> splitElements(std::string_view text) {
  std::vector<std::string_view> elements;
  size_t begin = 0;
  bool inBraces = false;
  for (size_t i = 0; i <= text.size(); ++i) {
    char c = i < text.size() ? text[i] : ',';
    if (c == '{' && inBraces)
      return error(Status::Usage).as(MessageId::PassList) << "pass list: '{' inside braces";
    if (c == '}' && !inBraces)
      return error(Status::Usage).as(MessageId::PassList) << "pass list: '}' without '{'";
    if (i == text.size() && inBraces)
      return error(Status::Usage).as(MessageId::PassList) << "pass list: '{' is not closed";
    if (c == '{' || c == '}')
      inBraces = c == '{';
    if (c != ',' || inBraces)
      continue;
    std::string_view element = trimmed(text.substr(begin, i - begin));
    if (element.empty())
      return error(Status::Usage).as(MessageId::PassList)
             << "pass list: a pass name is missing between commas";
    elements.push_back(element);
    begin = i + 1;
  }
  return elements;
}

Expected<> setOption(PipelineEntry &entry, const PassInfo &pass, std::string_view key,
                     std::string_view value) {
  if (!pass.takesOperators && std::ranges::find(pass.options, key) == pass.options.end()) {
    auto builder = error(Status::Usage).as(MessageId::PassOption)
                   << "pass '" << pass.name << "' has no option '" << escaped(key) << "'";
    if (auto close = nearest(key, pass.options))
      return std::move(builder).note("did you mean '" + *close + "'?");
    return std::move(builder).note(pass.options.empty() ? "it takes none"
                                                        : "it takes " + join(pass.options, ", "));
  }
  if (!entry.options.emplace(std::string(key), std::string(value)).second)
    return error(Status::Usage) << "pass '" << pass.name << "': option '" << key
                                << "' is given twice";
  return {};
}

Expected<> parseOptions(PipelineEntry &entry, const PassInfo &pass, std::string_view text) {
  std::string last;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] != ',' && text[i] != ';')
      continue;
    std::string_view piece = trimmed(text.substr(begin, i - begin));
    begin = i + 1;
    size_t equals = piece.find('=');
    if (piece.empty() && text.empty())
      return {};
    if (equals != std::string_view::npos) {
      last = trimmed(piece.substr(0, equals));
      BYCC_TRY(setOption(entry, pass, last, trimmed(piece.substr(equals + 1))));
    } else if (!last.empty()) {
      (entry.options[last] += ',') += piece;
    } else if (!pass.operand.empty()) {
      last = pass.operand;
      BYCC_TRY(setOption(entry, pass, last, piece));
    } else {
      last = piece;
      BYCC_TRY(setOption(entry, pass, piece, ""));
    }
  }
  return {};
}

Expected<PipelineEntry> parseEntry(std::string_view text, const PassRegistry &registry) {
  PipelineEntry entry;
  size_t brace = text.find('{');
  entry.pass = trimmed(text.substr(0, brace));
  const PassInfo *pass = BYCC_TRY(registry.get(entry.pass));
  if (brace == std::string_view::npos)
    return entry;
  if (text.find('}') == std::string_view::npos)
    return error(Status::Usage).as(MessageId::PassList)
           << "pass list: '{' of '" << entry.pass << "' is not closed";
  if (text.back() != '}')
    return error(Status::Usage).as(MessageId::PassList)
           << "pass list: text after '}' of '" << entry.pass << "'";
  BYCC_TRY(parseOptions(entry, *pass, text.substr(brace + 1, text.size() - brace - 2)));
  return entry;
}

// 2 for "default<O2>", nullopt for what does not look like it.
std::optional<int> defaultLevel(std::string_view text) {
  if (text.size() != 11 || !text.starts_with("default<O") || text[10] != '>' || text[9] < '0' ||
      text[9] > '3')
    return std::nullopt;
  return text[9] - '0';
}

size_t positionOf(const Pipeline &pipeline, std::string_view pass) {
  return static_cast<size_t>(std::ranges::find(pipeline, pass, &PipelineEntry::pass) -
                             pipeline.begin());
}

// First place at or after which `pass` may stand with regard to `reference`:
// behind the last of its predecessors there that the list has.
size_t placeLike(const Pipeline &pipeline, const Pipeline &reference, const PipelineEntry &wanted) {
  size_t there = positionOf(reference, wanted.pass);
  size_t place = 0;
  for (size_t i = 0; i < there; ++i) {
    size_t at = positionOf(pipeline, reference[i].pass);
    if (at < pipeline.size())
      place = std::max(place, at + 1);
  }
  return place;
}

// The last place where every fact check still holds; the end when none does.
size_t lastLegalPlace(const Pipeline &pipeline, const PipelineEntry &entry,
                      const PassRegistry &registry) {
  for (size_t place = pipeline.size() + 1; place-- > 0;) {
    Pipeline tried = pipeline;
    tried.insert(tried.begin() + static_cast<long>(place), entry);
    if (checkPipeline(tried, registry))
      return place;
  }
  return pipeline.size();
}

Expected<> insertAround(Pipeline &pipeline, const std::pair<std::string, std::string> &edit,
                        const PassRegistry &registry, bool isAfter) {
  BYCC_TRY(registry.get(edit.first));
  PipelineEntry entry = BYCC_TRY(parseEntry(edit.second, registry));
  if (positionOf(pipeline, edit.first) == pipeline.size())
    return error(Status::Usage) << "pass '" << edit.first << "' is not in the pass list, so '"
                                << entry.pass << "' cannot run " << (isAfter ? "after" : "before")
                                << " it";
  Pipeline result;
  for (PipelineEntry &old : pipeline) {
    bool here = old.pass == edit.first;
    if (here && !isAfter)
      result.push_back(entry);
    result.push_back(std::move(old));
    if (here && isAfter)
      result.push_back(entry);
  }
  pipeline = std::move(result);
  return {};
}

} // namespace

Expected<Pipeline> parsePipeline(std::string_view text, const PassRegistry &registry,
                                 const DefaultPipelineFn &defaults) {
  Pipeline pipeline;
  if (trimmed(text).empty())
    return pipeline;
  for (std::string_view element : BYCC_TRY(splitElements(text))) {
    if (auto level = defaultLevel(element); level && defaults) {
      Pipeline list = defaults(*level);
      pipeline.insert(pipeline.end(), list.begin(), list.end());
    } else if (element.starts_with("default<")) {
      return error(Status::Usage).as(MessageId::PassList)
             << "pass list: '" << escaped(element) << "' is not one of default<O0> .. default<O3>";
    } else {
      pipeline.push_back(BYCC_TRY(parseEntry(element, registry)));
    }
    if (pipeline.size() > maxEntries)
      return error(Status::Usage) << "pass list: more than " << maxEntries << " passes";
  }
  return pipeline;
}

std::string printPipeline(const Pipeline &pipeline) {
  std::string text;
  for (const PipelineEntry &entry : pipeline) {
    text += (text.empty() ? "" : ",") + entry.pass;
    std::string options;
    for (const auto &[key, value] : entry.options)
      options += (options.empty() ? "" : ",") + key + (value.empty() ? "" : "=" + value);
    if (!options.empty())
      text += "{" + options + "}";
  }
  return text;
}

Expected<Pipeline> editPipeline(Pipeline pipeline, const PipelineEdits &edits,
                                const Pipeline &reference, const PassRegistry &registry) {
  for (const std::string &text : edits.require) {
    PipelineEntry entry = BYCC_TRY(parseEntry(text, registry));
    if (positionOf(pipeline, entry.pass) < pipeline.size())
      continue;
    size_t there = positionOf(reference, entry.pass);
    if (there < reference.size() && entry.options.empty())
      entry.options = reference[there].options;
    size_t place = there < reference.size() ? placeLike(pipeline, reference, entry)
                                            : lastLegalPlace(pipeline, entry, registry);
    pipeline.insert(pipeline.begin() + static_cast<long>(place), std::move(entry));
  }
  for (const auto &edit : edits.runBefore)
    BYCC_TRY(insertAround(pipeline, edit, registry, false));
  for (const auto &edit : edits.runAfter)
    BYCC_TRY(insertAround(pipeline, edit, registry, true));
  for (const std::string &name : edits.disable) {
    BYCC_TRY(registry.get(name));
    std::erase_if(pipeline, [&](const PipelineEntry &entry) { return entry.pass == name; });
  }
  return pipeline;
}

Expected<> checkPipeline(const Pipeline &pipeline, const PassRegistry &registry,
                         std::span<const std::string> facts) {
  std::set<std::string> known(facts.begin(), facts.end());
  std::map<std::string, std::string> makers; // of facts, among the passes so far
  for (const PipelineEntry &entry : pipeline) {
    const PassInfo *pass = BYCC_TRY(registry.get(entry.pass));
    for (const std::string &need : pass->needs) {
      bool mustNot = need.starts_with("!");
      std::vector<std::string> facts = split(mustNot ? need.substr(1) : need, '|');
      auto isKnown = [&](const std::string &fact) { return known.contains(fact); };
      if (std::ranges::any_of(facts, isKnown) != mustNot)
        continue;
      const std::string &fact = facts[0];
      const PassInfo *maker = registry.makerOf(fact);
      std::string makerName = maker ? maker->name : fact;
      if (auto ran = makers.find(fact); ran != makers.end())
        makerName = ran->second;
      if (mustNot)
        return error(Status::Usage).as(MessageId::PassOrder)
               << "pass '" << pass->name << "' cannot run after '" << makerName << "', which makes "
               << fact;
      return (error(Status::Usage).as(MessageId::PassOrder)
              << "pass '" << pass->name << "' needs " << fact << ", which '" << makerName
              << "' makes")
          .note("put '" + makerName + "' before it");
    }
    for (const std::string &fact : pass->makes)
      if (fact.starts_with("!"))
        known.erase(fact.substr(1));
      else
        known.insert(fact), makers[fact] = pass->name;
  }
  return {};
}

std::vector<std::string> factsOf(const Module &module) {
  std::set<std::string> facts;
  auto note = [&](FunctionId function) {
    if (module.functionAttr(function, "Compiler"))
      facts.insert(module.functionAttr(function, "global_symbol") ? "external-functions"
                                                                  : "hand-annotations");
    else if (module.functionAttr(function, "Composite"))
      facts.insert("composites");
    else if (module.functionAttr(function, "Primitive"))
      facts.insert("kernels");
  };
  for (FunctionId function : module.globals()) {
    note(function);
    if (module.functionAttr(function, "Compiler"))
      continue; // what is inside belongs to its vendor
    forEachNode(module, module.function(function).body, [&](NodeId node) {
      if (module.node(node).kind == NodeKind::Function)
        note(module.functionOf(node));
      if (isCallWith(module, node, OpTrait::Bracket))
        facts.insert("hand-annotations");
      if (const Annotation *annotation = module.annotation(node)) {
        facts.insert("annotations");
        if (annotation->region >= 0)
          facts.insert("regions");
      }
    });
  }
  // What is written by hand still has to become regions and functions.
  if (facts.contains("hand-annotations"))
    facts.erase("external-functions");
  return {facts.begin(), facts.end()};
}

} // namespace bycc
