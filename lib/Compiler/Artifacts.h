// From a module after all passes to the bytes of its files.
#pragma once

#include "GraphJson.h"
#include "TuningRecords.h"
#include "bycc/Compiler/Session.h"
#include "bycc/Support/ParamsFile.h"

#include <optional>
#include <unordered_map>

namespace bycc {

// What a vendor's compile half made of a region.
struct RegionParts {
  std::vector<uint8_t> blob;
  std::shared_ptr<const Storage> weights;               // null: none
  std::optional<uint64_t> weightsHash;                  // as of RegionOutcome
  std::vector<uint8_t> residentInputs, residentOutputs; // as in CodeRegion
};

// Everything that a compilation can write, not yet written.
struct Artifacts {
  CompiledModule code;
  // Shared with what is handed out: pieces are views of it and of what it holds.
  std::shared_ptr<ParamsWriter> params = std::make_shared<ParamsWriter>();
  std::vector<std::string_view> paramsPieces; // empty: no params file
  std::string embeddedParams;                 // --embed-weights
  SetId setId = {};
  ModelInterface interface;
  std::unordered_map<uint32_t, RegionParts> regions; // by FunctionId
  std::optional<TuningRecords> tuning;               // --tune
};

// Compiles all but the vendors' regions, whose blobs are there. `wanted` are the forms
// of code asked for; none: only the interface is filled in.
Expected<> buildArtifacts(Session &session, Artifacts &artifacts, std::vector<CodeForm> wanted);

// What would be built, as far as that needs no code: graph and arena. Fills in the
// interface.
Expected<CompiledModule> planArtifacts(Session &session, Artifacts &artifacts);

} // namespace bycc
