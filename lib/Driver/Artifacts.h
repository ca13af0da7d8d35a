// From a module after all passes to the bytes of its files.
#pragma once

#include "GraphJson.h"
#include "Session.h"
#include "bycc/Support/ParamsFile.h"

#include <unordered_map>

namespace bycc {

// Everything that a compilation can write, not yet written.
struct Artifacts {
  CompiledModule code;
  ParamsWriter params;
  std::vector<std::string_view> paramsPieces; // empty: no params file
  std::string embeddedParams; // --embed-weights
  SetId setId = {};
  ModelInterface interface;
  std::unordered_map<uint32_t, std::vector<uint8_t>> regionBlobs; // by FunctionId
};

// Has vendors compile their regions. A region that its vendor cannot compile goes
// back to the host with a warning; with --strict that is a policy error.
Expected<> compileRegions(Session &session, Artifacts &artifacts);

// Compiles the rest. `wanted` are the forms of code asked for; none: only the
// interface is filled in.
Expected<> buildArtifacts(Session &session, Artifacts &artifacts, std::vector<CodeForm> wanted);

} // namespace bycc
