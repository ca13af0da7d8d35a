// What binds STEM.json to STEM.o and STEM.params: members of its `bycc` object
// that the compiler writes and the runtime checks.
//
//   "abi": 3, "set_id": "32 hex digits",
//   "files": {"object": {"name": "net.o", "bytes": 1234, "hash": "16 hex digits"},
//             "params": {"name", "bytes", "hash",
//                        "entries": [{"name", "dtype", "shape"}, ...]}},
//   "checksum": "16 hex digits"
//
// The object's hash is hashBytes of the file, that of the params is its table
// hash (the table holds the payloads' hashes). `params` is absent when there is
// no such file. `checksum` is hashBytes of the whole JSON text in which its own
// digits are zeros: it is the last thing filled in.
#pragma once

#include "bycc/Support/Json.h"
#include "bycc/Support/ParamsFile.h"

#include <optional>

namespace bycc {

struct GraphFileInfo {
  std::string name; // without a folder
  uint64_t bytes = 0;
  uint64_t hash = 0;
};

struct GraphSet {
  SetId setId = {};
  GraphFileInfo object;
  std::optional<GraphFileInfo> params;
  std::vector<ParamsEntry> paramsEntries; // name, dtype and dims matter
};

std::string hexText(uint64_t hash); // 16 digits
std::string hexText(const SetId &id);

// Writes the members above into the open `bycc` object.
void writeGraphSet(JsonWriter &writer, const GraphSet &set);
// Fills in the checksum of a text with members by writeGraphSet.
std::string sealed(std::string json);
// The graph JSON of the same set whose files have other names, without a folder; `params` is
// not looked at where there is no such file. For a text that readGraphSet() takes.
std::string withFileNames(std::string json, const std::string &object, const std::string &params);
// True when the text is as sealed() left it.
bool isSealed(std::string_view json);
// Reads the members back; Status::Load with what is missing or wrong. The ABI
// version is checked first.
Expected<GraphSet> readGraphSet(const JsonValue &bycc, const std::string &file);

} // namespace bycc
