// STEM.json back to what it was written from. Who changes it by hand hears where it is
// wrong; nothing is drawn of what does not fit together.

#include "bycc/Support/Json.h"
#include "bycc/Support/Text.h"
#include "bycc/View/ViewDocument.h"

#include <algorithm>
#include <limits>
#include <map>

namespace bycc {
namespace {

class ReportReader {
public:
  ReportReader(const JsonValue &root, const std::string &file) : root_(root), file_(file) {}

  Expected<ViewDocument> read() {
    const JsonValue *bycc = root_.find("bycc");
    if (!bycc || !bycc->isObject() || !root_.find("nodes"))
      return (fail(root_) << "this is no graph JSON of a compiled model")
          .note("bycc writes it beside the object: net.o, net.json");
    bycc_ = bycc;
    const JsonValue *operators = bycc->find("operators");
    if (!operators || !operators->isObject())
      return (fail(*bycc) << "this graph JSON has no 'operators': another version of bycc wrote it")
          .note("compile the model again, or give --emit=html");
    doc_.isArtefact = true;
    doc_.noPrices = "the graph JSON does not record them; bycc check MODEL --annotate=V --prices, "
                    "or --emit=html, finds them";
    BYCC_TRY(readHead());
    BYCC_TRY(readPlacement());
    BYCC_TRY(readOperators(*operators));
    BYCC_TRY(readRegions());
    BYCC_TRY(readTotals());
    BYCC_TRY(readArena());
    return std::move(doc_);
  }

private:
  ErrorBuilder fail(const JsonValue &value) const {
    return error(Status::Input, location(value, file_));
  }

  // --- members that must be there

  Expected<const JsonValue *> member(const JsonValue &object, const char *key, JsonValue::Kind kind,
                                     const char *what) {
    const JsonValue *value = object.find(key);
    if (!value || value->kind != kind)
      return fail(value ? *value : object) << "'" << key << "' must be " << what;
    return value;
  }
  Expected<const JsonValue *> object(const JsonValue &in, const char *key) {
    return member(in, key, JsonValue::Kind::Object, "an object");
  }
  Expected<const JsonValue *> array(const JsonValue &in, const char *key) {
    return member(in, key, JsonValue::Kind::Array, "an array");
  }
  Expected<std::string> text(const JsonValue &in, const char *key) {
    return BYCC_TRY(member(in, key, JsonValue::Kind::String, "text"))->string;
  }
  Expected<double> number(const JsonValue &in, const char *key) {
    const JsonValue *value = in.find(key);
    if (!value || !value->isNumber())
      return fail(value ? *value : in) << "'" << key << "' must be a number";
    return value->number;
  }
  Expected<int64_t> whole(const JsonValue &in, const char *key) {
    const JsonValue *value = in.find(key);
    if (!value || !value->isInt() || value->integer < 0)
      return fail(value ? *value : in) << "'" << key << "' must be a number from 0 up";
    return value->integer;
  }
  // A list of whole numbers from `least` up, below `limit`.
  Expected<std::vector<int64_t>> numbers(const JsonValue &in, const char *key, int64_t least,
                                         int64_t limit) {
    std::vector<int64_t> list;
    for (const JsonValue &item : BYCC_TRY(array(in, key))->items) {
      if (!item.isInt() || item.integer < least || item.integer >= limit)
        return fail(item) << "'" << key << "' has what is no number from " << least << " to "
                          << limit - 1;
      list.push_back(item.integer);
    }
    return list;
  }
  Expected<std::vector<std::string>> texts(const JsonValue &in, const char *key) {
    std::vector<std::string> list;
    for (const JsonValue &item : BYCC_TRY(array(in, key))->items) {
      if (!item.isString())
        return fail(item) << "'" << key << "' has what is no text";
      list.push_back(item.string);
    }
    return list;
  }
  template <typename List>
  Expected<> sized(const JsonValue &in, const char *key, const List &list, size_t size) {
    if (list.size() != size)
      return fail(*in.find(key)) << "'" << key << "' has " << list.size() << " items, there are "
                                 << size;
    return {};
  }

  // --- parts

  Expected<> readHead() {
    std::string name = file_.substr(file_.rfind('/') + 1);
    doc_.title = name.ends_with(".json") ? name.substr(0, name.size() - 5) : name;
    doc_.version = BYCC_TRY(text(*bycc_, "version"));
    const JsonValue *target = BYCC_TRY(object(*bycc_, "target"));
    doc_.triple = BYCC_TRY(text(*target, "triple"));
    doc_.cpu = BYCC_TRY(text(*target, "cpu"));
    doc_.flags = BYCC_TRY(texts(*bycc_, "flags"));
    doc_.inputs = BYCC_TRY(readTensors("inputs"));
    doc_.outputs = BYCC_TRY(readTensors("outputs"));
    return {};
  }

  // "Tensor[(1, 3), float32]", as the types of operators are told.
  Expected<std::vector<std::pair<std::string, std::string>>> readTensors(const char *key) {
    std::vector<std::pair<std::string, std::string>> tensors;
    for (const JsonValue &tensor : BYCC_TRY(array(*bycc_, key))->items) {
      std::string shape;
      const JsonValue *dims = BYCC_TRY(array(tensor, "shape"));
      for (const JsonValue &dim : dims->items)
        shape += (shape.empty() ? "" : ", ") +
                 (dim.isString() ? dim.string : std::to_string(dim.integer));
      std::string dtype = BYCC_TRY(text(tensor, "dtype"));
      if (dims->items.size() == 1)
        shape += ",";
      tensors.emplace_back(BYCC_TRY(text(tensor, "name")),
                           shape.empty() ? dtype : "Tensor[(" + shape + "), " + dtype + "]");
    }
    return tensors;
  }

  Expected<RefusalLog::Reasons> readReasons(const JsonValue &node, const char *key) {
    RefusalLog::Reasons reasons;
    for (const auto &[vendor, reason] : BYCC_TRY(object(node, key))->members) {
      if (!reason.isString())
        return fail(reason) << "a reason must be text";
      reasons.emplace_back(vendor, reason.string);
    }
    return reasons;
  }

  Expected<std::string> textOrNull(const JsonValue &in, const char *key) {
    const JsonValue *value = in.find(key);
    if (value && value->kind == JsonValue::Kind::Null)
      return std::string();
    return text(in, key);
  }

  Expected<> readPlacement() {
    for (const JsonValue &value : BYCC_TRY(array(*bycc_, "placement"))->items) {
      OffloadNode node;
      node.name = BYCC_TRY(text(value, "name"));
      node.op = BYCC_TRY(text(value, "op"));
      node.source = BYCC_TRY(text(value, "source"));
      node.placed = BYCC_TRY(text(value, "placed"));
      node.region = BYCC_TRY(textOrNull(value, "region"));
      node.composite = BYCC_TRY(textOrNull(value, "composite"));
      node.refused = BYCC_TRY(readReasons(value, "refused"));
      node.accepted = BYCC_TRY(texts(value, "candidates"));
      node.why = BYCC_TRY(readReasons(value, "why"));
      node.flops = BYCC_TRY(number(value, "flops"));
      if (value.find("estimate_us"))
        node.estimateUs = BYCC_TRY(number(value, "estimate_us"));
      doc_.report.nodes.push_back(std::move(node));
    }
    return {};
  }

  Expected<> readOperators(const JsonValue &in) {
    constexpr int64_t any = std::numeric_limits<int64_t>::max(), many = int64_t{1} << 32;
    size_t count = doc_.report.nodes.size();
    std::vector<std::string> types = BYCC_TRY(texts(in, "types"));
    std::vector<int64_t> bytes = BYCC_TRY(numbers(in, "type_bytes", -1, any));
    BYCC_TRY(sized(in, "type_bytes", bytes, types.size()));
    for (size_t i = 0; i < types.size(); ++i)
      doc_.graph.types.push_back({types[i], bytes[i]});
    int64_t numTypes = static_cast<int64_t>(types.size());
    std::vector<std::string> attributeTexts = BYCC_TRY(texts(in, "attribute_texts")),
                             symbolTexts = BYCC_TRY(texts(in, "symbols"));
    std::vector<int64_t> type = BYCC_TRY(numbers(in, "type", 0, numTypes)),
                         unit = BYCC_TRY(numbers(in, "unit", 0, many));
    std::vector<int64_t> attributes =
        BYCC_TRY(numbers(in, "attributes", -1, static_cast<int64_t>(attributeTexts.size())));
    std::vector<int64_t> symbols =
        BYCC_TRY(numbers(in, "symbol", -1, static_cast<int64_t>(symbolTexts.size())));
    std::vector<int64_t> numInputs = BYCC_TRY(numbers(in, "num_inputs", 0, many));
    for (auto [key, list] : {std::pair("type", &type),
                             {"unit", &unit},
                             {"attributes", &attributes},
                             {"symbol", &symbols},
                             {"num_inputs", &numInputs}})
      BYCC_TRY(sized(in, key, *list, count));
    std::vector<int64_t> flat = BYCC_TRY(numbers(in, "inputs", 0, many));
    int64_t total = 0;
    for (int64_t number : numInputs)
      total += 3 * number;
    BYCC_TRY(sized(in, "inputs", flat, static_cast<size_t>(total)));
    size_t at = 0;
    for (size_t row = 0; row < count; ++row) {
      OperatorGraph::Row &made = doc_.graph.rows.emplace_back();
      made.type = static_cast<uint32_t>(type[row]);
      made.attributes =
          attributes[row] < 0 ? "" : attributeTexts[static_cast<size_t>(attributes[row])];
      made.symbol = symbols[row] < 0 ? "" : symbolTexts[static_cast<size_t>(symbols[row])];
      doc_.report.nodes[row].unit = static_cast<uint32_t>(unit[row]);
      for (int64_t i = 0; i < numInputs[row]; ++i, at += 3)
        made.inputs.push_back(BYCC_TRY(readInput(*in.find("inputs"), flat, at)));
    }
    for (const JsonValue &output : BYCC_TRY(array(in, "outputs"))->items) {
      std::vector<OperatorInput> &sources = doc_.graph.outputs.emplace_back();
      std::vector<int64_t> list;
      for (const JsonValue &item : output.items)
        list.push_back(item.isInt() ? item.integer : -1);
      if (list.size() % 3 != 0)
        return fail(output) << "'outputs' has a list that is not of triples";
      for (size_t i = 0; i < list.size(); i += 3)
        sources.push_back(BYCC_TRY(readInput(output, list, i)));
    }
    return {};
  }

  Expected<OperatorInput> readInput(const JsonValue &in, const std::vector<int64_t> &flat,
                                    size_t at) {
    using Kind = OperatorInput::Kind;
    int64_t kind = flat[at], index = flat[at + 1], type = flat[at + 2];
    size_t limit = kind == static_cast<int64_t>(Kind::Operator) ? doc_.report.nodes.size()
                   : kind == static_cast<int64_t>(Kind::Input)  ? doc_.inputs.size()
                                                                : 1;
    if (kind < 0 || kind > static_cast<int64_t>(Kind::Unknown) || index < 0 ||
        static_cast<size_t>(index) >= limit || type < 0 ||
        static_cast<size_t>(type) >= doc_.graph.types.size())
      return fail(in) << "(" << kind << ", " << index << ", " << type
                      << ") is no tensor of this model";
    return OperatorInput{static_cast<Kind>(kind), static_cast<uint32_t>(index),
                         static_cast<uint32_t>(type)};
  }

  Expected<> readRegions() {
    OffloadReport &report = doc_.report;
    std::map<std::string, size_t> known;
    for (const JsonValue &value : BYCC_TRY(array(*bycc_, "regions"))->items) {
      OffloadFunction region;
      region.symbol = BYCC_TRY(text(value, "id"));
      region.compiler = BYCC_TRY(text(value, "vendor"));
      region.nodes = BYCC_TRY(texts(value, "nodes"));
      region.composites = BYCC_TRY(texts(value, "composites"));
      region.flops = BYCC_TRY(number(value, "flops"));
      region.boundaryBytes = BYCC_TRY(whole(value, "boundary_bytes"));
      region.boundaryTensors = BYCC_TRY(whole(value, "boundary_tensors"));
      region.calls = BYCC_TRY(whole(value, "calls"));
      const JsonValue *isOpen = value.find("has_run_time_sizes"); // younger than the others
      region.hasRunTimeSizes = isOpen && isOpen->isBool() && isOpen->boolean;
      report.totals.hasRunTimeSizes |= region.hasRunTimeSizes;
      OffloadTotals &vendor = report.byVendor[region.compiler];
      ++vendor.regions;
      vendor.offloadedOps += static_cast<int64_t>(region.nodes.size());
      vendor.offloadedFlops += region.flops;
      vendor.boundaryBytes += region.boundaryBytes;
      vendor.boundaryTensors += region.boundaryTensors;
      report.totals.boundaryTensors += region.boundaryTensors;
      known.emplace(region.symbol, known.size());
      report.functions.push_back(std::move(region));
    }
    for (const OffloadNode &node : report.nodes)
      if (!node.region.empty() && !known.contains(node.region))
        return fail(*bycc_->find("placement"))
               << "node '" << escaped(node.name) << "' is of region '" << escaped(node.region)
               << "', which is not there";
    return {};
  }

  Expected<> readTotals() {
    const JsonValue *offload = BYCC_TRY(object(*bycc_, "offload"));
    OffloadTotals &totals = doc_.report.totals;
    totals.regions = BYCC_TRY(whole(*offload, "regions"));
    totals.offloadedOps = BYCC_TRY(whole(*offload, "ops"));
    totals.ops = totals.offloadedOps + BYCC_TRY(whole(*offload, "host_ops"));
    totals.offloadedFlops = BYCC_TRY(number(*offload, "offloaded_flops"));
    totals.flops = BYCC_TRY(number(*offload, "flops"));
    totals.boundaryBytes = BYCC_TRY(whole(*offload, "boundary_bytes"));
    const JsonValue *in = offload->find("estimate");
    if (!in)
      return {};
    PlanEstimate &estimate = doc_.report.estimate.emplace();
    for (auto [key, value] : {std::pair("us", &estimate.us),
                              {"host_us", &estimate.hostUs},
                              {"best_single_us", &estimate.bestSingleUs},
                              {"bound_us", &estimate.boundUs},
                              {"measured_share", &estimate.measuredShare}})
      *value = BYCC_TRY(number(*in, key));
    for (const JsonValue &item : BYCC_TRY(array(*in, "parts"))->items) {
      PlanEstimate::Part part;
      part.name = BYCC_TRY(text(item, "name"));
      part.operators = BYCC_TRY(number(item, "operators_us"));
      part.launches = BYCC_TRY(number(item, "launches_us"));
      part.transfers = BYCC_TRY(number(item, "transfers_us"));
      estimate.parts.push_back(std::move(part));
    }
    return {};
  }

  Expected<> readArena() {
    const JsonValue *memory = BYCC_TRY(object(*bycc_, "memory"));
    ViewArena arena;
    arena.bytes = static_cast<uint64_t>(BYCC_TRY(whole(*memory, "arena_bytes")));
    std::vector<std::string> names;
    for (const JsonValue &node : BYCC_TRY(array(root_, "nodes"))->items)
      names.push_back(BYCC_TRY(text(node, "name")));
    int64_t numNames = static_cast<int64_t>(names.size());
    auto nameOf = [&](int64_t node) {
      return node < 0 ? std::string() : names[static_cast<size_t>(node)];
    };
    for (int64_t node : BYCC_TRY(numbers(*memory, "steps", -1, numNames)))
      arena.steps.push_back(nameOf(node));
    std::vector<int64_t> flat =
        BYCC_TRY(numbers(*memory, "buffers", -1, std::numeric_limits<int64_t>::max()));
    if (flat.size() % 5 != 0)
      return fail(*memory->find("buffers"))
             << "'buffers' has " << flat.size() << " items, not fives";
    for (size_t i = 0; i < flat.size(); i += 5) {
      bool isWrong = flat[i] >= numNames || flat[i + 1] < 0 || flat[i + 2] < 0 || flat[i + 3] < 0 ||
                     flat[i + 3] > flat[i + 4] ||
                     flat[i + 4] >= static_cast<int64_t>(arena.steps.size());
      if (isWrong)
        return fail(*memory->find("buffers"))
               << "buffer " << i / 5 << " lies outside the steps or nodes";
      arena.buffers.push_back({nameOf(flat[i]), flat[i + 1], flat[i + 2],
                               static_cast<uint32_t>(flat[i + 3]),
                               static_cast<uint32_t>(flat[i + 4])});
    }
    doc_.arena = std::move(arena);
    return {};
  }

  const JsonValue &root_;
  const std::string &file_;
  const JsonValue *bycc_ = nullptr;
  ViewDocument doc_;
};

} // namespace

Expected<ViewDocument> readGraphReport(std::string_view text, const std::string &file) {
  JsonValue root = BYCC_TRY(parseJson(text, file));
  return ReportReader(root, file).read();
}

} // namespace bycc
