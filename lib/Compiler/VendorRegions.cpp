// A region that its vendor cannot compile is cut down until the rest compiles:
//
//   the vendor blames a node     the node (its composite as a whole) is kept from it
//   it refuses or crashes        the region is halved in topological order; a
//                                lone node is kept from the vendor
//   it hangs                     all nodes of the region are kept from it: another
//                                try could take as long
//
// Then the program is loaded and partitioned again with these orders, so that
// other vendors may take what is free now. Blobs of regions that are the same
// again are kept. Node ids are the same in every round up to the forming of
// composites; orders name those ids. When the failing nodes are found, the halves
// that were cut apart are put together once more; if that fails they stay apart.
//
//   [a b c d e f g h]  f is bad:  [a b c d][e f g h]  [e f][g h]  [e][f]  f banned
//   rejoined:          [a b c d e] f [g h]
//
// Credit bounds it all: a vendor that keeps failing loses the regions it fails on.

#include "VendorRegions.h"

#include "bycc/IR/Functions.h"
#include "bycc/IR/Visitor.h"
#include "bycc/Support/Hash.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cstring>
#include <thread>

namespace bycc {

namespace {
constexpr int maxRetries = 64; // per vendor
}

Expected<bool> VendorRegions::compile(bool canPartitionAgain) {
  if (rounds_++ > 0)
    shareConstants();
  collect();
  if (artifacts_.tuning)
    BYCC_TRY(tune());
  BYCC_TRY(compileNew());
  std::vector<Region> failing;
  std::ranges::copy_if(regions_, std::back_inserter(failing),
                       [&](const Region &r) { return hasFailed(r); });
  if (!failing.empty() && session_.options().vendors.strict)
    return strictError(failing[0]);
  if (rejoin_ == Rejoin::Trying) {
    rejoin_ = Rejoin::Tried;
    size_t tried = joined_.size();
    for (const Region &region : failing)
      keepApart(region);
    if (joined_.size() < tried) {
      giveOrders();
      return true;
    }
  }
  bool isChanged = false;
  for (const Region &region : failing)
    if (canPartitionAgain && !hopeless_.contains(region.key))
      isChanged |= learn(region);
  if (isChanged) {
    giveOrders();
    return true;
  }
  if (!labels_.empty() && rejoin_ == Rejoin::NotTried) {
    rejoin_ = Rejoin::Trying;
    for (const auto &[node, label] : labels_)
      joined_.insert(label.origin);
    giveOrders();
    return true;
  }
  for (const Region &region : regions_)
    if (hasFailed(region))
      returnToHost(region);
    else
      take(region);
  session_.dismissVendors();
  if (artifacts_.regions.empty())
    *artifacts_.params = {}; // no vendor reads weights: the host places its own
  return false;
}

void VendorRegions::take(const Region &region) {
  artifacts_.regions[region.function.index] = {outcome(region).blob, outcome(region).weights,
                                               outcome(region).weightsHash, region.resident.inputs,
                                               region.resident.outputs};
  if (session_.options().code.hostFallback)
    addHostCode(region);
}

// Its operators once more, as a function of the host: what it does to its own it does to these.
void VendorRegions::addHostCode(const Region &region) {
  Module &module = session_.module();
  FunctionId host = module.addFunction();
  copyFunctionInto(module, region.function, host, InnerFunctions::Inlined);
  module.function(host).source = module.function(region.function).source;
  makeHosts(host);
  module.function(region.function).hostCode = host;
}

// --- compiling

// The program was loaded again: its constants get the storage they had in an
// earlier round, so that each has one place in the params file.
void VendorRegions::shareConstants() {
  for (Constant &constant : session_.module().constants) {
    auto found = placed_.find({constant.hash, constant.bytes});
    if (found == placed_.end() ||
        std::memcmp(found->second.data(), constant.data(), constant.bytes) != 0)
      continue;
    constant.storage = found->second.storage;
    constant.offset = found->second.offset;
  }
}

// Constants get their place in the params file, unless the vendor stores weights of
// its own instead.
RegionView VendorRegions::view(const Region &region) {
  Module &module = session_.module();
  auto offsetOf = [&](const Constant &constant) {
    std::vector<int64_t> dims;
    for (Dim dim : module.types.shape(constant.type))
      dims.push_back(dim.value());
    placed_.try_emplace({constant.hash, constant.bytes}, constant);
    return artifacts_.params->add(constant.name.empty() ? "const" : constant.name,
                                  module.types.dtype(constant.type), dims, constant.storage,
                                  constant.offset, constant.bytes);
  };
  RegionView seen = ownsWeights(*region.vendor)
                        ? RegionView::ofFunction(module, region.function)
                        : RegionView::ofFunction(module, region.function, offsetOf);
  seen.setResident(region.resident.inputs, region.resident.outputs);
  return seen;
}

void VendorRegions::collect() {
  regions_.clear();
  std::set<std::string> withMemory;
  for (size_t i = 0; i < session_.vendors().size(); ++i)
    if (const Vendor &vendor = session_.vendors()[i]; !vendor.isEmulated() && vendor.hasOwnMemory())
      withMemory.insert(vendor.name());
  ResidentTensors resident(session_.module(), std::move(withMemory));
  for (FunctionId function : session_.module().globals())
    if (const Vendor *vendor = session_.vendorOf(function); vendor && !vendor->isEmulated()) {
      Region region{function, vendor, {}, {}, resident.flagsOf(function)};
      RegionView seen = view(region);
      region.key = ownsWeights(*vendor) ? contentHash(viewByContent(region).region())
                                        : contentHash(seen.region());
      region.tuningKey = tuningHash(seen.region());
      regions_.push_back(region);
    }
}

// For the hash of a region whose constants have no place: theirs stands there instead.
RegionView VendorRegions::viewByContent(const Region &region) const {
  RegionView seen = RegionView::ofFunction(session_.module(), region.function,
                                           [](const Constant &constant) { return constant.hash; });
  seen.setResident(region.resident.inputs, region.resident.outputs);
  return seen;
}

RegionView VendorRegions::chosenView(const Region &region) {
  RegionView seen = view(region);
  chooseImplementations(seen, *region.vendor, session_.module(), session_.target());
  return seen;
}

Expected<> VendorRegions::compileNew() {
  std::vector<RegionJob> jobs;
  std::vector<Key> keys;
  std::vector<std::string> names, files; // in the cache
  for (const Region &region : regions_) {
    if (outcomes_.contains(region.key))
      continue;
    auto seen = std::make_shared<RegionView>(chosenView(region));
    if (const TuningRecords::Record *record = tuningOf(region))
      seen->setTuning(*record);
    std::string file;
    if (cache_.keeps(*region.vendor)) {
      file = cache_.nameOf(*region.vendor, session_.target(), *seen, viewByContent(region));
      if (auto kept = cache_.find(file)) {
        session_.context().remarks.push_back("region " + symbolOf(region) + ": from the cache");
        outcomes_[region.key] = std::move(*kept);
        continue;
      }
    }
    outcomes_[region.key] = {};
    keys.push_back(region.key);
    names.push_back(symbolOf(region));
    files.push_back(file);
    jobs.push_back({region.vendor, [seen] { return std::move(*seen); }});
  }
  std::vector<RegionOutcome> outcomes = BYCC_TRY(compileAll(jobs, names));
  for (size_t i = 0; i < keys.size(); ++i) {
    RegionOutcome &o = outcomes[i];
    session_.trace().add(names[i], "region", o.begin, o.end, 1 + o.child);
    if (!files[i].empty() && o.kind == RegionOutcome::Kind::Done)
      keep(files[i], names[i], o);
    outcomes_[keys[i]] = std::move(outcomes[i]);
  }
  return {};
}

// A build goes on without its cache.
void VendorRegions::keep(const std::string &file, const std::string &symbol,
                         RegionOutcome &outcome) {
  if (outcome.weights)
    outcome.weightsHash = hashBytes(outcome.weights->data(), outcome.weights->size());
  if (auto kept = cache_.add(file, outcome); !kept)
    session_.context().warn({}, "region " + symbol + " is not kept: " + kept.error().message());
}

Expected<std::vector<RegionOutcome>>
VendorRegions::compileAll(const std::vector<RegionJob> &jobs,
                          const std::vector<std::string> &names) {
  const CompileRequest &options = session_.options();
  RegionCompilerOptions how;
  how.timeoutSeconds = options.vendors.timeoutSeconds;
  how.jobs = options.code.jobs > 0
                 ? options.code.jobs
                 : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  how.showOutput = options.vendors.output == VendorOutput::All;
  bool isStopped = false;
  auto proceed = [&](size_t numDone) {
    isStopped |= !session_.enter(Phase::Regions, numDone < names.size() ? names[numDone] : "",
                                 numDone, names.size());
    return !isStopped;
  };
  if (options.callbacks.progress)
    how.proceed = proceed;
  std::vector<RegionOutcome> outcomes = compileRegionsApart(jobs, session_.target(), how);
  if (!jobs.empty() && !isStopped)
    proceed(jobs.size());
  if (isStopped)
    return cancelledError();
  return outcomes;
}

// --- tuning

// Null without --tune, and when there is no record.
const TuningRecords::Record *VendorRegions::tuningOf(const Region &region) const {
  if (!artifacts_.tuning)
    return nullptr;
  return artifacts_.tuning->find(*region.vendor, session_.target(), region.tuningKey);
}

// Has vendors tune the regions that there is no record of. One that cannot is
// compiled as it would be without --tune.
Expected<> VendorRegions::tune() {
  std::vector<RegionJob> jobs;
  std::vector<Region> asked;
  std::vector<std::string> names;
  for (const Region &region : regions_)
    if (region.vendor->compiler()->tune && !tuningOf(region) &&
        tuned_.insert({region.vendor->name(), region.tuningKey}).second) {
      asked.push_back(region);
      names.push_back(symbolOf(region));
      auto seen = std::make_shared<RegionView>(chosenView(region));
      jobs.push_back({region.vendor, [seen] { return std::move(*seen); }, true});
    }
  std::vector<RegionOutcome> outcomes = BYCC_TRY(compileAll(jobs, names));
  for (size_t i = 0; i < jobs.size(); ++i)
    if (outcomes[i].kind == RegionOutcome::Kind::Done)
      artifacts_.tuning->add(*asked[i].vendor, session_.target(), asked[i].tuningKey,
                             std::move(outcomes[i].blob));
    else
      session_.context().warn({}, "region " + symbolOf(asked[i]) + ": " + asked[i].vendor->name() +
                                      " cannot tune it: " + outcomes[i].reason);
  return {};
}

bool VendorRegions::hasFailed(const Region &region) const {
  return outcome(region).kind != RegionOutcome::Kind::Done;
}

std::string VendorRegions::symbolOf(const Region &region) const {
  const Module &module = session_.module();
  return std::string(module.string(module.function(region.function).name));
}

Error VendorRegions::strictError(const Region &region) const {
  return error(Status::Policy).as(MessageId::Strict)
         << "--strict: region " << symbolOf(region) << ": " << region.vendor->name()
         << " cannot compile it: " << outcome(region).reason;
}

// --- learning from failures

// True when there are new orders; false when orders do not help.
bool VendorRegions::learn(const Region &region) {
  std::vector<NodeId> nodes = nodesOf(region);
  if (nodes.empty() || !learned_.insert(region.key).second) {
    hopeless_.insert(region.key); // it came back as it was
    return false;
  }
  const RegionOutcome &failure = outcome(region);
  std::string vendor = region.vendor->name();
  int &credit = credits_.try_emplace(vendor, maxRetries).first->second;
  bool isPart = labels_.contains(nodes[0]);
  if (failure.kind == RegionOutcome::Kind::Hung || credit < 2) {
    forbidAll(region, nodes);
    say(region, "all of it is kept from " + vendor);
  } else if (failure.blamed < nodes.size() || nodes.size() == 1) {
    NodeId bad = nodes[nodes.size() == 1 ? 0 : failure.blamed];
    --credit;
    forbid(region, bad);
    say(region, nodeName(session_.module(), bad) + " is kept from " + vendor);
  } else {
    credit -= 2;
    split(nodes);
    say(region, "tried again in two halves", isPart);
  }
  return true;
}

std::vector<NodeId> VendorRegions::nodesOf(const Region &region) {
  RegionView seen = view(region);
  std::vector<NodeId> nodes;
  for (uint32_t i = 0; i < seen.region().num_nodes; ++i)
    nodes.push_back(seen.node(i));
  return nodes;
}

// The ids of a region's node in the program before composites were formed: a call
// has that of its composite's root, which goes by another id inside.
std::vector<NodeId> VendorRegions::nodesBehind(NodeId unit) const {
  const Module &module = session_.module();
  std::vector<NodeId> found{unit}, open{unit};
  while (!open.empty()) {
    std::optional<FunctionId> composite = compositeOf(module, open.back());
    open.pop_back();
    if (!composite)
      continue;
    const Block &body = module.block(module.function(*composite).body);
    for (NodeId node : body.nodes) {
      open.push_back(node);
      if (node != body.result && module.node(node).kind != NodeKind::Function)
        found.push_back(node);
    }
  }
  return found;
}

void VendorRegions::forbid(const Region &region, NodeId node) {
  std::string vendor = region.vendor->name();
  for (NodeId id : nodesBehind(node))
    bans_.push_back({id, vendor, vendor + " failed: " + outcome(region).reason});
}

void VendorRegions::forbidAll(const Region &region, const std::vector<NodeId> &nodes) {
  for (NodeId node : nodes)
    forbid(region, node);
}

void VendorRegions::split(const std::vector<NodeId> &nodes) {
  auto known = labels_.find(nodes[0]);
  uint32_t origin = known == labels_.end() ? nextLabel_ : known->second.origin;
  for (size_t i = 0; i < nodes.size(); ++i)
    for (NodeId id : nodesBehind(nodes[i]))
      labels_[id] = {nextLabel_ + (i >= nodes.size() / 2), origin};
  nextLabel_ += 2;
}

// Put together again it fails: its parts stay what they were.
void VendorRegions::keepApart(const Region &region) {
  for (NodeId node : nodesOf(region))
    if (auto found = labels_.find(node); found != labels_.end())
      joined_.erase(found->second.origin);
}

void VendorRegions::giveOrders() {
  PlacementRules orders;
  orders.orders = session_.orders().orders;
  for (const Ban &ban : bans_)
    orders.forbid(ban.node, ban.vendor, ban.reason);
  for (const auto &[node, label] : labels_)
    if (!joined_.contains(label.origin))
      orders.setLabel(node, label.label);
  session_.orders() = std::move(orders);
}

// --- what the user hears

void VendorRegions::say(const Region &region, const std::string &consequence, bool isDetail) {
  std::string text = "region " + symbolOf(region) + ": " + region.vendor->name() +
                     " cannot compile it: " + outcome(region).reason + "; " + consequence;
  if (isDetail)
    session_.context().remarks.push_back(std::move(text));
  else
    session_.context().warn({}, std::move(text));
}

// The function stays, as one of the host: its operators are ordinary calls.
void VendorRegions::returnToHost(const Region &region) {
  Module &module = session_.module();
  Function &function = module.function(region.function);
  say(region, "it goes back to the host");
  if (RefusalLog *refusals = session_.context().refusals)
    forEachNode(module, function.body, [&](NodeId node) {
      refusals->add(node, region.vendor->name(),
                    region.vendor->name() + " failed: " + outcome(region).reason);
    });
  makeHosts(region.function);
}

void VendorRegions::makeHosts(FunctionId id) {
  Module &module = session_.module();
  Function &function = module.function(id);
  for (const char *key : {"Compiler", "Primitive", "Inline", "global_symbol"})
    function.attrs = module.attributes.without(function.attrs, key);
}

} // namespace bycc
