// From a module after all passes to the bytes of its files.
#pragma once

#include "GraphJson.h"
#include "Session.h"
#include "bycc/Support/ParamsFile.h"

namespace bycc {

// Everything that a compilation can write, not yet written.
struct Artifacts {
  CompiledModule code;
  ParamsWriter params;
  std::vector<std::string_view> paramsPieces; // empty: no params file
  SetId setId = {};
  ModelInterface interface;
};

// Compiles host code and vendor regions. `wanted` are the forms of code asked for.
Expected<std::unique_ptr<Artifacts>> buildArtifacts(Session &session, std::vector<CodeForm> wanted);

} // namespace bycc
