// Compile half of the xnnpack vendor: answers for nodes, and writes regions as programs with
// weights in the order that XNNPACK wants. It needs no XNNPACK.
#include "Translate.h"

extern "C" const char xnnpack_patterns[];

namespace bycc::xnnpack {

namespace {

struct Compiler {
  void supports(const kit::Question &question) { Translator translator(question.region); }
  kit::Bytes compile(const kit::Question &question) {
    return Translator(question.region).blob(question);
  }
};

} // namespace
} // namespace bycc::xnnpack

extern "C" const bycc_vendor_compiler *bycc_vendor_compiler_xnnpack(void) {
  using namespace bycc::xnnpack;
  static Compiler half;
  static const bycc_vendor_compiler table =
      kit::compilerTable({.name = "xnnpack",
                          .version = programVersion,
                          .patterns = xnnpack_patterns,
                          .operators = Translator::operators(),
                          .flags = BYCC_VENDOR_OWN_WEIGHTS | BYCC_VENDOR_LOSES_NAN},
                         half);
  return &table;
}
