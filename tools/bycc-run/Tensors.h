// What is done with tensors: made at random, printed, written, compared.
#pragma once

#include "Session.h"

namespace bycc::run {

// As Support/RandomArray.h says. An empty `shape` is the shape of the type.
Expected<NpyArray> randomTensor(const bycc_tensor_info &info, std::vector<int64_t> shape,
                                uint64_t seed);

// "NAME dtype (shape): v v v ..." with at most `count` values.
std::string printed(const OutputView &output, int64_t count);
// "[0, 3]" of the element at `flat`.
std::string indexText(int64_t flat, const std::vector<int64_t> &shape);
// NAME.npy per output, all or none.
Expected<> writeOutputs(const std::vector<OutputView> &outputs, const std::string &folder);

// How an output compares with what was expected of it.
struct Comparison {
  std::string name, file;       // of the output, of what was expected
  int64_t differing = 0;        // elements beyond the tolerance
  double distance = 0;          // largest |got - expected| of finite elements
  double relative = 0;          // largest |got - expected| / |expected|
  double cosine = 1;            // of finite elements
  bool wouldZerosAgree = false; // the tolerance lets zeros pass where other values are expected
  std::string difference;       // the first differing element, in words; "" when there is none
  std::string text() const;     // "output 'y': max |d| 1.2e-07, relative 3.1e-06, cosine 1"
};
// Every output needs its file.
Expected<std::vector<Comparison>> compareOutputs(const std::vector<OutputView> &outputs,
                                                 const std::string &folder, double rtol,
                                                 double atol);

} // namespace bycc::run
