// All that a page or a drawing shows of a model, as plain data. It is filled by the
// compiler, or from the graph JSON of a compiled model; what nobody recorded is absent,
// and shown as that.
#pragma once

#include "bycc/Partition/OffloadReport.h"
#include "bycc/Partition/RefusalPrices.h"
#include "bycc/Support/Error.h"
#include "bycc/View/OperatorGraph.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bycc {

struct ViewPass {
  std::string name;
  bool changed = false;
  std::optional<double> seconds; // they differ from build to build
};

// The arena over the steps of a run.
struct ViewArena {
  struct Buffer {
    std::string name; // of the value; "" for memory that a kernel works in
    int64_t offset = 0, bytes = 0;
    uint32_t first = 0, last = 0; // steps
  };
  uint64_t bytes = 0;
  std::vector<std::string> steps; // what runs
  std::vector<Buffer> buffers;
};

// What a run took, as bycc-run --profile=FILE writes it.
struct ViewTiming {
  std::string name, detail;
  double us = 0;
  std::string region;         // symbol of the region that it is, or is a step of
  bool isStep = false;        // of a region
  std::vector<uint32_t> rows; // operators that it is known to run
};

struct ViewDocument {
  std::string title, version, triple, cpu;
  std::vector<std::string> flags;
  std::vector<std::pair<std::string, std::string>> inputs, outputs; // name, type
  OffloadReport report;
  OperatorGraph graph;
  bool isArtefact = false; // read from a graph JSON: parts of the report are not recorded
  std::optional<RefusalPrices> prices;
  std::string noPrices; // why there are none
  std::vector<ViewPass> passes;
  std::optional<ViewArena> arena;
  std::string noArena; // why there is none
  std::vector<ViewTiming> timings;
};

// From the text of a graph JSON (STEM.json) of this version of bycc.
Expected<ViewDocument> readGraphReport(std::string_view text, const std::string &file);

// Adds what a run took (bycc-run --profile=FILE). An error when it is not of this model.
Expected<> addProfile(ViewDocument &document, std::string_view trace, const std::string &file);

// The document as one file: data, style and script inside, nothing is loaded.
std::string viewPage(const ViewDocument &document);

// The same as a Graphviz graph.
std::string dotGraph(const ViewDocument &document);

class JsonWriter;
// `bycc.operators` of a graph JSON (share/schema/operators.md), and back.
void writeOperators(JsonWriter &json, const OperatorGraph &graph, const OffloadReport &report);

} // namespace bycc
