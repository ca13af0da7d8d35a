// Small ONNX models for the tests, written with ONNX's own message classes.
#pragma once

#include "bycc/Frontend/Onnx.h"
#include "bycc/IR/Printer.h"
#include "bycc/IR/Verifier.h"
#include "bycc/IR/Visitor.h"

#include <onnx/onnx_pb.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace bycc::test {

using Ints = std::vector<int64_t>;
using Names = std::vector<std::string>;
constexpr int f32 = ::onnx::TensorProto::FLOAT, i64 = ::onnx::TensorProto::INT64;

// Attributes of the node made last: maker.node(...).ints("pads", {1, 1}).
class NodeMaker {
public:
  explicit NodeMaker(::onnx::NodeProto &node) : node_(node) {}
  NodeMaker &integer(const std::string &name, int64_t value) {
    ::onnx::AttributeProto &attribute = add(name, ::onnx::AttributeProto::INT);
    attribute.set_i(value);
    return *this;
  }
  NodeMaker &ints(const std::string &name, const Ints &values) {
    ::onnx::AttributeProto &attribute = add(name, ::onnx::AttributeProto::INTS);
    for (int64_t value : values)
      attribute.add_ints(value);
    return *this;
  }
  NodeMaker &number(const std::string &name, float value) {
    add(name, ::onnx::AttributeProto::FLOAT).set_f(value);
    return *this;
  }
  NodeMaker &numbers(const std::string &name, const std::vector<float> &values) {
    ::onnx::AttributeProto &attribute = add(name, ::onnx::AttributeProto::FLOATS);
    for (float value : values)
      attribute.add_floats(value);
    return *this;
  }
  NodeMaker &text(const std::string &name, const std::string &value) {
    add(name, ::onnx::AttributeProto::STRING).set_s(value);
    return *this;
  }
  NodeMaker &tensor(const std::string &name, const ::onnx::TensorProto &value) {
    *add(name, ::onnx::AttributeProto::TENSOR).mutable_t() = value;
    return *this;
  }
  NodeMaker &graph(const std::string &name, const ::onnx::GraphProto &value) {
    *add(name, ::onnx::AttributeProto::GRAPH).mutable_g() = value;
    return *this;
  }
  NodeMaker &called(const std::string &name) {
    node_.set_name(name);
    return *this;
  }
  NodeMaker &domain(const std::string &name) {
    node_.set_domain(name);
    return *this;
  }

private:
  ::onnx::AttributeProto &add(const std::string &name, ::onnx::AttributeProto::AttributeType type) {
    ::onnx::AttributeProto &attribute = *node_.add_attribute();
    attribute.set_name(name);
    attribute.set_type(type);
    return attribute;
  }
  ::onnx::NodeProto &node_;
};

inline ::onnx::TensorProto floats(const std::string &name, const Ints &dims,
                                  std::vector<float> values = {}) {
  ::onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(f32);
  size_t count = 1;
  for (int64_t dim : dims) {
    tensor.add_dims(dim);
    count *= dim;
  }
  values.resize(count, values.empty() ? 0.5f : values.back());
  tensor.set_raw_data(values.data(), values.size() * sizeof(float));
  return tensor;
}

inline ::onnx::TensorProto longs(const std::string &name, const Ints &dims, const Ints &values) {
  ::onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(i64);
  for (int64_t dim : dims)
    tensor.add_dims(dim);
  for (int64_t value : values)
    tensor.add_int64_data(value);
  return tensor;
}

// A graph under construction; top level unless `graph` is given.
class ModelMaker {
public:
  ModelMaker() : graph(*model.mutable_graph()) { opset(17); }
  ModelMaker(const ModelMaker &other) : model(other.model), graph(*model.mutable_graph()) {}
  ModelMaker &operator=(const ModelMaker &other) {
    model.CopyFrom(other.model);
    return *this;
  }
  void opset(int64_t version, const std::string &domain = "") {
    if (domain.empty())
      model.clear_opset_import();
    model.set_ir_version(8);
    ::onnx::OperatorSetIdProto &entry = *model.add_opset_import();
    entry.set_domain(domain);
    entry.set_version(version);
  }
  void input(const std::string &name, const Ints &dims, int type = f32) {
    value(*graph.add_input(), name, dims, type);
  }
  void symbolicInput(const std::string &name, const Names &dims, int type = f32) {
    ::onnx::ValueInfoProto &info = *graph.add_input();
    value(info, name, {}, type);
    for (const std::string &dim : dims)
      info.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_param(dim);
  }
  void output(const std::string &name) { graph.add_output()->set_name(name); }
  void output(const std::string &name, const Ints &dims, int type = f32) {
    value(*graph.add_output(), name, dims, type);
  }
  void constant(const ::onnx::TensorProto &tensor) { *graph.add_initializer() = tensor; }
  NodeMaker node(const std::string &op, const Names &inputs, const Names &outputs) {
    ::onnx::NodeProto &made = *graph.add_node();
    made.set_op_type(op);
    for (const std::string &name : inputs)
      made.add_input(name);
    for (const std::string &name : outputs)
      made.add_output(name);
    return NodeMaker(made);
  }
  std::string bytes() const { return model.SerializeAsString(); }
  Expected<Module> import(const OnnxImportOptions &options = {}) const;

  ::onnx::ModelProto model;
  ::onnx::GraphProto &graph;

  static void value(::onnx::ValueInfoProto &info, const std::string &name, const Ints &dims,
                    int type) {
    info.set_name(name);
    ::onnx::TypeProto::Tensor &tensor = *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    tensor.mutable_shape();
    for (int64_t dim : dims)
      tensor.mutable_shape()->add_dim()->set_dim_value(dim);
  }
};

inline Expected<Module> importText(const std::string &bytes,
                                   const OnnxImportOptions &options = {}) {
  return importOnnx(Storage::copyOf(bytes.data(), bytes.size()), "test.onnx", "/nonexistent",
                    options);
}

inline Expected<Module> ModelMaker::import(const OnnxImportOptions &options) const {
  return importText(bytes(), options);
}

// The error's text, "" when the import went well (then the module verifies).
inline std::string problemOf(Expected<Module> result) {
  if (!result)
    return result.error().str();
  Expected<> verified = verify(*result);
  return verified ? "" : "does not verify: " + verified.error().str();
}
inline std::string problemOf(const ModelMaker &maker, const OnnxImportOptions &options = {}) {
  return problemOf(maker.import(options));
}

// Names of main's operators, and the type of its result: "nn.conv2d nn.bias_add
// : Tensor[(1, 2, 3, 3), float32]"; the error's text if there is one.
inline std::string summary(Expected<Module> result) {
  if (!result)
    return result.error().str();
  Expected<> verified = verify(*result);
  if (!verified)
    return "does not verify: " + verified.error().str();
  const Module &module = *result;
  std::string text;
  const Function &main = module.function(module.main());
  forEachNode(module, main.body, [&](NodeId node) {
    if (module.node(node).kind == NodeKind::CallOp)
      text += std::string(opInfo(module.node(node).op).name) + " ";
  });
  return text + ": " + module.types.str(module.type(module.block(main.body).result));
}
inline std::string summary(const ModelMaker &maker, const OnnxImportOptions &options = {}) {
  return summary(maker.import(options));
}

inline bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

} // namespace bycc::test
