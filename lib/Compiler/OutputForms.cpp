#include "bycc/Compiler/OutputForms.h"

namespace bycc {
namespace {

constexpr OutputFormInfo forms[] = {
    {"obj", ".o", false, OutputForm::Object, nullptr},
    {"asm", ".s", true, OutputForm::Assembly, &CompiledModel::assembly},
    {"llvm", ".ll", true, OutputForm::LlvmText, &CompiledModel::llvmText},
    {"loops", ".loops", true, OutputForm::Loops, &CompiledModel::loops},
    {"relay", ".opt.relay", true, OutputForm::Relay, &CompiledModel::relay},
    {"json", ".opt.json", true, OutputForm::Json, &CompiledModel::json},
    {"header", ".h", true, OutputForm::Header, &CompiledModel::header},
    {"dot", ".dot", true, OutputForm::Dot, &CompiledModel::dot},
    {"html", ".html", true, OutputForm::Html, &CompiledModel::html},
};

} // namespace

std::span<const OutputFormInfo> outputForms() { return forms; }

const OutputFormInfo *findOutputForm(std::string_view name) {
  for (const OutputFormInfo &form : forms)
    if (form.name == name)
      return &form;
  return nullptr;
}

} // namespace bycc
