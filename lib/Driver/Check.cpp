// bycc check: which operators cannot be compiled and, when vendors are named, where
// every node would go. The passes are those of the compilation, so that both say
// the same; what vendors make of their regions is not tried.

#include "Terminal.h"
#include "bycc/CodeGen/CodeGen.h"
#include "bycc/Compiler/Interface.h"
#include "bycc/Compiler/Placement.h"
#include "bycc/Driver/Driver.h"
#include "bycc/IR/Visitor.h"
#include "bycc/Partition/OffloadReport.h"
#include "bycc/Partition/RefusalPrices.h"
#include "bycc/Support/File.h"
#include "bycc/Support/Json.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/RegionView.h"

#include <cstdio>

namespace bycc {
namespace {

// Without vendors: what stays after simplification is what must be compiled.
std::string hostPasses(const CompileOptions &options) {
  std::string lower = options.target.precision == "bf16" ? "to-mixed-precision," : "";
  return "simplify-inference,fold-constants,simplify-expr,eliminate-dead-code," + lower +
         "legalize";
}

// What --prices needs before anything runs.
Expected<> checkPriced(const Session &session) {
  const CompileOptions &options = session.options();
  if (session.vendors().size() == 0)
    return error(Status::Usage)
           << "--prices needs vendors that refuse something: --annotate or --rules";
  if (!comparesCosts(options))
    return error(Status::Usage) << "--prices needs costs, which "
                                << (options.vendors.costModel.empty() ? "-O0" : "--cost-model=none")
                                << " does not compare; --cost-model=static does";
  if (!options.vendors.plan.empty())
    return error(Status::Usage)
           << "--prices: --partition-plan says where every node goes, nothing is left to gain";
  return {};
}

// The pass that chooses the plan has filled them, or there was nothing to compare.
Expected<> checkKnown(Session &session, const RefusalPrices &prices) {
  if (prices.isKnown)
    return {};
  if (!session.context().choosesPlan)
    return error(Status::Usage)
           << "--prices needs pass 'choose-plan', which cannot run on this program or is not "
              "in the pass list";
  return error(Status::Usage) << "--prices needs costs, and no vendor in use has any";
}

// `report`: with vendors, of the program as it is partitioned.
Expected<> prepareModel(Session &session, const Options &options, RefusalPrices &prices,
                        OffloadReport &report) {
  if (!options.placement.savePlan.empty())
    return error(Status::Usage) << "--save-partition-plan goes with a compilation: bycc MODEL";
  BYCC_TRY(checkSupported(options));
  BYCC_TRY(session.prepare());
  BYCC_TRY(session.load());
  if (!session.module().main()) {
    SourceLocation location;
    location.file = session.options().input.model;
    return error(Status::Input, location).as(MessageId::NoMain) << "the program has no @main";
  }
  BYCC_TRY(checkInterface(session.module()));
  BYCC_TRY(session.enableAskedVendors(true));
  if (options.check.prices) {
    BYCC_TRY(checkPriced(session));
    session.context().prices = &prices;
  }
  if (session.vendors().size() > 0) {
    // As a compilation reports it: before host operators are put together.
    auto atEnd = [&] { report = session.offloadReport(); };
    BYCC_TRY(session.runPasses(BYCC_TRY(session.pipeline()), {}, atEnd));
    return options.check.prices ? checkKnown(session, prices) : Expected<>();
  }
  Pipeline list = BYCC_TRY(parsePipeline(hostPasses(session.options()), session.registry(), {}));
  return session.runPasses(session.withoutDone(list));
}

// What keeps the model from being compiled: where, and why.
struct Problem {
  std::string name, op, reason;
  Diagnostic diagnostic;
};

Problem problemOf(const Diagnostic &diagnostic) {
  const SourceLocation &place = diagnostic.location;
  return {place.node, place.nodeOp, diagnostic.message, diagnostic};
}

std::string opName(const Module &module, NodeId call) {
  return std::string(opInfo(module.node(call).op).name);
}

// Operator calls that nobody can run: no host code, and in no region of a vendor
// with code of its own.
std::vector<Problem> unsupportedCalls(const Session &session, const Module &module) {
  std::vector<Problem> found;
  auto look = [&](NodeId node) {
    if (module.node(node).kind != NodeKind::CallOp || hasHostCode(module.node(node).op))
      return;
    Problem problem{nodeName(module, node),
                    opName(module, node),
                    "operator " + opName(module, node) + " has no host code",
                    {}};
    problem.diagnostic.status = Status::Unsup;
    problem.diagnostic.location = module.source(node);
    problem.diagnostic.message = problem.name + ": " + problem.reason;
    found.push_back(std::move(problem));
  };
  for (FunctionId function : module.globals()) {
    const Vendor *vendor = session.vendorOf(function);
    if (!vendor || vendor->isEmulated())
      forEachNode(module, module.function(function).body, look);
  }
  return found;
}

// Dtypes, shapes and attributes that host code does not take show when it is built.
std::vector<Problem> hostProblems(Session &session) {
  Module &module = session.module();
  ModelInterface interface = modelInterface(module);
  CodeGenOptions code;
  code.moduleName = session.context().moduleName;
  code.inputs = codeTensors(module, interface.inputs);
  code.outputs = codeTensors(module, interface.outputs);
  code.placeConstant = [](const CodeConstant &) { return uint64_t{0}; };
  code.isEmulated = [&](FunctionId function) {
    const Vendor *vendor = session.vendorOf(function);
    return !vendor || vendor->isEmulated();
  };
  code.ownsMemory = [](FunctionId) { return false; };
  std::vector<Problem> found;
  if (auto built = checkHostCode(module, session.target(), std::move(code)); !built)
    for (const Diagnostic &diagnostic : built.error().diagnostics())
      found.push_back(problemOf(diagnostic));
  return found;
}

Error errorOf(const std::vector<Problem> &problems) {
  std::vector<Diagnostic> found;
  for (const Problem &problem : problems)
    found.push_back(problem.diagnostic);
  return Error(std::move(found));
}

void writeProblems(JsonWriter &json, const Session &session, const std::vector<Problem> &problems) {
  json.key("model").value(session.options().input.model);
  json.key("supported").value(problems.empty()).key("unsupported").beginArray();
  for (const Problem &problem : problems) {
    json.beginObject().key("name").value(problem.name).key("op").value(problem.op);
    json.key("source")
        .value(problem.diagnostic.location.str())
        .key("status")
        .value(name(problem.diagnostic.status));
    json.key("reason").value(problem.reason).endObject();
  }
  json.endArray();
}

// `prices`: null when they are not wanted here.
std::string checkJson(Session &session, const std::vector<Problem> &problems,
                      const OffloadReport *report, const RefusalPrices *prices = nullptr) {
  JsonWriter json;
  json.beginObject();
  writeProblems(json, session, problems);
  if (report && session.vendors().size() > 0) {
    json.key("placement");
    writeNodes(json, *report);
  }
  if (prices) {
    json.key("prices");
    writePrices(json, *prices);
  }
  json.endObject();
  return json.take();
}

// A model that cannot be read: every reason, as JSON too.
int failUnread(CommandSession &command, const Options &options, const Error &error) {
  bool isModel = error.status() == Status::Unsup || error.status() == Status::Input;
  if (!options.json || !isModel)
    return command.terminal.fail(error);
  std::vector<Problem> problems;
  for (const Diagnostic &diagnostic : error.diagnostics())
    problems.push_back(problemOf(diagnostic));
  std::fputs(checkJson(command.session, problems, nullptr).c_str(), stdout);
  return exitCode(error.status());
}

} // namespace

namespace {

// --prices=F: the prices alone; the rest is said as without it.
Expected<> writePriceFile(const Session &session, const std::string &file,
                          const RefusalPrices &prices) {
  for (const std::string &input : session.filesRead())
    if (file == input || isSameFile(file, input))
      return error(Status::Usage).as(MessageId::OutputIsInput)
             << "the output " << escaped(file) << " is an input";
  std::string text = file.ends_with(".json") ? prices.json() : prices.text();
  OutputSet files;
  BYCC_TRY(files.add(file, text));
  return files.commit();
}

} // namespace

int checkCommand(const Options &options) {
  CommandSession command(options);
  Session &session = command.session;
  RefusalPrices prices;
  OffloadReport report;
  command.request.input.maxErrors = 1000; // a list of all, not the first page
  if (auto prepared = prepareModel(session, options, prices, report); !prepared)
    return failUnread(command, options, prepared.error());
  std::vector<Problem> problems = unsupportedCalls(session, session.module());
  if (problems.empty())
    problems = hostProblems(session);
  bool hasPrices = options.check.prices && options.check.pricesFile.empty();
  if (options.check.prices)
    prices.nameRegions(report);
  if (options.check.prices && !hasPrices)
    if (auto written = writePriceFile(session, options.check.pricesFile, prices); !written)
      return command.terminal.fail(written.error());
  std::string text;
  if (options.json)
    text = checkJson(session, problems, &report, hasPrices ? &prices : nullptr);
  else if (hasPrices)
    text = prices.text();
  else if (session.vendors().size() > 0)
    text = report.text();
  else if (problems.empty() && !options.quiet)
    text = escaped(options.input.model) + ": every operator is supported\n";
  std::fputs(text.c_str(), stdout);
  if (problems.empty())
    return 0;
  return options.json ? exitCode(problems.front().diagnostic.status)
                      : command.terminal.fail(errorOf(problems));
}

} // namespace bycc
