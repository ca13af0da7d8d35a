// Inputs and outputs of a model as users name them.
#pragma once

#include "bycc/CodeGen/CodeGen.h"
#include "bycc/IR/Module.h"

#include <string>
#include <vector>

namespace bycc {

struct ModelTensor {
  std::string name; // as in the model
  std::string file; // stem of its .npy: '/' is '_', collisions get ".1", ".2"
  DType dtype = DType::Float32;
  std::vector<Dim> shape;
};

struct ModelInterface {
  std::vector<ModelTensor> inputs, outputs;
};

// Writes the names of outputs that a foreign format gave them to @main, as the attribute
// output_names, so that a program that is printed and read again has them.
void keepNamesOfOutputs(Module &module);

// Parameters and flattened results of @main; names from the attributes "input_names" and
// "output_names" of the module, else of @main, else the parameters and output_0, ...
ModelInterface modelInterface(const Module &module);
// UNSUP errors for those in a layout or on a device.
Expected<> checkInterface(const Module &module);
// The same for host code.
std::vector<CodeTensor> codeTensors(Module &module, const std::vector<ModelTensor> &tensors);

class JsonWriter;
// The list of tensors as `inputs` and `outputs` of reports have it.
void writeTensors(JsonWriter &json, const Module &module, const std::vector<ModelTensor> &tensors);

} // namespace bycc
