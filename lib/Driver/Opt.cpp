// bycc-opt: passes only.

#include "Terminal.h"
#include "bycc/Driver/Driver.h"
#include "bycc/IR/Printer.h"
#include "bycc/Parser/ProgramJson.h"
#include "bycc/Support/File.h"

#include <algorithm>
#include <cstdio>

namespace bycc {
namespace {

Expected<> writeResult(const Options &options, const std::string &text) {
  if (options.output.output && *options.output.output != "-") {
    OutputSet files;
    BYCC_TRY(files.add(*options.output.output, text));
    return files.commit();
  }
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    return error(Status::Io) << "standard output cannot be written";
  return {};
}

Expected<> optimize(Session &session, const Options &options) {
  if (!options.placement.savePlan.empty())
    return error(Status::Usage) << "--save-partition-plan goes with a compilation: bycc MODEL";
  BYCC_TRY(checkSupported(options));
  BYCC_TRY(session.prepare());
  BYCC_TRY(session.load());
  BYCC_TRY(session.enableAskedVendors(false));
  Pipeline pipeline = BYCC_TRY(session.pipeline());
  // -O0 partitions and does nothing else: no code follows that would need it.
  const PassListOptions &o = options.passes;
  if (!o.passes && o.level == 0 && std::ranges::find(o.required, "legalize") == o.required.end())
    std::erase_if(pipeline, [](const PipelineEntry &entry) { return entry.pass == "legalize"; });
  if (options.watch.printPipeline)
    return writeResult(options, "'" + printPipeline(pipeline) + "'\n");
  BYCC_TRY(session.runPasses(pipeline));
  session.printStatistics();
  if (const std::string &file = options.watch.timeTrace; !file.empty()) {
    std::string trace = session.trace().json();
    OutputSet files;
    BYCC_TRY(files.add(file, trace));
    BYCC_TRY(files.commit());
  }
  PrintOptions print;
  print.elideAbove = options.passes.printing.elideConstants;
  // Text that came with names leaves with names.
  print.keepNames = std::ranges::find(session.module().moduleAttrs, "keep_names", &Attr::key) !=
                    session.module().moduleAttrs.end();
  return writeResult(options, printModule(session.module(), print));
}

} // namespace

int optCommand(const Options &options) {
  for (const std::string &file :
       {options.output.output.value_or(""), options.watch.crashReproducer})
    if (!file.empty() && isSameFile(file, options.input.model)) {
      std::fprintf(stderr, "bycc-opt: the output is the input\n");
      return 2;
    }
  CommandSession command(options);
  auto result = optimize(command.session, options);
  return result ? 0 : command.terminal.fail(result.error());
}

} // namespace bycc
