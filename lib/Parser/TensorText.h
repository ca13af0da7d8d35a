// Tensor data in text: {"dtype", "shape", "data": base64 of the little-endian
// bytes} or {"dtype", "shape", "file", "offset"} with the bytes in a file beside
// the program. Shared by Relay text's metadata and the JSON form.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Parser/Relay.h"
#include "bycc/Support/Json.h"

#include <optional>

namespace bycc {

inline constexpr int64_t maxTensorBytes = int64_t{16} << 30;
inline constexpr size_t maxRank = 32;

// Checks everything against the size before it allocates. Files of data are those of the
// options.
Expected<Constant> readTensor(Module &module, const JsonValue &value, const std::string &file,
                              const ParseOptions &options);

// The constant of an entry {"dtype", "shape", "given": i}, one of the first `count` of the
// module; nullopt for an entry with data of its own.
Expected<std::optional<ConstantId>> readGiven(Module &module, const JsonValue &value,
                                              const std::string &file, size_t count);

// Number of rows, columns, ... as one LIMIT or INPUT error when a static tensor
// type is too large for this machine's address arithmetic.
Expected<> checkTensorType(const Module &module, TypeId type, const SourceLocation &location);

} // namespace bycc
