// What is done with tensors: made at random, printed, written, compared.
#pragma once

#include "Session.h"

namespace bycc::run {

// As Support/RandomArray.h says. An empty `shape` is the shape of the type.
Expected<NpyArray> randomTensor(const bycc_tensor_info &info, std::vector<int64_t> shape,
                                uint64_t seed);

// "NAME dtype (shape): v v v ..." with at most `count` values.
std::string printed(const OutputView &output, int64_t count);
// NAME.npy per output, all or none.
Expected<> writeOutputs(const std::vector<OutputView> &outputs, const std::string &folder);

// Status::Differs names the first differing element of the first output that
// differs. Every output needs its file.
Expected<> compareOutputs(const std::vector<OutputView> &outputs, const std::string &folder,
                          double rtol, double atol);

} // namespace bycc::run
