// Functions of a model's own: what a call becomes, what binds, what is refused.
#include "ModelMaker.h"

#include <catch2/catch.hpp>

using namespace bycc;
using namespace bycc::test;

namespace {

// Adds a function of domain "my" that imports ai.onnx 17 and my 1.
class FunctionMaker {
public:
  FunctionMaker(ModelMaker &maker, const std::string &name, const Names &inputs,
                const Names &outputs)
      : proto(*maker.model.add_functions()) {
    proto.set_name(name);
    proto.set_domain("my");
    for (const std::string &input : inputs)
      proto.add_input(input);
    for (const std::string &output : outputs)
      proto.add_output(output);
    opset("", 17);
    opset("my", 1);
  }
  void opset(const std::string &domain, int64_t version) {
    auto &entry = *proto.add_opset_import();
    entry.set_domain(domain);
    entry.set_version(version);
  }
  NodeMaker node(const std::string &op, const Names &inputs, const Names &outputs) {
    ::onnx::NodeProto &made = *proto.add_node();
    made.set_op_type(op);
    for (const std::string &name : inputs)
      made.add_input(name);
    for (const std::string &name : outputs)
      made.add_output(name);
    last_ = &made;
    return NodeMaker(made);
  }
  // An attribute of the node made last that has the value of the caller's.
  void refer(const std::string &name, const std::string &to,
             ::onnx::AttributeProto::AttributeType type) {
    auto &attribute = *last_->add_attribute();
    attribute.set_name(name);
    attribute.set_ref_attr_name(to);
    attribute.set_type(type);
  }
  // Fields that this system's message class does not have.
  void raw(int number, const std::string &bytes) {
    proto.GetReflection()->MutableUnknownFields(&proto)->AddLengthDelimited(number, bytes);
  }
  void defaultOf(const ::onnx::AttributeProto &attribute) {
    raw(11, attribute.SerializeAsString());
  }
  void overload(const std::string &name) { raw(13, name); }

  ::onnx::FunctionProto &proto;

private:
  ::onnx::NodeProto *last_ = nullptr;
};

::onnx::AttributeProto intAttribute(const std::string &name, int64_t value) {
  ::onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(::onnx::AttributeProto::INT);
  attribute.set_i(value);
  return attribute;
}

// x [2, 3] -> OP of domain my -> y
ModelMaker calling(const std::string &op) {
  ModelMaker maker;
  maker.opset(17);
  maker.opset(1, "my");
  maker.input("x", {2, 3});
  maker.node(op, {"x"}, {"y"}).domain("my");
  maker.output("y");
  return maker;
}

} // namespace

TEST_CASE("a call becomes the function's body, however often") {
  ModelMaker maker = calling("Twice");
  maker.node("Twice", {"y"}, {"z"}).domain("my");
  maker.output("z");
  FunctionMaker function(maker, "Twice", {"a"}, {"b"});
  function.node("Relu", {"a"}, {"t"});
  function.node("Add", {"t", "t"}, {"b"});
  CHECK(summary(maker) ==
        "nn.relu add nn.relu add : (Tensor[(2, 3), float32], Tensor[(2, 3), float32])");
}

TEST_CASE("functions call functions, and name their nodes after the calls") {
  ModelMaker maker = calling("Outer");
  FunctionMaker outer(maker, "Outer", {"a"}, {"b"});
  outer.node("Inner", {"a"}, {"b"}).domain("my").called("call");
  FunctionMaker inner(maker, "Inner", {"a"}, {"c"});
  inner.node("Nothing", {"a"}, {"c"}).called("deep");
  CHECK(has(problemOf(maker), "node 'y/call/deep' (Nothing): error[UNSUP]"));
}

TEST_CASE("attributes of the caller, defaults, and attributes left out") {
  ModelMaker maker = calling("Sum");
  FunctionMaker function(maker, "Sum", {"a"}, {"b"});
  function.node("ReduceMax", {"a"}, {"b"});
  function.refer("keepdims", "keep", ::onnx::AttributeProto::INT);
  function.refer("axes", "axes", ::onnx::AttributeProto::INTS);
  function.proto.add_attribute("axes");
  function.defaultOf(intAttribute("keep", 0));
  CHECK(summary(maker) == "max : float32");
  NodeMaker(*maker.graph.mutable_node(0)).ints("axes", {1});
  CHECK(summary(maker) == "max : Tensor[(2), float32]");
  NodeMaker(*maker.graph.mutable_node(0)).integer("keep", 1);
  CHECK(summary(maker) == "max : Tensor[(2, 1), float32]");
  NodeMaker(*maker.graph.mutable_node(0)).integer("other", 1);
  CHECK(has(problemOf(maker),
            "node 'y' (Sum): error[INPUT]: function my.Sum has no attribute 'other'"));
}

TEST_CASE("a function's opset is its own") {
  ModelMaker maker = calling("Soft");
  maker.graph.mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->add_dim()
      ->set_dim_value(4);
  FunctionMaker function(maker, "Soft", {"a"}, {"b"});
  function.node("Softmax", {"a"}, {"b"});
  CHECK(summary(maker) == "nn.softmax : Tensor[(2, 3, 4), float32]");
  function.proto.mutable_opset_import(0)->set_version(12); // over all axes from 1 on
  CHECK(summary(maker) == "reshape nn.softmax reshape : Tensor[(2, 3, 4), float32]");
  function.proto.clear_opset_import();
  CHECK(has(problemOf(maker), "error[INPUT]: function my.Soft imports no opset of ai.onnx"));
}

TEST_CASE("an input that the caller leaves out is left out in the body") {
  ModelMaker maker = calling("Bound");
  maker.constant(floats("high", {}, {6}));
  maker.graph.mutable_node(0)->add_input("");
  maker.graph.mutable_node(0)->add_input("high");
  FunctionMaker function(maker, "Bound", {"a", "low", "high", "unused"}, {"b"});
  function.node("Clip", {"a", "low", "high"}, {"b"});
  CHECK(summary(maker) == "minimum : Tensor[(2, 3), float32]"); // no lower bound
}

TEST_CASE("the overload chooses among functions of one name") {
  ModelMaker maker = calling("Act");
  FunctionMaker first(maker, "Act", {"a"}, {"b"});
  first.node("Relu", {"a"}, {"b"});
  FunctionMaker second(maker, "Act", {"a"}, {"b"});
  second.node("Tanh", {"a"}, {"b"});
  CHECK(has(problemOf(maker), "error[INPUT]: function my.Act is defined twice"));
  second.overload("t");
  CHECK(summary(maker) == "nn.relu : Tensor[(2, 3), float32]");
  auto &node = *maker.graph.mutable_node(0);
  node.GetReflection()->MutableUnknownFields(&node)->AddLengthDelimited(8, "t");
  CHECK(summary(maker) == "tanh : Tensor[(2, 3), float32]");
}

TEST_CASE("a function sees its inputs only") {
  ModelMaker maker = calling("Leak");
  FunctionMaker function(maker, "Leak", {"a"}, {"b"});
  function.node("Add", {"a", "x"}, {"b"});
  CHECK(has(problemOf(maker), "error[INPUT]: input 'x' is made by no node"));
  function.proto.mutable_node(0)->set_input(1, "a");
  function.proto.set_output(0, "c");
  CHECK(has(problemOf(maker),
            "node 'y' (Leak): error[INPUT]: output 'c' of function my.Leak is made by no node"));
}

TEST_CASE("a reference to a caller's attribute stands in a function only") {
  ModelMaker maker = calling("F");
  FunctionMaker function(maker, "F", {"a"}, {"b"});
  function.node("Relu", {"a"}, {"b"});
  auto &attribute = *maker.graph.mutable_node(0)->add_attribute();
  attribute.set_name("axis");
  attribute.set_ref_attr_name("axis");
  CHECK(has(problemOf(maker),
            "node 'y' (F): error[INPUT]: attribute 'axis' refers to one of a function"));
}

TEST_CASE("C5: functions that call themselves are refused") {
  ModelMaker self = calling("F");
  FunctionMaker(self, "F", {"a"}, {"b"}).node("F", {"a"}, {"b"}).domain("my");
  CHECK(has(problemOf(self), "error[INPUT]: function my.F calls itself"));

  ModelMaker mutual = calling("F");
  FunctionMaker(mutual, "F", {"a"}, {"b"}).node("G", {"a"}, {"b"}).domain("my");
  FunctionMaker(mutual, "G", {"a"}, {"b"}).node("F", {"a"}, {"b"}).domain("my");
  CHECK(has(problemOf(mutual), "calls itself"));

  ModelMaker branch = calling("F");
  ::onnx::GraphProto graph;
  graph.set_name("g");
  auto &call = *graph.add_node();
  call.set_op_type("F");
  call.set_domain("my");
  call.add_input("a");
  call.add_output("t");
  graph.add_output()->set_name("t");
  FunctionMaker function(branch, "F", {"a"}, {"b"});
  function.node("If", {"a"}, {"b"}).graph("then_branch", graph).graph("else_branch", graph);
  CHECK(has(problemOf(branch), "calls itself"));
}

TEST_CASE("C5: chains of functions are limited in depth, number and size") {
  auto chain = [](int count, int callsEach) {
    ModelMaker maker = calling("F0");
    for (int i = 0; i < count; ++i) {
      FunctionMaker function(maker, "F" + std::to_string(i), {"a"}, {"b"});
      std::string value = "a";
      for (int call = 0; call < callsEach; ++call) {
        std::string next = call + 1 == callsEach ? "b" : "t" + std::to_string(call);
        if (i + 1 == count)
          function.node("Relu", {value}, {next});
        else
          function.node("F" + std::to_string(i + 1), {value}, {next}).domain("my");
        value = next;
      }
    }
    return maker;
  };
  CHECK(problemOf(chain(100, 1)) == "");
  CHECK(has(problemOf(chain(101, 1)), "error[LIMIT]"));
  CHECK(has(problemOf(chain(40, 2)), "error[LIMIT]"));
  CHECK(has(problemOf(chain(10001, 1)), "error[LIMIT]: byte"));
}
