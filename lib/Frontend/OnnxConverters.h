// The converters that OnnxOps.def names, by the file they stand in.
#pragma once

#include "OnnxImporter.h"

namespace bycc::onnx {

// OnnxElementwise.cpp
Expected<> convertUnary(OpContext &op);
Expected<> convertBinary(OpContext &op);
Expected<> convertAdd(OpContext &op);
Expected<> convertVariadic(OpContext &op);
Expected<> convertMean(OpContext &op);
Expected<> convertPow(OpContext &op);
Expected<> convertMod(OpContext &op);
Expected<> convertBitShift(OpContext &op);
Expected<> convertReciprocal(OpContext &op);
Expected<> convertIsInf(OpContext &op);
Expected<> convertClip(OpContext &op);
Expected<> convertCast(OpContext &op);
Expected<> convertCastLike(OpContext &op);
Expected<> convertBitCast(OpContext &op);
Expected<> convertWhere(OpContext &op);

// OnnxActivation.cpp
Expected<> convertActivation(OpContext &op); // of one name in the table of activations
Expected<> convertPRelu(OpContext &op);
Expected<> convertSelu(OpContext &op);
Expected<> convertCelu(OpContext &op);
Expected<> convertShrink(OpContext &op);
Expected<> convertHardSwish(OpContext &op);
Expected<> convertMish(OpContext &op);
Expected<> convertGelu(OpContext &op);
Expected<> convertSoftmax(OpContext &op);
Expected<> convertHardmax(OpContext &op);
Expected<> convertSwish(OpContext &op);
Expected<> convertSwiGlu(OpContext &op);

// OnnxConvolution.cpp
Expected<> convertConv(OpContext &op);
Expected<> convertConvTranspose(OpContext &op);
Expected<> convertCol2Im(OpContext &op);
// The convolution of x with inputs 1 and 2.
Expected<NodeId> convOf(OpContext &op, NodeId x, NodeId weight);
// Attributes of a convolution as nn.conv* has them. x gets what padding cannot be an attribute, of
// `zero` or 0.
Expected<AttrDict> convAttrs(OpContext &op, NodeId &x, NodeId weight,
                             std::optional<NodeId> zero = std::nullopt);

// OnnxPool.cpp
Expected<> convertPool(OpContext &op);
// The same over x: "nn.max_pool" or "nn.avg_pool".
Expected<NodeId> poolOf(OpContext &op, NodeId x, std::string_view name);
Expected<> convertGlobalPool(OpContext &op);
Expected<> convertLpPool(OpContext &op);
Expected<> convertGlobalLpPool(OpContext &op);
Expected<> convertMaxUnpool(OpContext &op);

// OnnxResize.cpp
Expected<> convertResize(OpContext &op);
Expected<> convertUpsample(OpContext &op);

// OnnxGrid.cpp
Expected<> convertGridSample(OpContext &op);
Expected<> convertAffineGrid(OpContext &op);

// OnnxNormalize.cpp
Expected<> convertBatchNorm(OpContext &op);
Expected<> convertInstanceNorm(OpContext &op);
Expected<> convertLayerNorm(OpContext &op);
Expected<> convertGroupNorm(OpContext &op);
Expected<> convertLpNorm(OpContext &op);
Expected<> convertLrn(OpContext &op);
Expected<> convertRmsNorm(OpContext &op);
Expected<> convertMeanVarianceNorm(OpContext &op);

// x over the axes from `axis` on; beta may be missing.
Expected<NodeId> layerNormOf(OpContext &op, NodeId x, NodeId gamma, NodeId beta, int64_t axis,
                             double epsilon);
// The same without the mean, in the dtype `wide`; `inverse` gets 1 / sqrt(mean(x^2) + epsilon).
Expected<NodeId> rmsNormOf(OpContext &op, NodeId x, NodeId gamma, int64_t axis, double epsilon,
                           DType wide = DType::Float32, NodeId *inverse = nullptr);
// Outputs 1 and 2: mean and 1 / sqrt(variance + epsilon) of `data`.
Expected<> setLayerStatistics(OpContext &op, NodeId data, int64_t axis, double epsilon);
Expected<double> epsilonOf(OpContext &op, double fallback = 1e-5);

// OnnxLoss.cpp
Expected<> convertLikelihoodLoss(OpContext &op);
Expected<> convertCrossEntropyLoss(OpContext &op);

// OnnxFourier.cpp
Expected<> convertDft(OpContext &op);
Expected<> convertStft(OpContext &op);
Expected<> convertDet(OpContext &op);

// OnnxDetection.cpp
Expected<> convertNonMaxSuppression(OpContext &op);
Expected<> convertRoiAlign(OpContext &op);
Expected<> convertMaxRoiPool(OpContext &op);
Expected<> convertDeformConv(OpContext &op);

// OnnxSignal.cpp
Expected<> convertWindow(OpContext &op);
Expected<> convertMelWeights(OpContext &op);

// OnnxNgrams.cpp
Expected<> convertNgrams(OpContext &op);

// a + b; a vector added to the rows of a product, on either side, is its bias.
Expected<NodeId> sumOf(OpContext &op, NodeId a, NodeId b);
// NumPy's matmul of two values.
Expected<NodeId> matmulOf(OpContext &op, NodeId a, NodeId b);

// OnnxQuantized.cpp
Expected<> convertQuantize(OpContext &op);
Expected<> convertDequantize(OpContext &op);
Expected<> convertDynamicQuantize(OpContext &op);
Expected<> convertQLinearConv(OpContext &op);
Expected<> convertQLinearMatMul(OpContext &op);
Expected<> convertConvInteger(OpContext &op);
Expected<> convertQGemm(OpContext &op);
Expected<> convertMatMulInteger(OpContext &op);
Expected<> convertMatMulIntegerToFloat(OpContext &op);
Expected<> convertDynamicQuantizeMatMul(OpContext &op);
Expected<> convertQAttention(OpContext &op);

// OnnxFused.cpp
Expected<> convertFusedConv(OpContext &op);
Expected<> convertFusedGemm(OpContext &op);
Expected<> convertFusedMatMul(OpContext &op);
Expected<> convertNhwcConv(OpContext &op);
Expected<> convertNhwcMaxPool(OpContext &op);
Expected<> convertBiasAdd(OpContext &op);
Expected<> convertBiasGelu(OpContext &op);
Expected<> convertBiasSoftmax(OpContext &op);
Expected<> convertBiasSplitGelu(OpContext &op);
Expected<> convertFastGelu(OpContext &op);
Expected<> convertQuickGelu(OpContext &op);

// OnnxFusedAttention.cpp
Expected<> convertMultiHeadAttention(OpContext &op);
Expected<> convertProjectedAttention(OpContext &op);
Expected<> convertRotaryOfTables(OpContext &op);

// OnnxPositionBias.cpp
Expected<> convertRelativePositionBias(OpContext &op);
Expected<> convertGatedPositionBias(OpContext &op);

// OnnxRuntimeTensors.cpp
Expected<> convertExpandDims(OpContext &op);
Expected<> convertUniqueInOrder(OpContext &op);
Expected<> convertDistances(OpContext &op);
Expected<> convertComplexMul(OpContext &op);
Expected<> convertIsAllFinite(OpContext &op);
Expected<> convertUnfold(OpContext &op);

// OnnxGroupQuery.cpp
Expected<> convertGroupQueryAttention(OpContext &op);

// OnnxFusedNorm.cpp
Expected<> convertEmbedLayerNorm(OpContext &op);
Expected<> convertSkipLayerNorm(OpContext &op);
Expected<> convertSkipRmsNorm(OpContext &op);
Expected<> convertGroupNormOfLayout(OpContext &op);

// OnnxContrib.cpp
Expected<> convertQLinearBinary(OpContext &op);
Expected<> convertQLinearConcat(OpContext &op);
Expected<> convertQLinearGlobalPool(OpContext &op);
Expected<> convertQLinearLeakyRelu(OpContext &op);
Expected<> convertQLinearSigmoid(OpContext &op);
Expected<> convertQLinearSoftmax(OpContext &op);
Expected<> convertQLinearAveragePool(OpContext &op);
Expected<> convertQLinearReduceMean(OpContext &op);
Expected<> convertQLinearWhere(OpContext &op);

// OnnxWeightOnly.cpp
Expected<> convertGatherBlockQuantized(OpContext &op);
Expected<> convertMatMulNBits(OpContext &op);
// x times a weight that is dequantised for it, (K, N) or transposed; no node where the weight is not
// kept in few bits.
Expected<NodeId> weightOnlyProduct(OpContext &op, NodeId x, NodeId weight, bool isTransposed);

// OnnxAttention.cpp
Expected<> convertAttention(OpContext &op);
Expected<> convertCausalConv(OpContext &op);
Expected<> convertLinearAttention(OpContext &op);
Expected<> convertRotaryEmbedding(OpContext &op);
Expected<> convertTensorScatter(OpContext &op);

// OnnxMatMul.cpp
Expected<> convertGemm(OpContext &op);
Expected<> convertMatMul(OpContext &op);
Expected<> convertEinsum(OpContext &op);

// OnnxMovement.cpp
Expected<> convertReshape(OpContext &op);
Expected<> convertFlatten(OpContext &op);
Expected<> convertTranspose(OpContext &op);
Expected<> convertSqueeze(OpContext &op);
Expected<> convertUnsqueeze(OpContext &op);
Expected<> convertConcat(OpContext &op);
Expected<> convertExpand(OpContext &op);
Expected<> convertTile(OpContext &op);
Expected<> convertDepthToSpace(OpContext &op);
Expected<> convertTrilu(OpContext &op);

// OnnxSlice.cpp
Expected<> convertSplit(OpContext &op);
Expected<> convertSlice(OpContext &op);

// OnnxPad.cpp
Expected<> convertPad(OpContext &op);
Expected<> convertCenterCropPad(OpContext &op);

// OnnxIndexing.cpp
Expected<NodeId> gatherAlong(OpContext &op, NodeId x, NodeId indices, int64_t axis);
Expected<> convertGather(OpContext &op);
Expected<> convertGatherElements(OpContext &op);
Expected<> convertGatherND(OpContext &op);
Expected<> convertScatterElements(OpContext &op);
Expected<> convertScatterND(OpContext &op);
Expected<> convertReverseSequence(OpContext &op);
Expected<> convertOneHot(OpContext &op);
Expected<> convertTopK(OpContext &op);
Expected<> convertCompress(OpContext &op);
Expected<> convertNonZero(OpContext &op);
Expected<> convertUnique(OpContext &op);

// OnnxReduce.cpp
Expected<> convertReduce(OpContext &op);
Expected<> convertReduceComposed(OpContext &op);
Expected<> convertArgReduce(OpContext &op);
Expected<> convertCumulative(OpContext &op);

// OnnxIf.cpp
Expected<> convertIf(OpContext &op);

// OnnxControl.cpp
Expected<> convertIdentity(OpContext &op);
Expected<> convertDropout(OpContext &op);
Expected<> convertConstant(OpContext &op);
Expected<> convertConstantOfShape(OpContext &op);
Expected<> convertShape(OpContext &op);
Expected<> convertSize(OpContext &op);
Expected<> convertRange(OpContext &op);
Expected<> convertEyeLike(OpContext &op);

// OnnxLoopOps.cpp
Expected<> convertLoop(OpContext &op);
Expected<> convertScan(OpContext &op);

// OnnxSequence.cpp
Expected<> convertSequenceEmpty(OpContext &op);
Expected<> convertSequenceConstruct(OpContext &op);
Expected<> convertSequenceInsert(OpContext &op);
Expected<> convertSequenceErase(OpContext &op);
Expected<> convertSequenceAt(OpContext &op);
Expected<> convertSequenceLength(OpContext &op);
Expected<> convertConcatFromSequence(OpContext &op);
Expected<> convertSplitToSequence(OpContext &op);

// OnnxRecurrent.cpp
Expected<> convertRnn(OpContext &op);
Expected<> convertGru(OpContext &op);
Expected<> convertLstm(OpContext &op);
Expected<> convertDynamicQuantizeLstm(OpContext &op);

// The right operand of a binary operator as NumPy would broadcast it. Before
// opset 7 it broadcasts only when asked to, along axes that start at `axis`.
Expected<NodeId> rightOperand(OpContext &op);

// Attribute `axes` of older opsets or input `index` of newer ones; nullopt when
// neither is given. Which one is legal follows from the opset.
Expected<std::optional<std::vector<int64_t>>> axesOf(OpContext &op, size_t index, int inputSince);

} // namespace bycc::onnx
