// The page: page/view.html with style, scripts and data put in. The data is columns of
// numbers with every text once; what it means stands beside each part here, and page/data.js
// reads it.

#include "ViewTree.h"
#include "bycc/Support/Json.h"
#include "bycc/View/ViewDocument.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

extern "C" const char page_view_html[], page_view_css[], page_data_js[], page_layout_js[],
    page_draw_js[], page_panes_js[], page_main_js[]; // lib/View/page

namespace bycc {
namespace {

class DataWriter {
public:
  explicit DataWriter(const ViewDocument &document)
      : doc_(document), report_(document.report), tree_(makeViewTree(document)) {}

  std::string run() {
    json_.beginObject();
    writeHead();
    writeTypes();
    writeOperatorColumns();
    writeEdges();
    writeBoxes();
    writeRegions();
    writeTotals();
    writePrices();
    writePasses();
    writeArena();
    writeTimings();
    json_.key("strings").beginArray();
    for (const std::string *text : strings_)
      json_.value(*text);
    json_.endArray().endObject();
    return json_.take();
  }

private:
  int64_t string(const std::string &text) {
    auto [found, isNew] = numbers_.try_emplace(text, static_cast<int64_t>(strings_.size()));
    if (isNew)
      strings_.push_back(&found->first);
    return found->second;
  }
  int64_t stringOrNone(const std::string &text) { return text.empty() ? -1 : string(text); }

  // 3 instead of 3.0.
  void number(double value) {
    bool isWhole = std::abs(value) < 9e15 && value == std::floor(value);
    isWhole ? json_.value(static_cast<int64_t>(value)) : json_.value(value);
  }

  void named(const char *key, double value) {
    json_.key(key);
    number(value);
  }

  template <typename List, typename Write>
  void column(const char *key, const List &list, Write write) {
    json_.key(key).beginArray();
    for (const auto &item : list)
      write(item);
    json_.endArray();
  }
  template <typename Write> void rows(const char *key, Write write) {
    json_.key(key).beginArray();
    for (uint32_t row = 0; row < report_.nodes.size(); ++row)
      write(row);
    json_.endArray();
  }
  void texts(const char *key, const std::vector<std::string> &list) {
    column(key, list, [&](const std::string &text) { json_.value(text); });
  }
  void tensors(const char *key, const std::vector<std::pair<std::string, std::string>> &list) {
    column(key, list, [&](const auto &tensor) {
      json_.beginArray().value(tensor.first).value(tensor.second).endArray();
    });
  }

  void writeHead() {
    json_.key("title").value(doc_.title).key("version").value(doc_.version);
    json_.key("triple").value(doc_.triple).key("cpu").value(doc_.cpu);
    json_.key("isArtefact").value(doc_.isArtefact);
    texts("flags", doc_.flags);
    tensors("inputs", doc_.inputs);
    tensors("outputs", doc_.outputs);
  }

  void writeTypes() {
    column("types", doc_.graph.types,
           [&](const OperatorGraph::Type &type) { json_.value(string(type.text)); });
    column("typeBytes", doc_.graph.types,
           [&](const OperatorGraph::Type &type) { json_.value(type.bytes); });
  }

  // By row. `reason` is a set of what vendors said, `kind` the kind of reason that keeps a
  // node on the host; `first`, `turnGroup`, `turn`: where the row is drawn (ViewTree::Turn).
  void writeOperatorColumns() {
    const auto &nodes = report_.nodes;
    std::map<std::string, int64_t> places{{"host", 0}};
    std::vector<std::string> placeNames{"host"};
    for (const OffloadNode &node : nodes)
      if (places.try_emplace(node.placed, static_cast<int64_t>(placeNames.size())).second)
        placeNames.push_back(node.placed);
    std::unordered_map<std::string, int64_t> regions;
    for (const OffloadFunction &function : report_.functions)
      regions.try_emplace(function.symbol, static_cast<int64_t>(regions.size()));
    texts("places", placeNames);
    json_.key("ops").beginObject();
    rows("name", [&](uint32_t row) { json_.value(string(nodes[row].name)); });
    rows("op", [&](uint32_t row) { json_.value(string(nodes[row].op)); });
    rows("source", [&](uint32_t row) { json_.value(stringOrNone(nodes[row].source)); });
    rows("place", [&](uint32_t row) { json_.value(places[nodes[row].placed]); });
    rows("region", [&](uint32_t row) {
      json_.value(nodes[row].region.empty() ? -1 : regions[nodes[row].region]);
    });
    rows("composite", [&](uint32_t row) { json_.value(stringOrNone(nodes[row].composite)); });
    rows("unit", [&](uint32_t row) { json_.value(nodes[row].unit); });
    rows("type", [&](uint32_t row) { json_.value(doc_.graph.rows[row].type); });
    rows("attributes",
         [&](uint32_t row) { json_.value(stringOrNone(doc_.graph.rows[row].attributes)); });
    rows("symbol", [&](uint32_t row) { json_.value(stringOrNone(doc_.graph.rows[row].symbol)); });
    rows("flops", [&](uint32_t row) { number(nodes[row].flops); });
    rows("estimate", [&](uint32_t row) { number(nodes[row].estimateUs.value_or(-1)); });
    rows("first", [&](uint32_t row) { json_.value(tree_.turnOf[row].first); });
    rows("turnGroup", [&](uint32_t row) { json_.value(tree_.turnOf[row].group); });
    rows("turn", [&](uint32_t row) { json_.value(tree_.turnOf[row].turn); });
    std::vector<std::vector<int64_t>> sets;
    std::map<std::vector<int64_t>, int64_t> setNumbers;
    rows("reason", [&](uint32_t row) {
      std::vector<int64_t> set = reasonSet(nodes[row]);
      auto [found, isNew] = setNumbers.try_emplace(set, static_cast<int64_t>(sets.size()));
      if (isNew)
        sets.push_back(std::move(set));
      json_.value(found->second);
    });
    writeKinds();
    json_.endObject();
    column("reasonSets", sets, [&](const std::vector<int64_t> &set) {
      json_.beginArray();
      for (int64_t part : set)
        json_.value(part);
      json_.endArray();
    });
    texts("reasonKinds", kindTexts_);
  }

  // Threes: vendor, 0 has it, 1 would take it, 2 refuses; why (or -1).
  std::vector<int64_t> reasonSet(const OffloadNode &node) {
    std::vector<int64_t> set;
    for (const std::string &vendor : node.accepted)
      if (vendor == node.placed)
        set.insert(set.end(), {string(vendor), 0, -1});
    for (const auto &[vendor, why] : node.why)
      set.insert(set.end(), {string(vendor), 1, stringOrNone(why)});
    for (const auto &[vendor, why] : node.refused)
      set.insert(set.end(), {string(vendor), 2, stringOrNone(why)});
    return set;
  }

  // The most frequent first.
  void writeKinds() {
    std::map<std::string, int64_t> counts;
    for (const OffloadNode &node : report_.nodes)
      if (node.placed == "host")
        if (std::string reason = hostReason(node); !reason.empty())
          ++counts[reasonKind(reason)];
    std::vector<std::pair<int64_t, std::string>> order;
    for (const auto &[kind, count] : counts)
      order.emplace_back(-count, kind);
    std::ranges::sort(order);
    std::map<std::string, int64_t> numbers;
    for (const auto &[count, kind] : order) {
      numbers[kind] = static_cast<int64_t>(kindTexts_.size());
      kindTexts_.push_back(kind);
    }
    rows("kind", [&](uint32_t row) {
      std::string reason =
          report_.nodes[row].placed == "host" ? hostReason(report_.nodes[row]) : "";
      json_.value(reason.empty() ? -1 : numbers[reasonKind(reason)]);
    });
  }

  // What each row reads: threes of kind, row or input, type.
  void writeEdges() {
    json_.key("edges").beginObject();
    rows("count", [&](uint32_t row) {
      json_.value(static_cast<uint64_t>(doc_.graph.rows[row].inputs.size()));
    });
    json_.key("flat").beginArray();
    for (const OperatorGraph::Row &row : doc_.graph.rows)
      for (const OperatorInput &input : row.inputs)
        json_.value(static_cast<uint32_t>(input.kind)).value(input.index).value(input.type);
    json_.endArray().endObject();
  }

  void writeBoxes() {
    json_.key("units").beginArray(); // threes: first row, rows, group
    for (const ViewTree::Unit &unit : tree_.units)
      json_.value(unit.firstRow).value(unit.rows).value(unit.group);
    json_.endArray();
    column("unitTitles", tree_.units,
           [&](const ViewTree::Unit &unit) { json_.value(string(unitTitle(doc_, unit))); });
    column("groups", tree_.groups, [&](const ViewTree::Group &group) { writeGroup(group); });
  }

  void writeGroup(const ViewTree::Group &group) {
    json_.beginObject();
    json_.key("kind").value(static_cast<uint32_t>(group.kind)).key("parent").value(group.parent);
    json_.key("region").value(group.region).key("turns").value(group.turns);
    json_.key("rows").value(group.rows);
    json_.key("children").beginArray(); // threes: kind, index, 1 reads outside + 2 is read there
    for (const ViewTree::Child &child : group.children)
      json_.value(static_cast<uint32_t>(child.kind))
          .value(child.index)
          .value(child.readsOutside + 2 * child.isReadOutside);
    json_.endArray().key("edges").beginArray(); // fives; flags: 1 crosses, 2 some sizes unknown
    for (const ViewTree::Edge &edge : group.edges)
      json_.value(edge.from)
          .value(edge.to)
          .value(edge.bytes)
          .value(edge.tensors)
          .value(edge.crosses + 2 * edge.hasRunTimeSizes);
    json_.endArray();
    column("width", group.boxes.nodes,
           [&](const LayoutGraph::Node &box) { json_.value(std::lround(box.width)); });
    column("layer", group.layout.layer, [&](uint32_t layer) { json_.value(layer); });
    column("x", group.layout.x, [&](double x) { json_.value(std::lround(x)); });
    column("chainLength", group.layout.chain,
           [&](const auto &chain) { json_.value(static_cast<uint64_t>(chain.size())); });
    json_.key("chain").beginArray();
    for (const std::vector<double> &chain : group.layout.chain)
      for (double x : chain)
        json_.value(std::lround(x));
    json_.endArray();
    column("columns", group.layout.columns, [&](uint32_t layer) { json_.value(layer); });
    json_.key("layers").value(group.layout.numLayers).endObject();
  }

  void writeRegions() {
    column("regions", report_.functions, [&](const OffloadFunction &region) {
      json_.beginObject().key("symbol").value(region.symbol).key("vendor").value(region.compiler);
      named("flops", region.flops);
      json_.key("bytes").value(region.boundaryBytes).key("tensors").value(region.boundaryTensors);
      json_.key("calls")
          .value(region.calls)
          .key("hasRunTimeSizes")
          .value(region.hasRunTimeSizes)
          .endObject();
    });
  }

  void writePart(const std::string &name, const OffloadTotals &totals) {
    json_.beginObject()
        .key("name")
        .value(name)
        .key("title")
        .value(report_.titleOf(name))
        .key("regions")
        .value(totals.regions);
    json_.key("ops").value(totals.offloadedOps);
    named("flops", totals.offloadedFlops);
    json_.key("bytes").value(totals.boundaryBytes).endObject();
  }

  void writeTotals() {
    const OffloadTotals &totals = report_.totals;
    json_.key("totals").beginObject();
    json_.key("regions")
        .value(totals.regions)
        .key("ops")
        .value(totals.ops)
        .key("offloadedOps")
        .value(totals.offloadedOps);
    named("flops", totals.flops);
    named("offloadedFlops", totals.offloadedFlops);
    json_.key("bytes")
        .value(totals.boundaryBytes)
        .key("hasRunTimeSizes")
        .value(totals.hasRunTimeSizes);
    if (report_.estimate) {
      json_.key("estimate");
      writeEstimate(json_, *report_.estimate);
    }
    if (!report_.open.empty()) {
      json_.key("likely");
      writeLikely(json_, report_.open);
    }
    json_.endObject();
    column("vendors", report_.vendorParts(),
           [&](const auto &part) { writePart(part.first, part.second); });
    column("returned", report_.returned, [&](const ReturnedRegion &region) {
      json_.beginArray().value(region.vendor).value(region.why).value(region.ops).endArray();
    });
    column("apart", report_.apart, [&](const OffloadApart &pair) {
      json_.beginArray().value(pair.first).value(pair.second).value(pair.why).endArray();
    });
    column("idle", report_.idle, [&](const auto &vendor) {
      json_.beginArray().value(vendor.first).value(vendor.second).endArray();
    });
  }

  void writePrices() {
    json_.key("noPrices").value(doc_.noPrices).key("prices");
    if (doc_.prices)
      bycc::writePrices(json_, *doc_.prices);
    else
      json_.null();
  }

  void writePasses() {
    column("passes", doc_.passes, [&](const ViewPass &pass) {
      json_.beginArray().value(pass.name).value(pass.changed);
      if (pass.seconds)
        json_.value(*pass.seconds);
      json_.endArray();
    });
  }

  void writeArena() {
    json_.key("noArena").value(doc_.noArena).key("arena");
    if (!doc_.arena) {
      json_.null();
      return;
    }
    json_.beginObject().key("bytes").value(doc_.arena->bytes);
    column("steps", doc_.arena->steps,
           [&](const std::string &step) { json_.value(stringOrNone(step)); });
    json_.key("buffers").beginArray(); // fives: name, offset, bytes, first and last step
    for (const ViewArena::Buffer &buffer : doc_.arena->buffers)
      json_.value(stringOrNone(buffer.name))
          .value(buffer.offset)
          .value(buffer.bytes)
          .value(buffer.first)
          .value(buffer.last);
    json_.endArray().endObject();
  }

  void writeTimings() {
    column("timings", doc_.timings, [&](const ViewTiming &timing) {
      json_.beginObject().key("name").value(timing.name).key("detail").value(timing.detail);
      json_.key("us")
          .value(timing.us)
          .key("region")
          .value(timing.region)
          .key("isStep")
          .value(timing.isStep);
      column("rows", timing.rows, [&](uint32_t row) { json_.value(row); });
      json_.endObject();
    });
  }

  const ViewDocument &doc_;
  const OffloadReport &report_;
  ViewTree tree_;
  JsonWriter json_;
  std::unordered_map<std::string, int64_t> numbers_;
  std::vector<const std::string *> strings_;
  std::vector<std::string> kindTexts_;
};

// Inside a script element: nothing in it may end the element or begin a comment.
std::string forScript(const std::string &json) {
  std::string out;
  out.reserve(json.size());
  for (char c : json)
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  return out;
}

std::string forText(const std::string &text) {
  std::string out;
  for (char c : text)
    out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

// The page with each @NAME@ replaced.
std::string filled(std::string_view page, const std::map<std::string_view, std::string> &parts) {
  std::string out;
  for (size_t at = 0; at < page.size();) {
    size_t begin = page.find('@', at),
           end = begin == page.npos ? page.npos : page.find('@', begin + 1);
    auto part =
        end == page.npos ? parts.end() : parts.find(page.substr(begin + 1, end - begin - 1));
    if (begin == page.npos)
      return out.append(page.substr(at));
    out.append(page.substr(at, begin - at));
    out += part == parts.end() ? "@" : part->second;
    at = part == parts.end() ? begin + 1 : end + 1;
  }
  return out;
}

} // namespace

std::string viewPage(const ViewDocument &document) {
  std::string script;
  for (const char *part : {page_data_js, page_layout_js, page_draw_js, page_panes_js, page_main_js})
    script += part;
  return filled(page_view_html, {{"TITLE", forText(document.title)},
                                 {"STYLE", page_view_css},
                                 {"SCRIPT", script},
                                 {"DATA", forScript(DataWriter(document).run())}});
}

} // namespace bycc
