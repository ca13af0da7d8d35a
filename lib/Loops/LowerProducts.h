// What products share: how two factors are read and multiplied, and the sum.
#pragma once

#include "OpLowering.h"

namespace bycc::loops {

// How factors are multiplied. Integers of at most 16 bits, and bfloat16 where the
// target multiplies it, go two by two: neighbours along the reduction in one element,
// an odd last one beside 0. Other narrow floats are multiplied as float32: the left
// factor is copied so, the right one, the larger, stays narrow and is widened at use.
enum class ProductForm : uint8_t { Plain, Widened, Paired };

// `depth` is the extent that is summed over, 0 when it is not known.
ProductForm productForm(OpLowering &op, const Tensor &a, const Tensor &w, int64_t depth);
// Steps of the reduction.
int64_t stepsOf(ProductForm form, int64_t depth);

using Factor = std::function<Ref(const Indices &)>;
// Factors as read at indices of which that of axis `d` counts steps.
Factor leftFactor(OpLowering &op, const Tensor &a, size_t d, int64_t depth, ProductForm form);
Factor rightFactor(OpLowering &op, const Tensor &w, size_t d, int64_t depth, ProductForm form);

// Do the pairs along `d` lie in memory as they are read?
bool holdsPairs(OpLowering &op, const Tensor &a, size_t d, int64_t depth);
// Elements 2 * i and 2 * i + 1 of `depth`.
Ref pairOf(OpLowering &op, Ref i, int64_t depth, const std::function<Ref(Ref)> &element);
Tensor widened(OpLowering &op, const Tensor &a);

// result[place(axes)] = sum over `reduction` of a * b, converted to the result's type.
using Windows = std::function<std::vector<Window>(const Indices &, const Indices &)>;
Expected<>
addProduct(OpLowering &op, const std::vector<Ref> &shape, const std::vector<Ref> &iteration,
           const std::vector<Ref> &reduction, const std::function<Indices(const Indices &)> &place,
           const std::function<std::pair<Ref, Ref>(const Indices &, const Indices &)> &factors,
           const Windows &windows = {});

void addConvolutionLowerings(LowerTable &table);

} // namespace bycc::loops
