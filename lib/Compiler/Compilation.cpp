#include "Compilation.h"

#include "CHeader.h"
#include "KeptParams.h"
#include "ResultFlags.h"
#include "VendorRegions.h"
#include "ViewOfModel.h"
#include "bycc/Compiler/Placement.h"
#include "bycc/IR/Printer.h"
#include "bycc/Parser/ProgramJson.h"
#include "bycc/Runtime/CheckSet.h"
#include "bycc/Support/GraphSet.h"
#include "bycc/Support/Hash.h"
#include "bycc/Support/Messages.h"

#include <algorithm>

namespace bycc {
namespace {

std::vector<TensorInfo> tensorInfos(const Module &module, const std::vector<ModelTensor> &tensors) {
  std::vector<TensorInfo> infos;
  for (const ModelTensor &tensor : tensors) {
    TensorInfo &info =
        infos.emplace_back(TensorInfo{tensor.name, tensor.file, tensor.dtype, {}, {}});
    for (Dim dim : tensor.shape) {
      info.shape.push_back(dim.isConst() ? dim.value() : -1);
      info.dims.push_back(dim.isConst() ? std::to_string(dim.value()) : module.types.str(dim));
    }
  }
  return infos;
}

} // namespace

Expected<CompiledModel> Compilation::run() {
  Expected<> done = compile();
  session_.flushMessages();
  BYCC_TRY(std::move(done));
  session_.printStatistics();
  model_.messages = session_.takeMessages();
  model_.filesRead = session_.filesRead();
  model_.passTimes = session_.passTimes();
  model_.trace = session_.trace();
  return std::move(model_);
}

Expected<> Compilation::compile() {
  BYCC_TRY(session_.prepare());
  BYCC_TRY(session_.load());
  if (request_.callbacks.loaded)
    BYCC_TRY(request_.callbacks.loaded(session_.filesRead()));
  if (!session_.module().main())
    return error(Status::Input, {request_.input.model}).as(MessageId::NoMain)
           << "the program has no @main";
  if (!codeForms().empty())
    BYCC_TRY(checkInterface(session_.module()));
  BYCC_TRY(session_.enableAskedVendors(true));
  if (const std::string &file = request_.vendors.tune; !file.empty())
    artifacts_.tuning = BYCC_TRY(TuningRecords::read(file, session_.files()));
  BYCC_TRY(runPasses());
  if (request_.callbacks.placed)
    BYCC_TRY(request_.callbacks.placed(model_.report));
  BYCC_TRY(session_.enter(Phase::HostCode));
  session_.checkpoint({}, false);
  auto begin = TimeTrace::Clock::now();
  BYCC_TRY(buildArtifacts(session_, artifacts_, codeForms()));
  session_.trace().addSince("host code", begin);
  session_.flushMessages();
  return finish();
}

// With code to be made, vendors compile their regions in the course of it. The report is of
// operators as the program names them.
Expected<> Compilation::runPasses() {
  Pipeline pipeline = BYCC_TRY(session_.pipeline());
  askForPrices();
  auto atEnd = [this] { report(); };
  if (codeForms().empty())
    return session_.runPasses(pipeline, {}, atEnd);
  VendorRegions regions(session_, artifacts_);
  auto compile = [&](bool canPartitionAgain) { return regions.compile(canPartitionAgain); };
  return session_.runPasses(pipeline, compile, atEnd);
}

// The text of -O0 is of the program partitioned and nothing else; of other lists it is what
// code is made from.
bool Compilation::showsPartitioned() const {
  return request_.passes.level == 0 && !request_.passes.passes;
}

void Compilation::report() {
  model_.report = session_.offloadReport();
  if (wants(OutputForm::Relay) || wants(OutputForm::Json))
    keepNamesOfOutputs(session_.module());
  if (wants(OutputForm::Object) || wants(OutputForm::Html) || wants(OutputForm::Dot))
    graph_ = makeOperatorGraph(session_.module(), model_.report);
  if (showsPartitioned() && wants(OutputForm::Relay))
    model_.relay = printModule(session_.module(), {.keepNames = true});
  if (showsPartitioned() && wants(OutputForm::Json))
    model_.json = printProgramJson(session_.module());
  if (request_.vendors.savesPlan)
    model_.partitionPlan = partitionPlanText(session_, model_.report);
}

bool Compilation::wants(OutputForm form) const {
  return std::ranges::find(request_.forms, form) != request_.forms.end();
}

std::vector<CodeForm> Compilation::codeForms() const {
  std::vector<CodeForm> code;
  if (wants(OutputForm::Object))
    code.push_back(CodeForm::Object);
  if (wants(OutputForm::Assembly))
    code.push_back(CodeForm::Assembly);
  if (wants(OutputForm::LlvmText))
    code.push_back(CodeForm::LlvmText);
  if (wants(OutputForm::Loops))
    code.push_back(CodeForm::Loops);
  return code;
}

// "" when no code is made, which gives the build its id.
std::string Compilation::setId() const {
  return codeForms().empty() ? "" : hexText(artifacts_.setId);
}

Expected<> Compilation::finish() {
  BYCC_TRY(session_.enter(Phase::Finish));
  countAll();
  const Module &module = session_.module();
  model_.moduleName = session_.context().moduleName;
  model_.setId = setId();
  model_.inputs = tensorInfos(module, artifacts_.interface.inputs);
  model_.outputs = tensorInfos(module, artifacts_.interface.outputs);
  if (!codeForms().empty())
    model_.arenaBytes = artifacts_.code.arenaBytes;
  if (wants(OutputForm::Object) || wants(OutputForm::Header))
    model_.header = cHeader(model_.moduleName, artifacts_.interface, model_.setId);
  nameSymbols(module, artifacts_.code, model_.report, graph_);
  if (wants(OutputForm::Object))
    BYCC_TRY(finishObject());
  model_.assembly = std::move(artifacts_.code.assembly);
  model_.llvmText = std::move(artifacts_.code.llvmText);
  model_.loops = std::move(artifacts_.code.loops);
  if (wants(OutputForm::Relay) && !showsPartitioned())
    model_.relay = printModule(module, {.keepNames = true});
  if (wants(OutputForm::Json) && !showsPartitioned())
    model_.json = printProgramJson(module);
  if (wants(OutputForm::Dot) || wants(OutputForm::Html))
    BYCC_TRY(finishViews());
  if (artifacts_.tuning && artifacts_.tuning->isChanged())
    model_.tuningRecords = artifacts_.tuning->text();
  return session_.files().checkUnchanged(); // constants were read until here
}

// Before what was made is handed out.
void Compilation::countAll() {
  if (!request_.passes.stats)
    return;
  using Of = Statistics::Phase;
  Statistics &statistics = session_.statistics();
  statistics.addPartition(model_.report);
  if (codeForms().empty())
    return;
  const CompiledModule &code = artifacts_.code;
  statistics.addCode(session_.module(), code.counts);
  if (wants(OutputForm::Object))
    statistics.add(Of::Output, static_cast<int64_t>(code.object.size()), "bytes of object code");
  int64_t numWeights = static_cast<int64_t>(artifacts_.params->entries().size());
  statistics.add(Of::Output, numWeights, "weights");
  if (numWeights > 0)
    statistics.add(Of::Output, static_cast<int64_t>(artifacts_.params->fileBytes()),
                   "bytes of weights and their table");
  statistics.add(Of::Output, static_cast<int64_t>(code.arenaBytes), "bytes of arena");
  statistics.add(Of::Output, static_cast<int64_t>(code.scratchBytes),
                 "bytes of scratch per thread");
}

// What the page tells about refusals beside the reasons. They are searched for with the plan.
void Compilation::askForPrices() {
  if (wants(OutputForm::Html) && whyNoPrices(session_).empty())
    session_.context().prices = &prices_;
}

// Without code the arena is planned for them. That rewrites operators, so it comes last.
Expected<> Compilation::finishViews() {
  ViewDocument document = documentOf(session_, model_, std::move(graph_));
  if (codeForms().empty()) {
    if (Expected<CompiledModule> planned = planArtifacts(session_, artifacts_)) {
      artifacts_.code = std::move(*planned);
      nameSymbols(session_.module(), artifacts_.code, document.report, document.graph);
    } else {
      document.noArena = planned.error().str();
    }
  }
  if (document.noArena.empty())
    document.arena = arenaOf(artifacts_.code);
  if (wants(OutputForm::Dot))
    model_.dot = dotGraph(document);
  if (!wants(OutputForm::Html))
    return {};
  document.noPrices = whyNoPrices(session_);
  if (document.noPrices.empty() && !prices_.isKnown)
    document.noPrices =
        "nobody compared costs: the pass choose-plan did not run, or no vendor has costs";
  if (document.noPrices.empty()) {
    prices_.nameRegions(model_.report);
    document.prices = std::move(prices_);
  }
  if (const std::string &file = request_.page.profileData; !file.empty())
    BYCC_TRY(addProfile(document, BYCC_TRY(session_.files().read(file)), file));
  model_.html = viewPage(document);
  return {};
}

Expected<> Compilation::finishObject() {
  std::string stem = stemOf(request_);
  const std::string &object = artifacts_.code.object;
  GraphReport report;
  report.version = versionText();
  report.target = &session_.target();
  report.flags =
      resultFlags(request_, session_.extensions(), session_.ownPasses(), session_.vendors());
  report.vendors = &session_.vendors();
  report.inputsHash = session_.inputsHash();
  report.interface = artifacts_.interface;
  report.offload = &model_.report;
  report.operators = &graph_;
  report.set.setId = artifacts_.setId;
  report.set.object = {request_.code.objectFile.empty() ? stem + ".o" : request_.code.objectFile,
                       object.size(), hashBytes(object.data(), object.size())};
  if (!artifacts_.paramsPieces.empty()) {
    report.set.params = GraphFileInfo{stem + ".params", artifacts_.params->fileBytes(),
                                      artifacts_.params->tableHash()};
    report.set.paramsEntries = artifacts_.params->entries();
  }
  model_.graphJson = graphJson(session_.module(), artifacts_.code, report);
  runtime::SetContents set{model_.graphJson, object, artifacts_.paramsPieces};
  if (auto checked = runtime::checkSet(set, stem); !checked)
    return error(Status::Internal)
           << "the runtime would refuse what was compiled, nothing is written: "
           << checked.error().str();
  model_.object = std::move(artifacts_.code.object);
  model_.params.pieces_ = std::move(artifacts_.paramsPieces);
  model_.params.writer_ = artifacts_.params;
  if (!model_.params.empty())
    model_.params.keptPath_ =
        keptParamsPath(request_.vendors.cacheDir, artifacts_.setId, *artifacts_.params);
  return {};
}

} // namespace bycc
