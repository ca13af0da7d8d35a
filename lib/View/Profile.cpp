// Events of a Chrome trace tell what they ran by the names of nodes, a list with commas in
// `args.source`; a region's event has its symbol as its name.

#include "bycc/Support/Json.h"
#include "bycc/Support/Text.h"
#include "bycc/View/ViewDocument.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace bycc {
namespace {

class ProfileReader {
public:
  ProfileReader(ViewDocument &document, const std::string &file) : doc_(document), file_(file) {
    for (uint32_t row = 0; row < doc_.report.nodes.size(); ++row)
      rowsOf_[doc_.report.nodes[row].name].push_back(row);
    for (const OffloadFunction &region : doc_.report.functions)
      regions_.insert(region.symbol);
  }

  Expected<> read(const JsonValue &root) {
    const JsonValue *events = root.find("traceEvents");
    if (!events || !events->isArray())
      return (fail(root) << "this is no trace: 'traceEvents' is missing")
          .note("bycc-run net.json --profile=trace.json writes one");
    size_t numKnown = 0;
    for (const JsonValue &event : events->items) {
      const JsonValue *phase = event.find("ph");
      if (!phase || phase->string != "X")
        continue;
      ViewTiming timing = BYCC_TRY(readEvent(event));
      numKnown += !timing.rows.empty() || !timing.region.empty();
      doc_.timings.push_back(std::move(timing));
    }
    if (numKnown == 0)
      return fail(*events) << "no event is of a node or region of " << escaped(doc_.title)
                           << ": it is the trace of another model";
    return {};
  }

private:
  ErrorBuilder fail(const JsonValue &value) const {
    return error(Status::Input, location(value, file_));
  }

  static std::string textOf(const JsonValue *object, const char *key) {
    const JsonValue *value = object ? object->find(key) : nullptr;
    return value && value->isString() ? value->string : std::string();
  }

  Expected<ViewTiming> readEvent(const JsonValue &event) {
    const JsonValue *duration = event.find("dur"), *arguments = event.find("args");
    if (!duration || !duration->isNumber())
      return fail(event) << "a complete event needs 'dur', a number of microseconds";
    ViewTiming timing;
    timing.name = textOf(&event, "name");
    timing.detail = textOf(arguments, "detail");
    timing.us = duration->number;
    timing.isStep = textOf(&event, "cat") == "step";
    timing.rows = rowsOf(textOf(arguments, "source"));
    if (!timing.isStep && regions_.contains(timing.name))
      timing.region = timing.name;
    else if (timing.isStep && !timing.rows.empty())
      timing.region = doc_.report.nodes[timing.rows[0]].region;
    return timing;
  }

  // Names may have commas themselves: the longest that is one counts.
  std::vector<uint32_t> rowsOf(const std::string &list) const {
    std::vector<uint32_t> rows;
    std::vector<std::string> parts = split(list, ',');
    for (size_t i = 0; i < parts.size();) {
      size_t end = i + 1;
      for (size_t last = std::min(parts.size(), i + 8); last > i; --last)
        if (auto found = rowsOf_.find(join(std::span(parts).subspan(i, last - i), ","));
            found != rowsOf_.end()) {
          rows.insert(rows.end(), found->second.begin(), found->second.end());
          end = last;
          break;
        }
      i = end;
    }
    std::ranges::sort(rows);
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    return rows;
  }

  ViewDocument &doc_;
  const std::string &file_;
  std::unordered_map<std::string, std::vector<uint32_t>> rowsOf_; // by name
  std::unordered_set<std::string> regions_;
};

} // namespace

Expected<> addProfile(ViewDocument &document, std::string_view trace, const std::string &file) {
  JsonValue root = BYCC_TRY(parseJson(trace, file));
  return ProfileReader(document, file).read(root);
}

} // namespace bycc
