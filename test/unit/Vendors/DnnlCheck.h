// Region -> dnnl -> results, held against the plain loops.
#pragma once

#include "RegionReference.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

namespace bycc::test {

// NaN agrees with NaN alone, infinities with themselves.
inline bool agree(float got, float want, double tolerance) {
  if (!std::isfinite(got) || !std::isfinite(want))
    return std::isnan(got) ? std::isnan(want) : got == want;
  return std::fabs(double{got} - want) <= tolerance * (1 + std::fabs(want));
}

inline void requireClose(const std::vector<Tensor> &got, const std::vector<Tensor> &want,
                         double tolerance = 1e-4) {
  REQUIRE(got.size() == want.size());
  for (size_t o = 0; o < got.size(); ++o) {
    REQUIRE(got[o].size() == want[o].size());
    for (size_t i = 0; i < got[o].size(); ++i) {
      if (!agree(got[o][i], want[o][i], tolerance)) {
        CAPTURE(o, i, got[o][i], want[o][i]);
        FAIL("results differ");
      }
    }
  }
}

using Names = std::vector<std::string>;

inline size_t countOf(const Names &names, const std::string &name) {
  return static_cast<size_t>(std::count(names.begin(), names.end(), name));
}

inline uint32_t weights(RegionBuilder &region, Dims dims, uint32_t seed = 5) {
  Tensor data = noise(dims, seed);
  return region.constant(std::move(dims), data);
}

inline std::vector<Tensor> inputsFor(RegionBuilder &region) {
  std::vector<Tensor> inputs;
  for (uint32_t id : region.inputs())
    inputs.push_back(noise(region.dims(id), id + 1));
  return inputs;
}

// Compiles, runs with 2 and with 1 threads, compares; answers the steps' names.
inline std::vector<std::string> checkWith(RegionBuilder &region, const std::vector<Tensor> &inputs,
                                          const char *features = nullptr, double tolerance = 1e-4) {
  Answer compiled = compile(region, features);
  INFO(compiled.reason);
  REQUIRE(compiled.yes);
  std::vector<Tensor> want = evaluate(region.region(), inputs);
  Loaded loaded(region, compiled);
  for (int32_t threads : {2, 1, 2})
    requireClose(loaded.run(inputs, threads), want, tolerance);
  return loaded.steps();
}
inline std::vector<std::string> check(RegionBuilder &region) {
  return checkWith(region, inputsFor(region));
}

// The region becomes one operator, which is supported.
inline void requireOp(RegionBuilder &region, const std::string &op, const std::vector<Dims> &inputs,
                      const std::vector<Dims> &constants, Dims result, std::vector<Attr> attrs,
                      const char *features = nullptr) {
  std::vector<uint32_t> operands;
  for (const Dims &dims : inputs)
    operands.push_back(region.input(dims));
  for (const Dims &dims : constants)
    operands.push_back(region.constant(dims, noise(dims, 99)));
  region.output(region.op(op, operands, std::move(result), std::move(attrs)));
  Answer answer = supports(region, features);
  INFO(answer.reason);
  REQUIRE(answer.yes);
}

// One operator, for tests that are tables.
struct OperatorCase {
  const char *op;
  std::vector<Dims> inputs;
  Dims result;
  std::vector<Attr> attrs;
};

// One operator alone is supported and right.
inline void checkOp(const std::string &op, const std::vector<Dims> &inputs,
                    const std::vector<Dims> &constants, Dims result, std::vector<Attr> attrs = {}) {
  CAPTURE(op);
  RegionBuilder region;
  requireOp(region, op, inputs, constants, std::move(result), std::move(attrs));
  check(region);
}

} // namespace bycc::test
