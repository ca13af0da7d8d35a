#include "bycc/Target/PlanDiff.h"

#include "bycc/Support/Text.h"
#include "bycc/Target/Vendor.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

namespace bycc {

namespace {

using Nodes = std::vector<const PlanNode *>;

std::string keyOf(const PlanNode &node) {
  return node.name + '\n' + std::to_string(node.index) + '\n' + node.op;
}

class Comparison {
public:
  Comparison(const PartitionPlan &before, const PartitionPlan &after)
      : before_(before), after_(after) {}

  Expected<PlanDiff> run() {
    std::unordered_map<std::string, const PlanNode *> old = BYCC_TRY(byKey(before_));
    std::unordered_map<std::string, const PlanNode *> fresh = BYCC_TRY(byKey(after_));
    for (const PlanNode &node : before_.nodes)
      if (auto found = fresh.find(keyOf(node)); found != fresh.end())
        compare(node, *found->second);
      else
        diff_.onlyBefore.push_back(&node);
    for (const PlanNode &node : after_.nodes)
      if (!old.contains(keyOf(node)))
        diff_.onlyAfter.push_back(&node);
    regroup();
    compareComposites();
    return std::move(diff_);
  }

private:
  static Expected<std::unordered_map<std::string, const PlanNode *>>
  byKey(const PartitionPlan &plan) {
    std::unordered_map<std::string, const PlanNode *> found;
    std::set<std::pair<std::string, uint32_t>> names;
    for (const PlanNode &node : plan.nodes) {
      if (!names.insert({node.name, node.index}).second) {
        SourceLocation place;
        place.file = plan.file;
        return error(Status::Input, place) << "node '" << escaped(node.name) << "' comes twice";
      }
      found.emplace(keyOf(node), &node);
    }
    return found;
  }

  void compare(const PlanNode &old, const PlanNode &fresh) {
    if (old.place != fresh.place)
      diff_.moves.push_back({&old, &fresh});
    else if (old.place != "host")
      stayed_.emplace_back(&old, &fresh);
  }

  // Regions before and after are the two sides of a graph, nodes that stayed are its
  // edges. A component of one region on each side is one region as before.
  void regroup() {
    std::map<std::pair<bool, int64_t>, size_t> numbers; // side, region -> its number
    std::vector<size_t> parents;
    auto find = [&](size_t at) {
      while (parents[at] != at)
        at = parents[at] = parents[parents[at]];
      return at;
    };
    auto numberOf = [&](bool isAfter, int64_t region) {
      auto [found, isNew] = numbers.try_emplace({isAfter, region}, parents.size());
      if (isNew)
        parents.push_back(parents.size());
      return found->second;
    };
    for (auto [old, fresh] : stayed_) {
      size_t a = find(numberOf(false, old->region)), b = find(numberOf(true, fresh->region));
      parents[std::max(a, b)] = std::min(a, b);
    }
    std::map<size_t, std::map<size_t, Nodes>> sides[2]; // by component and region
    for (auto [old, fresh] : stayed_) {
      size_t a = numberOf(false, old->region), b = numberOf(true, fresh->region),
             component = find(a);
      sides[0][component][a].push_back(old);
      sides[1][component][b].push_back(fresh);
    }
    for (auto &[component, regions] : sides[0]) {
      std::map<size_t, Nodes> &after = sides[1][component];
      if (regions.size() == 1 && after.size() == 1)
        continue;
      PlanDiff::Regrouped row{regions.begin()->second.front()->place, {}, {}};
      for (auto &[number, nodes] : regions)
        row.before.push_back(std::move(nodes));
      for (auto &[number, nodes] : after)
        row.after.push_back(std::move(nodes));
      diff_.regrouped.push_back(std::move(row));
    }
  }

  // A plan also remembers composites that its vendor does not have: those are none.
  static std::vector<PlanDiff::Composite> compositesOf(const PartitionPlan &plan) {
    std::vector<PlanDiff::Composite> found;
    std::map<std::tuple<std::string, std::string, int64_t>, size_t> numbers;
    for (const PlanNode &node : plan.nodes) {
      if (node.composite.empty() || vendorOfComposite(node.composite) != node.place)
        continue;
      auto [number, isNew] =
          numbers.try_emplace({node.composite, node.place, node.region}, found.size());
      if (isNew)
        found.push_back({node.composite.substr(0, node.composite.find('#')), {}});
      found[number->second].nodes.push_back(&node);
    }
    return found;
  }

  static std::string keyOfComposite(const PlanDiff::Composite &composite) {
    std::vector<std::string> keys;
    for (const PlanNode *node : composite.nodes)
      keys.push_back(keyOf(*node));
    std::ranges::sort(keys);
    return composite.name + '\n' + join(keys, "\n");
  }

  void compareComposites() {
    auto leftOf = [](std::vector<PlanDiff::Composite> all,
                     const std::vector<PlanDiff::Composite> &others) {
      std::set<std::string> there;
      for (const PlanDiff::Composite &other : others)
        there.insert(keyOfComposite(other));
      std::erase_if(
          all, [&](const PlanDiff::Composite &one) { return there.contains(keyOfComposite(one)); });
      return all;
    };
    std::vector<PlanDiff::Composite> before = compositesOf(before_), after = compositesOf(after_);
    diff_.apart = leftOf(before, after);
    diff_.formed = leftOf(after, before);
  }

  const PartitionPlan &before_, &after_;
  std::vector<std::pair<const PlanNode *, const PlanNode *>> stayed_; // with their vendor
  PlanDiff diff_;
};

} // namespace

Expected<PlanDiff> comparePlans(const PartitionPlan &before, const PartitionPlan &after) {
  return Comparison(before, after).run();
}

int64_t countRegions(const PartitionPlan &plan) {
  std::set<int64_t> regions;
  for (const PlanNode &node : plan.nodes)
    if (node.place != "host")
      regions.insert(node.region);
  return static_cast<int64_t>(regions.size());
}

} // namespace bycc
