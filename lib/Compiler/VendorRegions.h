// Has vendors compile the regions of a partitioned program, and decides what
// becomes of those that fail: orders for a new partition, or the host.
#pragma once

#include "Artifacts.h"
#include "RegionCache.h"
#include "bycc/Compiler/Session.h"
#include "bycc/Partition/ResidentTensors.h"
#include "bycc/Target/RegionCompiler.h"

#include <array>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

namespace bycc {

class VendorRegions {
public:
  VendorRegions(Session &session, Artifacts &artifacts)
      : session_(session), artifacts_(artifacts), cache_(session.options().vendors.cacheDir) {}

  // Compiles the regions of the session's module as it stands. True: some failed,
  // the session has new orders, and the program is to be partitioned again. False:
  // `artifacts.regions` has them all; functions of regions that no vendor
  // compiles are the host's. An error with --strict.
  Expected<bool> compile(bool canPartitionAgain);

private:
  using Key = std::array<uint8_t, 16>;
  struct Region {
    FunctionId function;
    const Vendor *vendor;
    Key key, tuningKey;
    ResidentTensors::Flags resident = {};
  };
  void shareConstants();
  void collect();
  Expected<> compileNew();
  Expected<std::vector<RegionOutcome>> compileAll(const std::vector<RegionJob> &jobs,
                                                  const std::vector<std::string> &names);
  void keep(const std::string &file, const std::string &symbol, RegionOutcome &outcome);
  Expected<> tune();
  const TuningRecords::Record *tuningOf(const Region &region) const;
  RegionView chosenView(const Region &region);
  std::string symbolOf(const Region &region) const;
  RegionView view(const Region &region);
  RegionView viewByContent(const Region &region) const;
  const RegionOutcome &outcome(const Region &region) const { return outcomes_.at(region.key); }
  bool hasFailed(const Region &region) const;
  Error strictError(const Region &region) const;

  bool learn(const Region &region);
  void forbid(const Region &region, NodeId node);
  void forbidAll(const Region &region, const std::vector<NodeId> &nodes);
  void split(const std::vector<NodeId> &nodes);
  void keepApart(const Region &region);
  std::vector<NodeId> nodesOf(const Region &region);
  std::vector<NodeId> nodesBehind(NodeId unit) const;
  void giveOrders();
  void say(const Region &region, const std::string &consequence, bool isDetail = false);
  void returnToHost(const Region &region);
  void take(const Region &region);
  void addHostCode(const Region &region);
  void makeHosts(FunctionId function);

  Session &session_;
  Artifacts &artifacts_;
  RegionCache cache_;
  std::vector<Region> regions_;
  std::map<Key, RegionOutcome> outcomes_;
  std::set<std::pair<std::string, Key>> tuned_; // tune() was asked: vendor, tuningKey
  std::set<Key> learned_, hopeless_;            // failed: orders were given; orders do not help
  std::map<std::string, int> credits_;          // by vendor: regions compiled because others failed

  struct Ban {
    NodeId node;
    std::string vendor, reason;
  };
  std::vector<Ban> bans_;
  struct Label {
    uint32_t label;
    uint32_t origin; // of all parts of one region as it first failed
  };
  std::map<NodeId, Label> labels_;
  uint32_t nextLabel_ = 1;
  enum class Rejoin : uint8_t { NotTried, Trying, Tried } rejoin_ = Rejoin::NotTried;
  std::set<uint32_t> joined_; // origins whose parts may be one region again
  int rounds_ = 0;
  std::map<std::pair<uint64_t, uint64_t>, Constant> placed_; // by hash, bytes
};

} // namespace bycc
