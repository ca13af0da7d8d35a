// For readers of vendor and rules files: errors that say where, FILE:LINE:COL and
// JSON pointer, with the nearest name.
#pragma once

#include "bycc/IR/Ids.h"
#include "bycc/Support/DType.h"
#include "bycc/Support/Error.h"
#include "bycc/Support/Json.h"

#include <string>
#include <string_view>
#include <vector>

namespace bycc {

// The JSON pointer of an object's member.
std::string pointerTo(const std::string &pointer, std::string_view key);
// An INPUT error at the value: "POINTER: ".
ErrorBuilder jsonError(const JsonValue &value, const std::string &pointer, const std::string &file);
// Error naming the first member that is not in `known`, with the nearest.
Expected<> checkKeys(const JsonValue &object, const std::vector<std::string> &known,
                     const std::string &pointer, const std::string &file);
// "unknown WHAT 'x', did you mean 'y'?".
std::string unknownName(std::string_view what, std::string_view name,
                        const std::vector<std::string> &known);
// The operator of that name; an error with the nearest when there is none.
Expected<OpId> readOpName(std::string_view name, const JsonValue &at, const std::string &pointer,
                          const std::string &file);
// What the operator's attributes are called, in table order; of an invalid one those of
// all operators, sorted.
std::vector<std::string> attrNames(OpId op);
// An array of dtypes' names.
Expected<std::vector<DType>> readDTypes(const JsonValue &array, const std::string &pointer,
                                        const std::string &file);
Expected<DType> readDType(const JsonValue &value, const std::string &pointer,
                          const std::string &file);

} // namespace bycc
