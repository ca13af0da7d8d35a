// Compile half of the ccompiler vendor: region -> C text -> the system's C
// compiler -> object. Whether a node is taken depends on the node alone, never on
// whether this machine has a C compiler: without one, compile() says so and the
// region returns to the host.
#include "Blob.h"
#include "Program.h"
#include "SystemCompiler.h"

#include <algorithm>

extern "C" const char ccompiler_patterns[];

namespace bycc::ccompiler {

namespace {

// A C compiler's time grows faster than its input.
constexpr size_t maxSteps = 2048;
constexpr uint64_t maxRegionArena = uint64_t{1} << 40;

Expected<Program> planned(const bycc_region &region, std::optional<uint32_t> &blamed) {
  if (region.num_nodes == 0)
    return error(Status::Unsup) << "no node";
  Program program = BYCC_TRY(translate(region, blamed));
  schedule(program);
  if (program.steps.size() > maxSteps)
    return error(Status::Unsup) << program.steps.size() << " loop nests, at most " << maxSteps
                                << " go into one C file";
  if (program.arenaBytes > maxRegionArena)
    return error(Status::Limit) << "needs " << program.arenaBytes << " bytes between its steps";
  return program;
}

// One pattern name stands for one loop nest; else its parts are as good alone.
Expected<> checkComposite(const bycc_node &node, const Program &program) {
  if (!node.body || program.steps.size() <= 1)
    return {};
  return error(Status::Unsup) << "the group takes " << program.steps.size()
                              << " loop nests: " << stepName(program, program.steps[0]) << "; "
                              << stepName(program, program.steps[1]);
}

Expected<vendor::Bytes> blobOf(const Program &program, const bycc_target &target) {
  Blob blob;
  blob.numInputs = static_cast<uint32_t>(program.graph.inputs.size());
  blob.numOutputs = static_cast<uint32_t>(program.graph.outputs.size());
  blob.arenaBytes = program.arenaBytes;
  for (const Value &value : program.graph.values)
    if (value.data && value.inputIndex < 0)
      blob.weightsEnd =
          std::max(blob.weightsEnd, value.weightsOffset + static_cast<uint64_t>(sizeBytes(value)));
  for (const Step &step : program.steps)
    blob.steps.push_back({stepName(program, step), stepSource(program, step)});
  if (!program.copies.empty())
    blob.steps.push_back({"copy", ""});
  blob.object = BYCC_TRY(compileC(emitC(program), program.graph.symbol, target));
  return vendor::write(blobFormat, blob);
}

// What there is, or a refusal.
template <typename T> T orRefuse(Expected<T> result, std::optional<uint32_t> blamed = {}) {
  if (result)
    return std::move(*result);
  vendor::Refusal refusal(result.error().message());
  refusal.node = blamed;
  throw refusal;
}

struct Compiler {
  void supports(const vendor::Question &question) {
    std::optional<uint32_t> blamed;
    Program program = orRefuse(planned(question.region.raw(), blamed));
    if (Expected<> fits = checkComposite(question.node().raw(), program); !fits)
      throw vendor::Refusal(fits.error().message());
  }

  vendor::Bytes compile(const vendor::Question &question) {
    std::optional<uint32_t> blamed;
    Program program = orRefuse(planned(question.region.raw(), blamed), blamed);
    return orRefuse(blobOf(program, question.target), blamed);
  }
};

const bycc_vendor_option options[] = {
    {sizeof(bycc_vendor_option), BYCC_ATTR_STRING, "cc", "", nullptr,
     "the C compiler, with options of its own; without one $CC, else cc", BYCC_VENDOR_OPTION_PATH},
    {sizeof(bycc_vendor_option), BYCC_ATTR_STRING, "opt-level", "3", "0|1|2|3",
     "how much it optimises, as -O of the C compiler", 0},
};

} // namespace
} // namespace bycc::ccompiler

extern "C" const bycc_vendor_compiler *bycc_vendor_compiler_ccompiler(void) {
  using namespace bycc::ccompiler;
  static const std::string names = operatorNames();
  static Compiler half;
  static const bycc_vendor_compiler table =
      bycc::vendor::compilerTable({.name = "ccompiler",
                                   .version = blobVersion,
                                   .patterns = ccompiler_patterns,
                                   .operators = names.c_str(),
                                   .options = options},
                                  half);
  return &table;
}
