// Drives code generation: gives constants their place in the params file, and
// derives the id that ties the files of one build together from what went in, so
// that equal builds get equal ids.

#include "Artifacts.h"

#include "bycc/Compiler.h"
#include "bycc/IR/Printer.h"
#include "bycc/Support/Hash.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/RegionCompiler.h"

#include <algorithm>
#include <thread>

namespace bycc {
namespace {

constexpr uint64_t maxEmbeddedBytes = uint64_t{1} << 30;

class Build {
public:
  Build(Session &session, Artifacts &out)
      : session_(session), module_(session.module()), out_(out) {}

  Expected<> run(std::vector<CodeForm> wanted) {
    CodeGenOptions code = options();
    code.forms = std::move(wanted);
    code.placeConstant = [this](const CodeConstant &constant) { return place(constant); };
    code.compileRegion = [this](FunctionId function) -> Expected<CodeRegion> {
      return region(function);
    };
    code.finishArtifacts = [this] { return finishParams(); };
    if (session_.options().callbacks.progress)
      code.proceed = [this](const std::string &kernel, size_t index, size_t count) {
        return bool(session_.enter(Phase::HostCode, kernel, index, count));
      };
    out_.code = BYCC_TRY(compileModule(module_, session_.target(), code));
    std::ranges::move(out_.code.warnings, std::back_inserter(session_.context().warnings));
    if (!limit_.empty())
      return error(Status::Limit) << limit_;
    return {};
  }

  Expected<CompiledModule> plan() { return planModule(module_, session_.target(), options()); }

private:
  CodeGenOptions options() {
    const CodeOptions &o = session_.options().code;
    CodeGenOptions code;
    code.moduleName = session_.context().moduleName;
    code.compilerVersion = versionText();
    code.level = session_.options().passes.level;
    code.jobs =
        o.jobs > 0 ? o.jobs : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    code.defaultThreads = o.threads;
    code.schedules = session_.schedules();
    code.schedulesName = o.schedules;
    code.inputs = codeTensors(module_, out_.interface.inputs);
    code.outputs = codeTensors(module_, out_.interface.outputs);
    code.isEmulated = [this](FunctionId function) {
      const Vendor *vendor = session_.vendorOf(function);
      return !vendor || vendor->isEmulated();
    };
    code.ownsMemory = [this](FunctionId function) {
      const Vendor *vendor = session_.vendorOf(function);
      return vendor && !vendor->isEmulated() && vendor->hasOwnMemory();
    };
    return code;
  }

  CodeRegion region(FunctionId function) {
    RegionParts parts = std::move(out_.regions.at(function.index));
    blobHashes_ += "|" + std::to_string(hashBytes(parts.blob.data(), parts.blob.size()));
    const Vendor &vendor = *session_.vendorOf(function);
    CodeRegion code;
    code.blob = std::move(parts.blob);
    code.version = vendor.compiler()->version;
    code.library = vendor.compiler()->library ? vendor.compiler()->library : "";
    code.residentInputs = std::move(parts.residentInputs);
    code.residentOutputs = std::move(parts.residentOutputs);
    code.ownsWeights = ownsWeights(vendor);
    if (parts.weights) {
      const AttrValue *symbol = module_.functionAttr(function, "global_symbol");
      code.weightsBytes = parts.weights->size();
      code.weightsOffset = out_.params->addPacked(symbol->asString() + ".weights",
                                                  std::move(parts.weights), parts.weightsHash);
    }
    return code;
  }

  uint64_t place(const CodeConstant &constant) {
    std::string name = constant.name.empty() ? "const" : constant.name;
    return out_.params->add(name, constant.dtype, constant.dims, constant.storage, constant.begin,
                            constant.bytes);
  }

  // Everything that decides the output: the program and weights as they stand,
  // target, vendors and version.
  SetId deriveSetId() const {
    PrintOptions print;
    print.elideAbove = 16;
    std::string text = printModule(module_, print);
    text += session_.target().triple + "|" + session_.target().cpu + "|" +
            join(session_.target().features, ",");
    text += "|" + std::string(versionText()) + "|" + session_.context().moduleName;
    for (size_t i = 0; i < session_.vendors().size(); ++i)
      if (const Vendor &vendor = session_.vendors()[i]; vendor.compiler())
        text += "|" + vendor.name() + " " + vendor.versionText() + " " + vendor.settings.text();
    if (session_.schedules())
      text += "|" + *session_.schedules();
    text += blobHashes_; // they also depend on tuning and on the vendor's environment
    for (const ParamsEntry &entry : out_.params->entries())
      text += "|" + std::to_string(entry.hash) + "@" + std::to_string(entry.offset);
    return hash128(text.data(), text.size());
  }

  CodeGenOptions::Artifacts finishParams() {
    out_.setId = deriveSetId();
    CodeGenOptions::Artifacts artifacts;
    artifacts.setId = out_.setId;
    if (out_.params->empty())
      return artifacts;
    out_.paramsPieces = out_.params->finish(out_.setId);
    artifacts.paramsBytes = out_.params->fileBytes();
    if (!session_.options().code.embedWeights)
      return artifacts;
    if (artifacts.paramsBytes > maxEmbeddedBytes) {
      limit_ = "--embed-weights: the weights take " + std::to_string(artifacts.paramsBytes) +
               " bytes, at most 1 GiB fit";
      return artifacts;
    }
    for (std::string_view piece : out_.paramsPieces)
      out_.embeddedParams += piece;
    out_.paramsPieces.clear();
    artifacts.embeddedParams = out_.embeddedParams;
    return artifacts;
  }

  Session &session_;
  Module &module_;
  Artifacts &out_;
  std::string limit_, blobHashes_;
};

} // namespace

Expected<CompiledModule> planArtifacts(Session &session, Artifacts &artifacts) {
  artifacts.interface = modelInterface(session.module());
  return Build(session, artifacts).plan();
}

Expected<> buildArtifacts(Session &session, Artifacts &artifacts, std::vector<CodeForm> wanted) {
  artifacts.interface = modelInterface(session.module());
  if (wanted.empty())
    return {};
  return Build(session, artifacts).run(std::move(wanted));
}

} // namespace bycc
