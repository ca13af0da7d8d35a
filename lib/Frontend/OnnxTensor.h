// Tensors of a model file as IR constants: sizes checked against the type before
// anything is allocated, external data confined to the model's folder.
#pragma once

#include "OnnxModel.h"

#include "bycc/IR/Constant.h"
#include "bycc/IR/Type.h"

#include <unordered_map>

namespace bycc::onnx {

// The IR's dtype of an ONNX element type. INPUT for numbers that ONNX does not
// define, UNSUP for strings, complex and sub-byte types.
Expected<DType> dtypeOf(int32_t elemType, const SourceLocation &location);

// Elements of 4 bits are held as 8.
bool hasFourBits(int32_t elemType);

// Element i of those that lie two to a byte, the first one below.
inline uint8_t halfAt(const uint8_t *bytes, int64_t i) {
  return bytes[i / 2] >> (i % 2 ? 4 : 0) & 15;
}

// Makes constants of one model; keeps external files mapped while it lives.
class TensorReader {
public:
  // `openExternal` empty: mapContained().
  TensorReader(std::shared_ptr<const Storage> file, std::string folder,
               OpenContainedFn openExternal)
      : file_(std::move(file)), folder_(std::move(folder)), openExternal_(std::move(openExternal)) {
  }

  Expected<Constant> read(const Tensor &tensor, TypeTable &types, const SourceLocation &location);
  // Made dense; LIMIT when that is out of proportion to the file.
  Expected<Constant> readSparse(const SparseTensor &tensor, TypeTable &types,
                                const SourceLocation &location);
  // Paths of the files with external data that were read, sorted.
  std::vector<std::string> externalFiles() const;

private:
  struct View {
    std::shared_ptr<const Storage> storage;
    uint64_t offset = 0;
    uint64_t bytes = 0;
  };
  Expected<View> external(const Tensor &tensor, uint64_t wantedBytes,
                          const SourceLocation &location);
  Expected<Constant> readFourBits(const Tensor &tensor, TypeTable &types,
                                  const SourceLocation &location);
  Expected<View> typed(const Tensor &tensor, DType dtype, uint64_t count,
                       const SourceLocation &location);

  Expected<> checkSum(const std::string &path, const Storage &file, std::string_view wanted,
                      const SourceLocation &location);

  std::shared_ptr<const Storage> file_;
  std::string folder_;
  OpenContainedFn openExternal_;
  std::unordered_map<std::string, std::shared_ptr<const Storage>> externalFiles_;
  std::unordered_map<std::string, std::string> checksums_;
};

} // namespace bycc::onnx
