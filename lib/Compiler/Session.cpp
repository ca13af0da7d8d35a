#include "bycc/Compiler/Session.h"

#include "AskedPasses.h"
#include "bycc/CodeGen/HostTarget.h"
#include "bycc/Compiler/KnownVendors.h"
#include "bycc/Compiler/Placement.h"
#include "bycc/Compiler/TextPass.h"
#include "bycc/IR/Printer.h"
#include "bycc/Partition/AskedVendors.h"
#include "bycc/Partition/EstimatePlan.h"
#include "bycc/Support/File.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Phrases.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <set>

namespace bycc {
namespace {

constexpr const char *mixedPrecision = "to-mixed-precision";

std::string withoutSuffix(const std::string &name) {
  for (const char *suffix : {".onnx", ".relay", ".json"})
    if (name.ends_with(suffix) && name.size() > std::string_view(suffix).size())
      return name.substr(0, name.size() - std::string_view(suffix).size());
  return name;
}

// Vendors that a pass list names, annotate-target{vendors=dnnl}, in its order.
std::vector<std::string> vendorsOfPasses(const std::string &passes, const PassRegistry &registry) {
  std::vector<std::string> vendors;
  auto list = parsePipeline(passes, registry, [](int) { return Pipeline(); });
  if (!list)
    return vendors; // refused with the rest of the list
  for (const PipelineEntry &entry : *list)
    for (const char *option : {"vendor", "vendors"})
      if (auto names = entry.options.find(option); names != entry.options.end())
        for (std::string &name : split(names->second, ','))
          vendors.push_back(std::move(name));
  return vendors;
}

std::vector<std::string> namesOfVendors(const std::string &list, const VendorRegistry &known) {
  std::vector<std::string> names = split(list, ',');
  for (std::string &name : names)
    name = vendorCalled(name, [&](const std::string &each) { return known.has(each); });
  return names;
}

// Orders are about the program that vendors see: also where passes were put in front of
// merge-composite.
void placeNodesLate(Pipeline &list) {
  auto place = std::ranges::find(list, "place-nodes", &PipelineEntry::pass);
  auto merge = std::ranges::find(list, "merge-composite", &PipelineEntry::pass);
  if (place < merge && merge != list.end())
    std::rotate(place, place + 1, merge);
}

// Behind what simplifies, in front of who takes what; then the host has no choice of its own.
void addLayout(Pipeline &list, const std::string &layout) {
  if (layout.empty())
    return;
  std::erase_if(list, [](const PipelineEntry &each) { return each.pass == "choose-host-layout"; });
  size_t place =
      std::min(beginOfPartition(list),
               static_cast<size_t>(std::ranges::find(list, "legalize", &PipelineEntry::pass) -
                                   list.begin()));
  list.insert(list.begin() + static_cast<long>(place), {"convert-layout", {{"layout", layout}}});
}

// The order of --annotate is that of priority: a vendor has one place in it.
Expected<std::vector<std::string>> namedOnce(std::vector<std::string> vendors) {
  std::set<std::string> names;
  for (const std::string &vendor : vendors) {
    if (vendor.empty())
      return error(Status::Usage) << "--annotate=" << escaped(join(vendors, ","))
                                  << ": an empty name in the list";
    if (!names.insert(vendor).second)
      return error(Status::Usage) << "--annotate names vendor '" << escaped(vendor) << "' twice";
  }
  return vendors;
}

} // namespace

std::string Message::str() const {
  if (isRemark)
    return "remark: " + text + "\n";
  std::string place = location.str();
  return place + (place.empty() ? "" : ": ") + "warning: " + text + "\n";
}

std::string stemOf(const CompileOptions &options) {
  if (!options.code.stem.empty())
    return options.code.stem;
  return options.input.model == "-" ? "a" : withoutSuffix(fileNameOf(options.input.model));
}

namespace {

// Functions of vendors, which a program that was partitioned before has.
bool hasRegions(const Module &module) {
  return std::ranges::any_of(module.globals(), [&](FunctionId function) {
    return module.functionAttr(function, "Compiler") != nullptr;
  });
}

} // namespace

const Extensions &Session::noExtensions() {
  static const Extensions none;
  return none;
}

Session::Session(const CompileRequest &request, const Extensions &extensions)
    : options_(request), extensions_(extensions), ownPasses_(extensions.passes),
      files_(request.files) {
  registerAllPasses(registry_);
  for (const Extensions::Pass &pass : extensions.passes)
    registry_.add(pass.info);
}

Expected<> Session::enter(Phase phase, const std::string &item, size_t index, size_t count) const {
  const auto &progress = options_.callbacks.progress;
  if (progress && !progress({phase, item, index, count}))
    return cancelledError();
  return {};
}

Expected<> Session::prepare() {
  const TargetOptions &t = options_.target;
  const PassListOptions &p = options_.passes;
  BYCC_TRY(readPrecision());
  // -mcpu defaults to this machine's, with --target to that triple's baseline.
  std::string cpu = t.cpu.value_or(t.triple ? "" : "native");
  target_ = BYCC_TRY(resolveTarget(t.triple.value_or(""), cpu, t.attributes.value_or("")));
  target_.threads = options_.code.threads;
  target_.keepsNan = t.nan == "keep";

  known_ = BYCC_TRY(knownVendors(options_.vendors, extensions_, [this](const std::string &file) {
    return enter(file.empty() ? Phase::Start : Phase::Vendors, file);
  }));
  for (Extensions::Pass &pass : BYCC_TRY(passesOfPlugins(options_.vendors.plugins, registry_))) {
    registry_.add(pass.info);
    ownPasses_.push_back(std::move(pass));
  }
  if (options_.vendors.annotate)
    vendorRequest_.annotate =
        BYCC_TRY(namedOnce(namesOfVendors(*options_.vendors.annotate, *known_)));
  else if (p.passes && options_.vendors.rules.empty())
    vendorRequest_.annotate = vendorsOfPasses(*p.passes, registry_);
  vendorRequest_.ruleFiles = options_.vendors.rules;
  vendorRequest_.patternFiles = options_.vendors.patterns;
  for (const std::string &text : options_.vendors.vendorOptions)
    vendorRequest_.settings.push_back(BYCC_TRY(VendorSetting::parse(text)));
  for (const Extensions::VendorText &patterns : extensions_.patterns)
    vendorRequest_.patternTexts.emplace_back(patterns.text, patterns.name);
  vendorRequest_.read = [this](const std::string &path, uint64_t limit) {
    return files_.read(path, limit);
  };
  vendors_ = BYCC_TRY(known_->resolve(vendorRequest_));
  BYCC_TRY(prepareVendors());

  if (const auto &progress = options_.callbacks.progress)
    context_.proceed = [&progress] { return progress({Phase::Passes, "pipe", 0, 0}); };
  context_.target = &target_;
  context_.vendors = &vendors_;
  context_.refusals = &refusals_;
  context_.placement = &placement_;
  orders_.orders = BYCC_TRY(placementOrders(options_.vendors, vendors_, files_));
  hostCost_ = BYCC_TRY(hostCosts(options_));
  hostCost_.specialize(target_.cpu);
  context_.hostCost = comparesCosts(options_) ? &hostCost_ : nullptr;
  context_.hostPrices = &hostCost_;
  context_.search = searchLimit(options_);
  context_.precision = precision_ ? &*precision_ : nullptr;
  context_.trustsHand = options_.vendors.trustsHand;
  context_.minRegionOps = options_.vendors.minRegionOps;
  context_.minRegionFlops = options_.vendors.minRegionFlops;
  return {};
}

// Vendors are asked in a program of their own, which starts while the model is read. Host code that
// may run in a region's place reads and makes values in the host's memory.
Expected<> Session::prepareVendors() {
  for (size_t i = 0; i < vendors_.size(); ++i) {
    vendors_[i].returnsValues = options_.code.hostFallback;
    if (vendors_[i].cost)
      vendors_[i].cost->specialize(target_.cpu);
    if (vendors_[i].isEmulated() || vendors_[i].runsHere)
      continue;
    if (!vendorProcess_) {
      vendorProcess_ = std::make_unique<VendorProcess>(
          options_.vendors.timeoutSeconds, options_.vendors.output == VendorOutput::Hidden);
      BYCC_TRY(vendorProcess_->start());
    }
    vendors_[i].process = vendorProcess_.get();
  }
  return {};
}

void Session::dismissVendors() {
  if (vendorProcess_)
    vendorProcess_->dismiss();
}

// What it was asked is refused; the user hears of it.
Expected<> Session::hearVendorFaults() {
  if (!vendorProcess_)
    return {};
  for (const VendorFault &fault : vendorProcess_->takeFaults()) {
    std::string text = "vendor '" + fault.vendor + "', " + fault.question + ", " + fault.what;
    if (options_.vendors.strict)
      return error(Status::Policy).as(MessageId::Strict) << "--strict: " << text;
    context_.warn({},
                  text + (fault.isLast ? "; it is not asked any more" : "; it does not get it"));
  }
  return {};
}

Expected<> Session::readPrecision() {
  const TargetOptions &t = options_.target;
  if (t.precision == "int8")
    return (
               error(Status::Unsup)
               << "--precision=int8 is not supported: it needs scales measured on data")
        .note("quantise the model first (ONNX QuantizeLinear, DequantizeLinear); its products then "
              "run in int8");
  if (t.precisionRules.empty())
    return {};
  std::string text = BYCC_TRY(files_.read(t.precisionRules));
  precision_ = BYCC_TRY(readPrecisionRules(text, t.precisionRules));
  return {};
}

OffloadReport Session::offloadReport() const {
  OffloadReport report = makeOffloadReport(module_, &refusals_, &vendors_);
  report.wideProducts = context_.wideProducts;
  report.estimate = context_.estimate;
  for (size_t i = 0; i < vendors_.size(); ++i) {
    report.vendors.push_back(vendors_[i].name());
    if (vendors_[i].isEmulated())
      report.emulated.push_back(vendors_[i].name());
    else if (vendors_[i].compiler()->flags & BYCC_VENDOR_LOSES_NAN)
      report.losesNan.push_back(vendors_[i].name());
  }
  report.keepsNan = target_.keepsNan;
  std::string notAsked = options_.passes.passes
                             ? "it was not asked: annotate-target did not run"
                             : "it was not asked: the program is partitioned already";
  for (OffloadNode &node : report.nodes)
    for (const std::string &vendor : report.vendors)
      if (node.placed == "host" &&
          std::ranges::find(node.accepted, vendor) == node.accepted.end() &&
          std::ranges::find(node.refused, vendor, &std::pair<std::string, std::string>::first) ==
              node.refused.end())
        node.refused.emplace_back(vendor, notAsked);
  return report;
}

Expected<> Session::enableAskedVendors(bool mustBeKnown) {
  for (const AskedVendor &asked : askedVendors(module_)) {
    if (vendors_.find(asked.name))
      continue;
    vendorRequest_.asked.push_back(asked.name);
    auto resolved = known_->resolve(vendorRequest_);
    if (resolved) {
      vendors_ = resolved.takeValue();
      BYCC_TRY(prepareVendors());
      continue;
    }
    vendorRequest_.asked.pop_back();
    if (!mustBeKnown)
      continue;
    std::vector<std::string> names;
    for (const VendorDescription &vendor : BYCC_TRY(known_->describe(vendorRequest_)))
      names.push_back(vendor.name);
    return unknownVendor(asked.name, asked.place, names);
  }
  if (mustBeKnown)
    for (const VendorSetting &setting : vendorRequest_.settings)
      BYCC_TRY(checkIsHeard(setting));
  return {};
}

Expected<> Session::checkIsHeard(const VendorSetting &setting) const {
  std::string name =
      vendorCalled(setting.vendor, [&](const std::string &each) { return known_->has(each); });
  if (vendors_.find(name))
    return {};
  return (error(Status::Arg) << "--vendor-option " << escaped(setting.vendor) << "."
                             << escaped(setting.name) << ": vendor '" << escaped(name)
                             << "' is not in use")
      .note("--annotate says which vendors are");
}

void Session::chooseModuleName() {
  if (options_.code.moduleName)
    context_.moduleName = asIdentifier(*options_.code.moduleName);
  else if (vendors_.moduleName)
    context_.moduleName = asIdentifier(*vendors_.moduleName);
  else
    context_.moduleName = asIdentifier(stemOf(options_));
}

Expected<Pipeline> Session::pipeline() const {
  PipelineWishes wishes;
  wishes.hasVendors = vendors_.size() > 0;
  wishes.hasOrders = !orders_.orders.empty();
  std::vector<std::string> facts = factsOf(module_);
  auto holds = [&](const char *fact) { return std::ranges::find(facts, fact) != facts.end(); };
  wishes.isWrittenByHand = holds("hand-annotations");
  wishes.isAnnotated = holds("annotations") || hasBrackets(module_);
  wishes.hasPlan = orders_.orders.plan != nullptr;
  wishes.isMixed = isMixed();
  wishes.own = &ownPasses_;
  auto defaults = [&](int level) { return defaultPipeline(registry_, level, wishes); };
  const PassListOptions &o = options_.passes;
  Pipeline list =
      o.passes ? BYCC_TRY(parsePipeline(*o.passes, registry_, defaults)) : defaults(o.level);
  PipelineEdits edits{o.disabled, o.required, o.runBefore, o.runAfter};
  list = BYCC_TRY(editPipeline(std::move(list), edits, defaults(3), registry_));
  BYCC_TRY(checkPrecision(list));
  if (o.passes)
    return list;
  placeNodesLate(list);
  addLayout(list, o.desiredLayout);
  list = withoutDone(list);
  if (o.level > 0) // -O0 promises to do nothing else
    BYCC_TRY(addVendorPasses(list, module_, registry_, vendors_));
  BYCC_TRY(addProgramPasses(list, module_, registry_, o.disabled));
  return list;
}

// What is said about precision finds the pass that does it.
Expected<> Session::checkPrecision(const Pipeline &list) const {
  if (contains(list, mixedPrecision))
    return {};
  const auto &disabled = options_.passes.disabled;
  if (isMixed() && std::ranges::find(disabled, mixedPrecision) != disabled.end())
    return error(Status::Usage) << "--disable-pass=" << mixedPrecision
                                << ": --precision=bf16 asks for this pass";
  if (!isMixed() && !options_.target.precisionRules.empty())
    return error(Status::Usage) << "--precision-rules goes with --precision=bf16 or pass '"
                                << mixedPrecision << "'";
  return {};
}

// A program that was printed after some passes has kernels or regions already;
// of a default list only what may still run is left.
Pipeline Session::withoutDone(const Pipeline &pipeline) const {
  std::vector<std::string> facts = factsOf(module_);
  if (facts.empty())
    return pipeline;
  Pipeline left;
  for (const PipelineEntry &entry : pipeline) {
    left.push_back(entry);
    if (!checkPipeline(left, registry_, facts))
      left.pop_back();
  }
  return left;
}

// A pass list of the user's, or a program that has composites already, may leave
// no place where orders about nodes could be heard.
Expected<> Session::checkOrdersAreObeyed(const Pipeline &pipeline) const {
  if (orders_.orders.empty() ||
      std::ranges::find(pipeline, "place-nodes", &PipelineEntry::pass) != pipeline.end())
    return {};
  return error(Status::Usage) << "--pin, --annotate-ops, --annotate-skip-ops and partition plans "
                                 "need pass 'place-nodes', "
                                 "which cannot run on this program or is not in the pass list";
}

// Passes of the library's user whose place a default list does not have.
void Session::warnAboutOwnPasses(const Pipeline &pipeline) {
  const PassListOptions &o = options_.passes;
  for (const Extensions::Pass &pass : ownPasses_)
    if (!o.passes && pass.info.level <= o.level && !contains(pipeline, pass.info.name) &&
        std::ranges::find(o.disabled, pass.info.name) == o.disabled.end())
      context_.warn({options_.input.model},
                    "pass '" + pass.info.name + "' does not run: its place, " +
                        (pass.place.side == PassPlace::Side::Before ? "before '" : "after '") +
                        pass.place.pass + "', is not in this list");
}

// A list of the user's is taken as it is, even when it lacks what the program needs.
void Session::warnAboutMissing(const Pipeline &pipeline) {
  if (isMixed() && !contains(pipeline, mixedPrecision))
    context_.warn({options_.input.model},
                  "--precision=bf16 changes nothing: pass '" + std::string(mixedPrecision) + "' " +
                      (options_.passes.passes
                           ? "is not in the list of --passes"
                           : "cannot run on a program that was partitioned or fused before"));
  if (!options_.passes.passes || pipeline.empty())
    return;
  bool asks = contains(pipeline, "annotate-target") || !contains(pipeline, "partition-graph");
  if (!context_.trustsHand && !asks && hasVendorFunctions(module_))
    context_.warn(
        {options_.input.model},
        "nobody is asked about functions with Compiler: pass 'annotate-target' is not in the list");
  for (const std::string &text : passesAskedByProgram(module_))
    if (std::string pass = text.substr(0, text.find('{'));
        std::ranges::find(pipeline, pass, &PipelineEntry::pass) == pipeline.end())
      context_.warn({options_.input.model}, "the program asks for pass '" + escaped(pass) +
                                                "', which --passes does not have");
}

PassManagerOptions Session::managerOptions() const {
  const PassListOptions &o = options_.passes;
  PassManagerOptions manager;
  manager.printBefore = o.printing.before;
  manager.printAfter = o.printing.after;
  manager.printBeforeAll = o.printing.beforeAll;
  manager.printAfterAll = o.printing.afterAll;
  if (o.printing.changed)
    manager.printChanged = o.printing.changedAsDiff ? PrintChanged::Diff : PrintChanged::Module;
  manager.irDumpDirectory = o.printing.directory;
  manager.print.elideAbove = o.printing.elideConstants;
  manager.verifyEach = o.verifyEach;
  manager.optBisectLimit = o.bisectLimit;
  manager.write = options_.callbacks.print ? options_.callbacks.print : [](std::string_view) {};
  if (options_.callbacks.progress)
    manager.proceed = [this](const std::string &pass, size_t index, size_t count) {
      return options_.callbacks.progress({Phase::Passes, pass, index, count});
    };
  return manager;
}

void Session::checkpoint(const Pipeline &left, bool hasOrders, bool isSame) {
  if (!options_.callbacks.checkpoint)
    return;
  checkpoint_.next = left.empty() ? "" : left.front().pass;
  checkpoint_.passes = printPipeline(left);
  checkpoint_.hasOrders = hasOrders;
  if (!isSame)
    checkpoint_.program = printModule(module_, {.keepNames = true});
  options_.callbacks.checkpoint(checkpoint_);
}

namespace {

// Which places of a pass list a program can be taken out at, as text.
class CheckpointPlaces {
public:
  CheckpointPlaces(const Pipeline &pipeline, int64_t bisectLimit) : pipeline_(pipeline) {
    end_ = pipeline.size();
    if (bisectLimit >= 0)
      end_ = std::min(end_, static_cast<size_t>(bisectLimit));
    orders_ = position("place-nodes");
    partition_ = std::min(beginOfPartition(pipeline), pipeline.size());
    while (lastPartition_ > 0 && pipeline[lastPartition_ - 1].pass != "partition-graph")
      --lastPartition_;
  }
  // Orders, annotations and composites that could be formed stand beside the program until
  // there are regions.
  bool isOne(size_t position) const {
    return position < end_ && (position <= partition_ || position >= lastPartition_);
  }
  bool hasOrders(size_t position) const { return position <= orders_; }
  Pipeline left(size_t position) const {
    return {pipeline_.begin() + static_cast<long>(position),
            pipeline_.begin() + static_cast<long>(end_)};
  }

private:
  size_t position(std::string_view pass) const {
    return static_cast<size_t>(std::ranges::find(pipeline_, pass, &PipelineEntry::pass) -
                               pipeline_.begin());
  }

  const Pipeline &pipeline_;
  size_t end_, orders_, partition_, lastPartition_ = pipeline_.size();
};

} // namespace

// The same program once more; orders stay.
Expected<> Session::reload() {
  uint64_t before = inputsHash_;
  refusals_.clear();
  context_.wideProducts.clear();
  context_.composites.reset();
  context_.isPlanChosen = false;
  context_.estimate.reset();
  BYCC_TRY(load());
  if (inputsHash_ != before)
    return error(Status::Io, {options_.input.model})
           << "the file has changed while it was compiled";
  return {};
}

Expected<> Session::runPasses(const Pipeline &pipeline, const RegionStop &atRegions,
                              const std::function<void()> &beforeLegalize) {
  BYCC_TRY(enter(Phase::Passes));
  const PassListOptions &o = options_.passes;
  for (const auto *names : {&o.printing.before, &o.printing.after})
    for (const std::string &pass : *names)
      BYCC_TRY(registry_.get(pass));
  BYCC_TRY(checkOrdersAreObeyed(pipeline));
  BYCC_TRY(checkPipeline(pipeline, registry_, factsOf(module_)));
  auto last = std::ranges::find(pipeline.rbegin(), pipeline.rend(), "partition-graph",
                                &PipelineEntry::pass);
  Pipeline partition(pipeline.begin(), last.base()), rest(last.base(), pipeline.end());
  warnAboutMissing(pipeline);
  warnAboutOwnPasses(pipeline);
  context_.choosesPlan = choosesPlan(pipeline);
  CheckpointPlaces places(pipeline, o.bisectLimit);
  size_t first = 0, numSeen = 0; // of the list that runs, and passes that the last one has
  const std::vector<PassTime> *times = nullptr;
  PassManagerOptions manager = managerOptions();
  if (options_.callbacks.checkpoint)
    manager.proceed = [&, proceed = manager.proceed](const std::string &pass, size_t index,
                                                     size_t count) {
      bool isBeside = context_.composites && !context_.isPlanChosen;
      if (places.isOne(first + index) && !isBeside) {
        bool isSame = index > 0 && numSeen > 0 &&
                      std::none_of(times->begin() + static_cast<long>(numSeen), times->end(),
                                   [](const PassTime &time) { return time.changed; });
        numSeen = times->size();
        checkpoint(places.left(first + index), places.hasOrders(first + index), isSame);
      }
      return !proceed || proceed(pass, index, count);
    };
  PassManager passes(registry_, std::move(manager));
  times = &passes.times();
  PassStatistics passStatistics(statistics_);
  if (o.stats) {
    passes.addInstrument(&passStatistics);
    statistics_.addModel(module_);
  }
  auto runAll = [&]() -> Expected<> {
    for (bool isFirst = true;; isFirst = false) {
      placement_ = orders_;
      passes.restart();
      for (const PipelineEntry &entry : pipeline) // a program that is read again forgets them
        if (auto program = entry.options.find("program");
            entry.pass == "pipe" && program != entry.options.end())
          files_.record(program->second);
      first = 0;
      statistics_.clear(Statistics::Phase::Passes);
      auto ran = passes.run(module_, context_, partition);
      if (!isFirst) { // said before
        context_.warnings.clear();
        context_.remarks.clear();
      }
      BYCC_TRY(hearVendorFaults());
      BYCC_TRY(std::move(ran));
      bool again = atRegions && BYCC_TRY(atRegions(!partition.empty()));
      BYCC_TRY(hearVendorFaults());
      if (!again)
        break;
      flushMessages();
      BYCC_TRY(reload());
    }
    auto legalize = std::ranges::find(rest, "legalize", &PipelineEntry::pass);
    first = partition.size();
    BYCC_TRY(passes.run(module_, context_, Pipeline(rest.begin(), legalize)));
    if (vendors_.size() == 0 && !hasRegions(module_))
      estimatePlan(module_, context_);
    if (beforeLegalize)
      beforeLegalize();
    first = partition.size() + static_cast<size_t>(legalize - rest.begin());
    BYCC_TRY(passes.run(module_, context_, Pipeline(legalize, rest.end())));
    return {};
  };
  auto result = runAll();
  passTimes_ = passes.times();
  for (const PassTime &time : passTimes_)
    trace_.add(time.pass, "pass", time.begin,
               time.begin + std::chrono::duration_cast<TimeTrace::Clock::duration>(
                                std::chrono::duration<double>(time.seconds)));
  if (o.timePasses && options_.callbacks.print)
    options_.callbacks.print(passes.timeReport());
  flushMessages();
  return result;
}

void Session::printStatistics() const {
  if (options_.passes.stats && options_.callbacks.print)
    options_.callbacks.print(statistics_.text());
}

const Vendor *Session::vendorOf(FunctionId function) const {
  const AttrValue *compiler = module_.functionAttr(function, "Compiler");
  return compiler && compiler->isString() ? vendors_.find(compiler->asString()) : nullptr;
}

void Session::flushMessages() {
  size_t first = messages_.size();
  for (Diagnostic &warning : context_.warnings)
    messages_.push_back({false, std::move(warning.location), std::move(warning.message)});
  for (std::string &remark : context_.remarks)
    messages_.push_back({true, {}, std::move(remark)});
  context_.warnings.clear();
  context_.remarks.clear();
  if (options_.callbacks.message)
    for (size_t i = first; i < messages_.size(); ++i)
      options_.callbacks.message(messages_[i]);
}

} // namespace bycc
