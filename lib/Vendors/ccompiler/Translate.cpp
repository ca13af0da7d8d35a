// Operators -> pieces, by the tables of the families.
#include "Translate.h"

#include <algorithm>
#include <map>

namespace bycc::ccompiler {

void Translator::view(ValueId operand) {
  program_.graph.values[op_.outputs[0]].root = program_.value(operand).root;
}

void Translator::map(const std::string &formula, std::vector<Operand> operands, size_t output) {
  program_.pieces.push_back({op_.outputs[output], std::string(name()),
                             std::string(op_.node.source()), formula, std::move(operands),
                             nullptr});
}

void Translator::anchor(std::shared_ptr<const Anchor> anchor) {
  program_.pieces.push_back({op_.outputs[0],
                             std::string(name()),
                             std::string(op_.node.source()),
                             "",
                             {},
                             std::move(anchor)});
}

Expected<Operand> Translator::broadcast(size_t index) const {
  const Dims &from = input(index).dims, &to = output().dims;
  bool fits = from.size() <= to.size();
  Operand operand{inputId(index), Dims(to.size(), 0), 0};
  Dims own = rowStrides(from);
  for (size_t i = 0; fits && i < from.size(); ++i) {
    size_t at = to.size() - from.size() + i;
    fits = from[i] == to[at] || from[i] == 1;
    operand.strides[at] = from[i] == 1 ? 0 : own[i];
  }
  if (!fits)
    return refuse() << text(from) << " does not broadcast to " << text(to);
  return operand;
}

Expected<Operand> Translator::alongAxis(size_t index, size_t axis) const {
  const Dims &from = input(index).dims, &to = output().dims;
  if (from.size() != 1 || from[0] != to[axis])
    return refuse() << "operand " << index << " is " << text(from) << ", wanted (" << to[axis]
                    << ")";
  Operand operand{inputId(index), Dims(to.size(), 0), 0};
  operand.strides[axis] = 1;
  return operand;
}

Expected<> Translator::expectInputs(size_t count) const {
  if (numInputs() != count || numOutputs() == 0)
    return refuse() << "takes " << count << " operands, got " << numInputs();
  return {};
}

Expected<> Translator::expectOutput(const Dims &dims) const {
  if (output().dims != dims)
    return refuse() << "result is " << text(output().dims) << ", wanted " << text(dims);
  return {};
}

Expected<> Translator::expectOneKind() const {
  for (size_t i = 0; i < numInputs(); ++i)
    for (size_t o = 0; o < numOutputs(); ++o)
      if (isFloat(input(i).dtype) != isFloat(output(o).dtype))
        return refuse() << "takes " << bycc::name(input(i).dtype) << " to "
                        << bycc::name(output(o).dtype);
  return {};
}

namespace {

const std::map<std::string_view, Translation> &translations() {
  static const std::map<std::string_view, Translation> table = [] {
    std::map<std::string_view, Translation> all;
    for (const auto &family :
         {elementwiseTranslations(), movementTranslations(), productTranslations(),
          convolutionTranslations(), poolTranslations(), reduceTranslations()})
      for (const TranslationEntry &entry : family)
        all.emplace(entry.op, entry.translate);
    return all;
  }();
  return table;
}

} // namespace

Expected<Program> translate(const bycc_region &region, std::optional<uint32_t> &blamed) {
  try {
    Program program;
    program.graph = readGraph(vendor::Region(region));
    const std::vector<Op> ops = program.graph.ops;
    for (const Op &op : ops) {
      blamed = op.place;
      auto found = translations().find(op.node.op());
      if (found == translations().end())
        return error(Status::Unsup) << op.node.op() << ": no C is written for this operator";
      Translator translator(program, op);
      try {
        BYCC_TRY(found->second(translator));
      } catch (const vendor::Refusal &refusal) {
        return translator.refuse() << refusal.what();
      }
    }
    blamed.reset();
    return program;
  } catch (const vendor::Refusal &refusal) {
    blamed = refusal.node;
    return error(Status::Unsup) << refusal.what();
  }
}

std::string operatorNames() {
  std::string names;
  for (const auto &[name, entry] : translations())
    names += (names.empty() ? "" : " ") + std::string(name);
  return names;
}

} // namespace bycc::ccompiler
