// What the operator families share: access to one operator call, and the ways to
// say what it computes.
#pragma once

#include "Program.h"

namespace bycc::ccompiler {

class Translator {
public:
  Translator(Program &program, const Op &op) : attributes(op.node), program_(program), op_(op) {}

  const vendor::Attributes attributes;
  std::string_view name() const { return op_.node.op(); }
  size_t numInputs() const { return op_.inputs.size(); }
  size_t numOutputs() const { return op_.outputs.size(); }
  ValueId inputId(size_t index) const { return op_.inputs[index]; }
  ValueId outputId(size_t index = 0) const { return op_.outputs[index]; }
  const Value &input(size_t index) const { return program_.value(op_.inputs[index]); }
  const Value &output(size_t index = 0) const { return program_.value(op_.outputs[index]); }

  // The output has the input's bytes.
  void view(ValueId operand);
  // The output's elements are `formula` of the operands' elements.
  void map(const std::string &formula, std::vector<Operand> operands, size_t output = 0);
  void anchor(std::shared_ptr<const Anchor> anchor);
  void helper(const std::string &definition) { program_.helpers.insert(definition); }

  // An operand broadcast to the output as NumPy does.
  Expected<Operand> broadcast(size_t input) const;
  // A vector along one axis of the output.
  Expected<Operand> alongAxis(size_t input, size_t axis) const;
  ErrorBuilder refuse() const { return error(Status::Unsup) << name() << ": "; }
  Expected<> expectInputs(size_t count) const;
  // The output's dims as the operator defines them.
  Expected<> expectOutput(const Dims &dims) const;
  // All inputs and outputs hold floats, or all integers.
  Expected<> expectOneKind() const;

private:
  Program &program_;
  const Op &op_;
};

using Translation = Expected<> (*)(Translator &);
struct TranslationEntry {
  std::string_view op;
  Translation translate;
};

// By family; sorted within.
std::vector<TranslationEntry> elementwiseTranslations();
std::vector<TranslationEntry> movementTranslations();
std::vector<TranslationEntry> productTranslations();
std::vector<TranslationEntry> convolutionTranslations();
std::vector<TranslationEntry> poolTranslations();
std::vector<TranslationEntry> reduceTranslations();

} // namespace bycc::ccompiler
