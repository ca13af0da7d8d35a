// Checks STEM.json: it is a report and does not run, but a damaged or foreign
// one shows that the files do not belong together.
#pragma once

#include "bycc/Support/GraphSet.h"

#include "bycc/abi.h"

#include <memory>
#include <string>

namespace bycc::runtime {

struct GraphFile {
  std::string path;
  JsonValue root;
  GraphSet set;
  bool isSealed = false;
};

// Reads the file and what ties it to the others.
Expected<GraphFile> readGraphFile(const std::string &path);
Expected<GraphFile> parseGraphFile(std::string_view text, const std::string &path);
// The graph by itself: rows, arguments, heads, storage; then the checksum.
Expected<> checkGraph(const GraphFile &graph);
// Inputs and outputs of the report against those of the object.
Expected<> checkInterface(const GraphFile &graph, const bycc_module &module);

} // namespace bycc::runtime
