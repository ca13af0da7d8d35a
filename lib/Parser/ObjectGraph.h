// Metadata as TVM prints it: a dump of its objects,
//   {"root": 1, "nodes": [{"type_key": "Map", "keys": ["relay.Constant"], "data": [2]},
//    {"type_key": "Array", "data": [3]}, {"type_key": "relay.Constant", "attrs": {"data": "0", ..}}, ..],
//    "b64ndarrays": [base64 of a serialised tensor, ..]}
// Only the tables at the root and the tensors of constants are read.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Support/Json.h"

#include <map>
#include <string>
#include <vector>

namespace bycc {

class ObjectGraph {
public:
  static bool looksLike(const JsonValue &metadata) {
    return metadata.find("root") || metadata.find("b64ndarrays");
  }
  // `value` must stay where it is.
  static Expected<ObjectGraph> read(const JsonValue &value, const std::string &file);

  // Entries under each key.
  const std::map<std::string, std::vector<const JsonValue *>> &tables() const { return tables_; }
  // An entry of "relay.Constant".
  Expected<Constant> constant(Module &module, const JsonValue &entry) const;

private:
  ErrorBuilder fail(const JsonValue &at) const;
  Expected<const JsonValue *> node(const JsonValue &index) const;
  Expected<std::vector<const JsonValue *>> array(const JsonValue &index) const;

  const JsonValue *nodes_ = nullptr, *tensors_ = nullptr;
  std::string file_;
  std::map<std::string, std::vector<const JsonValue *>> tables_;
};

} // namespace bycc
