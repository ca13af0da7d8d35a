// What a vendor is to the partitioner: a name, a table of composites, and an
// answer with a reason for every node. Three kinds look the same from here:
// built in and plugin (a bycc_vendor_compiler behind them) and emulated (a list
// of operators with conditions from a rules file; host code runs its regions).
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Pattern/Matcher.h"
#include "bycc/Pattern/Pattern.h"
#include "bycc/Pattern/Rewrite.h"
#include "bycc/Support/VendorSettings.h"
#include "bycc/Target/Cost.h"
#include "bycc/Target/TargetInfo.h"
#include "bycc/vendor.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace bycc {

class RegionView;
class VendorProcess;

// A way in which a vendor can run a node, and what it says a call costs.
struct Implementation {
  std::string name;
  std::optional<double> microseconds; // none: not known
};

// Yes, or no with a reason. A no is no error.
struct Answer {
  bool isYes = false;
  std::string reason;                               // of a no
  std::vector<Implementation> implementations = {}; // of a yes, as offered
  std::string name = {};                            // of a yes: what a composite is called
  static Answer yes() { return {true, {}}; }
  static Answer no(std::string reason) { return {false, std::move(reason)}; }
  explicit operator bool() const { return isYes; }
  // The cheapest one, unknown costs last, the first of equals; null when none was
  // offered.
  const Implementation *chosen() const;
};

// Which values may pass from operator to operator inside one region. Names are
// of operators (a composite counts as the operators at its border), of whole
// composites, or "*".
struct EdgeRules {
  std::vector<std::pair<std::string, std::string>> denied;
  std::vector<std::pair<std::string, std::string>> allowed; // not empty: no others
  bool empty() const { return denied.empty() && allowed.empty(); }
};

// The layouts that an operator is to have for a vendor; `kernel` of convolutions, "" for
// whatever the weight has.
struct LayoutWish {
  std::string data, kernel;
};

// What a vendor's region must be like.
struct RegionRules {
  bool merge = true;  // false: every operator or composite is a region
  int64_t minOps = 0; // smaller ones return to the host
  double minFlops = 0;
  EdgeRules edges;
};

// A target as vendors see it, without the options that each has of its own; `info` must
// outlive it.
class VendorTarget {
public:
  explicit VendorTarget(const TargetInfo &info);
  VendorTarget(const VendorTarget &) = delete;
  VendorTarget &operator=(const VendorTarget &) = delete;
  operator const bycc_target &() const { return target_; }

private:
  std::string features_;
  bycc_target target_;
};

class Vendor {
public:
  // Built in or plugin; compiler->patterns is a vendor file (VendorRegistry.h). The
  // table is copied as this bycc knows it: what an older, shorter one lacks is null.
  static Expected<std::unique_ptr<Vendor>> fromCompiler(const bycc_vendor_compiler *compiler);
  // Emulated.
  explicit Vendor(std::string name) : name_(std::move(name)) {}

  const std::string &name() const { return name_; }
  bool isEmulated() const { return !compiler_; }
  // Null: emulated.
  const bycc_vendor_compiler *compiler() const { return compiler_ ? &*compiler_ : nullptr; }
  const std::vector<Pattern> &patterns() const { return patterns_; }
  // Under which condition it takes an operator, by OpId index. A vendor with a
  // compile half is asked after them, and about the other operators.
  const std::unordered_map<uint32_t, Condition> &opRules() const { return rules_; }
  // Its answer may depend on what made an argument.
  bool looksAtMakers() const { return looksAtMakers_; }

  // How it may take calls of an operator, as far as its tables say: "alone",
  // "composite" (as a part of one), or "" for not at all.
  std::string_view mayTake(OpId op) const;

  void addRule(OpId op, Condition rule) {
    looksAtMakers_ |= rule.looksAtMakers();
    rules_.insert_or_assign(op.index, std::move(rule));
  }
  void addPatterns(std::vector<Pattern> patterns);
  bool isInPatterns(OpId op) const;
  // May a composite of this name come of its patterns?
  bool mayForm(std::string_view name) const;

  // Why the lists allow_ops and deny_ops keep an operator from the vendor; nothing
  // when they do not.
  std::optional<std::string> whyListed(std::string_view op) const;

  // Values between two of its regions stay in its memory.
  bool hasOwnMemory() const {
    return !returnsValues &&
           (compiler_ ? (compiler_->flags & BYCC_VENDOR_OWN_MEMORY) != 0 : ownMemory);
  }
  // "1.0", "2 (oneDNN 2.6.3)"; "": it has no compile half.
  std::string versionText() const;
  // Can anything be said about its times? A file says them, or its code may.
  bool hasTimes() const { return cost || compiler_; }

  std::string origin;               // file of its compile half; "": built in, or it has none
  std::string program;              // file that its process loads; "": it has its code
  VendorProcess *process = nullptr; // where its code is asked; null: in this process
  bool returnsValues = false;       // all come back to the host, whatever memory it has
  bool runsHere = false;            // its code is this program's own: no process has it
  VendorSettings settings;          // of its compile half

  RegionRules regionRules;
  std::optional<CostModel> cost; // none: its launch and transfers are free
  bool ownMemory = false; // emulated, as a file says: for estimates, host code has no such memory
  bool onlyAsked = false; // takes nothing but what the program gives it by name
  std::string passes;     // that run before composites are formed, as --passes= takes them
  SourceLocation passesPlace;                       // where a file says so
  std::unordered_map<uint32_t, LayoutWish> layouts; // by OpId index: where it takes them so
  std::vector<Rewrite> rewrites;                    // that pass apply-rewrites makes, in this order
  std::vector<std::string> allowedOps, deniedOps;   // globs; nothing allowed: all are

private:
  std::string name_;
  std::optional<bycc_vendor_compiler> compiler_;
  std::vector<Pattern> patterns_;
  std::unordered_map<uint32_t, Condition> rules_;
  bool looksAtMakers_ = false;
};

// The vendors of one compilation, in order of priority, and what rules files
// said about partitioning.
class VendorSet {
public:
  void add(std::unique_ptr<Vendor> vendor) { vendors_.push_back(std::move(vendor)); }
  size_t size() const { return vendors_.size(); }
  Vendor &operator[](size_t index) { return *vendors_[index]; }
  const Vendor &operator[](size_t index) const { return *vendors_[index]; }
  Vendor *find(std::string_view name) const;

  bool mergeRegions = true;
  bool bindConstants = true;
  std::optional<std::string> moduleName; // mod_name

private:
  std::vector<std::unique_ptr<Vendor>> vendors_;
};

// Asks one vendor about the nodes of one module. Answers are remembered by
// operator, attributes, operand types and constants, so a million equal nodes
// cost one question.
class VendorAsker {
public:
  VendorAsker(const Vendor &vendor, const Module &module, const TargetInfo &target);
  ~VendorAsker();
  const Vendor &vendor() const { return vendor_; }
  // An operator call, or a call of a composite function. The reference is valid
  // until the next question.
  const Answer &supports(NodeId node);
  // Is it cheaper to ask many questions in one go? It is in another process.
  bool asksAhead() const;
  // Asks in one go what supports() would ask about each of the calls. Others of `nodes`
  // are passed over. Does nothing where asksAhead() is false.
  void askAhead(std::span<const NodeId> nodes);
  // What the chosen implementation of the node costs; none when that is not known
  // or the vendor does not take the node.
  std::optional<double> costOf(NodeId node);
  // Has the vendor's own annotator, if there is one, look at the whole block;
  // supports() then repeats what it said. Why it failed, if it did: then it takes
  // nothing.
  std::optional<std::string> annotateBlock(BlockId block);
  // The group that its annotator put a node in that it takes; 0: in none.
  uint32_t groupOf(NodeId node) const;
  // Would it take the group as its composite `name`? A yes says what that is called.
  const Answer &supportsGroup(const std::string &name, const Match &match);
  // The same, ahead: one call for each group, then finishAhead() before anything else.
  void askAheadGroup(const std::string &name, const Match &match);
  void finishAhead();

private:
  struct Impl;
  void putAhead(Answer &kept, const RegionView &view);
  void takeAhead(size_t left);
  std::optional<std::string> whyNotAsked(const std::string &name, const Match &match) const;
  void writeKey(NodeId node);
  bool isCompositeOfAnother(NodeId node) const;
  Answer askFile(NodeId node) const;
  std::string whyNotPlaced(NodeId call, const Condition *rule) const;
  std::optional<std::string> whyNotPlaced(const std::string &name, const Match &match) const;
  const Vendor &vendor_;
  const Module &module_;
  std::unique_ptr<Impl> impl_;
};

// The composite function a call refers to, if it does.
std::optional<FunctionId> compositeOf(const Module &module, NodeId call);
// "va" of "va.conv2d_bias".
std::string_view vendorOfComposite(std::string_view composite);

} // namespace bycc
