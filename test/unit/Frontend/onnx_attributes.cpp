// Attributes and operand values that are wrong: rows E1 to E6 of the bad-input
// list. Each message names the node and what was wrong.
#include "ModelMaker.h"

#include <catch2/catch.hpp>

using namespace bycc;
using namespace bycc::test;

namespace {

// One node over x: [1, 4, 6, 6] and a weight w: [8, 4, 3, 3].
struct OneNode {
  explicit OneNode(const std::string &op, Names inputs = {"x"}, Ints dims = {1, 4, 6, 6})
      : node((maker.input("x", dims), maker.constant(floats("w", {8, 4, 3, 3})),
              maker.node(op, inputs, {"y"}))) {
    maker.output("y");
  }
  std::string problem() const { return problemOf(maker); }
  ModelMaker maker;
  NodeMaker node;
};

OneNode conv() { return OneNode("Conv", {"x", "w"}); }

} // namespace

#define CHECK_PROBLEM(one, text)                                                                   \
  do {                                                                                             \
    std::string problem = (one).problem();                                                         \
    CHECK(has(problem, "node 'y' ("));                                                             \
    CHECK(has(problem, text));                                                                     \
  } while (false)

TEST_CASE("E1: strides, dilations, blocks and groups") {
  OneNode stride("Conv", {"x", "w"});
  stride.node.ints("strides", {0, 1});
  CHECK_PROBLEM(stride, "strides has the value 0");
  OneNode dilation("Conv", {"x", "w"});
  dilation.node.ints("dilations", {1, -1});
  CHECK_PROBLEM(dilation, "dilations has the value -1");
  OneNode group("Conv", {"x", "w"});
  group.node.integer("group", 3);
  CHECK_PROBLEM(group, "group 3 does not divide 8 channels");
  OneNode zero("Conv", {"x", "w"});
  zero.node.integer("group", 0);
  CHECK_PROBLEM(zero, "error[INPUT]");
  OneNode block("DepthToSpace");
  block.node.integer("blocksize", 0);
  CHECK_PROBLEM(block, "blocksize is 0");
}

TEST_CASE("E2: windows and pads") {
  OneNode pads("Conv", {"x", "w"});
  pads.node.ints("pads", {0, 0, 0, -1});
  CHECK_PROBLEM(pads, "pads has the value -1");
  OneNode large("Conv", {"x", "w"}, {1, 4, 2, 2});
  CHECK_PROBLEM(large, "error[INPUT]");
  OneNode pool("MaxPool");
  pool.node.ints("kernel_shape", {7, 7});
  CHECK_PROBLEM(pool, "error[INPUT]");
  OneNode padded("MaxPool");
  padded.node.ints("kernel_shape", {2, 2}).ints("pads", {2, 0, 0, 0});
  CHECK_PROBLEM(padded, "padding 2 is not smaller than the window");
  for (const char *mode : {"constant", "edge", "reflect", "wrap"}) {
    for (const Ints &widths : {Ints{-3, -4}, Ints{-9, 20}, Ints{9, -12}}) {
      OneNode cut("Pad", {"x", "widths"});
      cut.maker.opset(19);
      cut.node.text("mode", mode);
      cut.maker.constant(longs("widths", {8}, {0, 0, widths[0], 0, 0, 0, widths[1], 0}));
      CHECK_PROBLEM(cut, "take more than the 6 elements of axis 2");
    }
  }
}

TEST_CASE("E3: axes, permutations and splits") {
  OneNode axis("Softmax");
  axis.node.integer("axis", 4);
  CHECK_PROBLEM(axis, "axis 4 is out of range for rank 4");
  OneNode twice("ReduceMax");
  twice.node.ints("axes", {1, -3});
  CHECK_PROBLEM(twice, "axis 1 is given twice");
  OneNode perm("Transpose");
  perm.node.ints("perm", {0, 1, 1, 2});
  CHECK_PROBLEM(perm, "is no permutation");
  OneNode shortPerm("Transpose");
  shortPerm.node.ints("perm", {0, 1});
  CHECK_PROBLEM(shortPerm, "is no permutation");
  OneNode sum("Split", {"x", "lengths"});
  sum.maker.constant(longs("lengths", {1}, {3}));
  sum.node.integer("axis", 1);
  CHECK_PROBLEM(sum, "split [3] of 4");
  OneNode negative("Split", {"x", "lengths"});
  negative.maker.constant(longs("lengths", {1}, {INT64_MIN}));
  CHECK_PROBLEM(negative, "does not sum");
  OneNode both("Split", {"x", "lengths"});
  both.maker.opset(18);
  both.maker.constant(longs("lengths", {1}, {1}));
  both.node.integer("num_outputs", 1);
  CHECK_PROBLEM(both, "has both num_outputs and lengths");
}

TEST_CASE("E6: OneHot takes two values") {
  for (int64_t count : {1, 3}) {
    OneNode one("OneHot", {"x", "depth", "values"});
    one.maker.constant(longs("depth", {}, {3}));
    one.maker.constant(
        floats("values", {count}, std::vector<float>(static_cast<size_t>(count), 1)));
    CHECK_PROBLEM(one, "two are needed: off and on");
  }
}

TEST_CASE("E4: missing, mistyped and repeated attributes") {
  OneNode missing("Concat");
  CHECK_PROBLEM(missing, "attribute 'axis' is missing");
  OneNode type("Softmax");
  type.node.number("axis", 1);
  CHECK_PROBLEM(type, "attribute 'axis' has type 1, wanted 2");
  OneNode repeated("Softmax");
  repeated.node.integer("axis", 1).integer("axis", 2);
  CHECK_PROBLEM(repeated, "attribute 'axis' is given twice");
  OneNode unknown("Relu");
  unknown.node.integer("speed", 1);
  CHECK_PROBLEM(unknown, "attribute 'speed' is not supported here");
  OneNode epsilon("InstanceNormalization", {"x", "s", "s"});
  epsilon.maker.constant(floats("s", {4}));
  epsilon.node.number("epsilon", -1);
  CHECK_PROBLEM(epsilon, "epsilon -1 is not legal");
  OneNode topk("TopK", {"x", "k"});
  topk.maker.constant(longs("k", {1}, {7}));
  CHECK_PROBLEM(topk, "k is 7, the axis has 6 elements");
}

TEST_CASE("E4: Clip with min above max gives max") {
  OneNode clip("Clip", {"x", "low", "high"});
  clip.maker.constant(floats("low", {}, {3}));
  clip.maker.constant(floats("high", {}, {1}));
  CHECK(clip.problem() == ""); // min(max(x, 3), 1)
}

TEST_CASE("E4: a bound of Clip is one number") {
  OneNode clip("Clip", {"x", "low"});
  clip.maker.constant(floats("low", {3}, {1, 2, 3}));
  CHECK_PROBLEM(clip, "min is one number, its type is Tensor[(3), float32]");
  OneNode list("Clip", {"x", "low"});
  list.maker.constant(floats("low", {1}, {1}));
  CHECK(list.problem() == "");
}

TEST_CASE("E5: shapes and ranges") {
  auto reshape = [](const Ints &shape) {
    OneNode one("Reshape", {"x", "shape"});
    one.maker.constant(longs("shape", {static_cast<int64_t>(shape.size())}, shape));
    return one.problem();
  };
  CHECK(has(reshape({-1, -1}), "shape has -1 twice"));
  CHECK(has(reshape({5, -1}), "do not divide"));
  CHECK(has(reshape({145}), "of 145 elements"));
  CHECK(has(reshape({-2}), "shape has the value -2"));
  CHECK(has(reshape({int64_t{1} << 62, 4}), "error[LIMIT]"));
  CHECK(has(reshape({1, 1, 1, 1, 0}), "the input has rank 4"));
  OneNode zero("Reshape", {"x", "shape"});
  zero.maker.constant(longs("shape", {2}, {0, -1}));
  zero.node.integer("allowzero", 1);
  CHECK_PROBLEM(zero, "both 0 and -1");

  OneNode open("Reshape", {"x", "shape"}, {0, 3});
  open.maker.constant(longs("shape", {2}, {0, -1}));
  CHECK_PROBLEM(open, "-1 beside an extent of 0");

  auto range = [](int64_t start, int64_t limit, int64_t delta) {
    ModelMaker maker;
    maker.constant(longs("a", {}, {start}));
    maker.constant(longs("b", {}, {limit}));
    maker.constant(longs("c", {}, {delta}));
    maker.node("Range", {"a", "b", "c"}, {"y"});
    maker.output("y");
    return summary(maker);
  };
  CHECK(range(0, 10, 3) == ": Tensor[(4), int64]");
  CHECK(range(5, 0, -2) == ": Tensor[(3), int64]");
  CHECK(range(0, 2000, 1) == ": Tensor[(2000), int64]");
  CHECK(has(range(0, 10, 0), "error[INPUT]"));
  CHECK(has(range(0, int64_t{1} << 62, 1), "error[LIMIT]"));
}

TEST_CASE("E6: constant indices and weights of a wrong rank") {
  for (int64_t index : {4, -5}) {
    OneNode gather("Gather", {"x", "i"});
    gather.maker.constant(longs("i", {1}, {index}));
    gather.node.integer("axis", 1);
    CHECK_PROBLEM(gather, "is out of range for an axis of 4 elements");
  }
  OneNode scatter("ScatterElements", {"x", "i", "u"});
  scatter.maker.constant(longs("i", {1, 1, 1, 1}, {9}));
  scatter.maker.constant(floats("u", {1, 1, 1, 1}));
  CHECK_PROBLEM(scatter, "is out of range for an axis of 1 elements");
  OneNode rank("Conv", {"x", "v"});
  rank.maker.constant(floats("v", {8, 4, 3}));
  CHECK_PROBLEM(rank, "weight of rank 3, the input has rank 4");
  CHECK(conv().problem() == "");
}
