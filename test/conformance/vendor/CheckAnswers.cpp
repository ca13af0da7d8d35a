// supports() for the zoo of OddCalls.h.
#include "Checks.h"
#include "KeptCase.h"
#include "OddCalls.h"
#include "RandomSubject.h"

#include <deque>

namespace bycc::conformance {

void checkAnswers(const Setup &setup, Findings &findings) {
  uint64_t asked = 0, taken = 0;
  for (const OddCall &call : oddCalls()) {
    Subject subject;
    std::optional<NodeId> node = call.addTo(subject);
    std::string item = call.str();
    if (!node || findings.isGap(item))
      continue;
    findings.begin(item);
    Reply first = askSupports(setup, subject.module, *node);
    Reply second = askSupports(setup, subject.module, *node);
    ++asked;
    taken += first.yes;
    findings.expect(first.yes == second.yes && first.reason == second.reason, item,
                    "two answers to one question");
    findings.expect(first.yes || !first.reason.empty(), item, "refused without a reason");
  }
  findings.note(std::to_string(taken) + " of " + std::to_string(asked) + " calls are taken");
}

namespace {

// The region of one call under other names.
class Renamed {
public:
  explicit Renamed(const bycc_region &region) : region_(copy(region)) {}
  const bycc_region &region() const { return *region_; }

private:
  const bycc_region *copy(const bycc_region &from) {
    std::vector<bycc_value> &values = values_.emplace_back();
    for (uint32_t i = 0; i < from.num_values; ++i) {
      values.push_back(*bycc_value_at(&from, i));
      values.back().name = "layer_7.weight";
    }
    std::vector<bycc_node> &nodes = nodes_.emplace_back();
    for (uint32_t i = 0; i < from.num_nodes; ++i) {
      bycc_node node = *bycc_node_at(&from, i);
      node.source = "model/block_3/bad_1";
      if (node.body)
        node.body = copy(*node.body);
      nodes.push_back(node);
    }
    bycc_region &made = regions_.emplace_back(from);
    made.values = values.data();
    made.nodes = nodes.data();
    return &made;
  }

  std::deque<std::vector<bycc_value>> values_;
  std::deque<std::vector<bycc_node>> nodes_;
  std::deque<bycc_region> regions_;
  const bycc_region *region_;
};

} // namespace

void checkNames(const Setup &setup, Findings &findings) {
  for (const OddCall &call : oddCalls()) {
    Subject subject;
    std::optional<NodeId> node = call.addTo(subject);
    std::string item = call.str();
    if (!node || findings.isGap(item))
      continue;
    findings.begin(item);
    RegionView view = RegionView::ofNode(subject.module, *node);
    Renamed renamed(view.region());
    Reply one = askSupports(setup, view.region()), other = askSupports(setup, renamed.region());
    findings.expect(one.yes == other.yes && one.reason == other.reason &&
                        one.offers == other.offers,
                    item, "another answer when the model calls it otherwise");
  }
}

void checkAnnotate(const Setup &setup, Findings &findings) {
  if (!setup.vendor->compiler()->annotate)
    return findings.skip("the vendor has no annotator");
  for (uint32_t seed = setup.seed; seed < setup.seed + 8; ++seed) {
    std::string item = "seed " + std::to_string(seed);
    findings.begin(item);
    std::optional<Subject> subject = randomSubject(setup, seed, 4 + seed % 8);
    if (!subject || findings.isGap(item))
      continue;
    RegionView view =
        RegionView::ofBlock(subject->module, subject->module.function(subject->function).body);
    Renamed renamed(view.region());
    Reply first = askAnnotate(setup, view.region()), second = askAnnotate(setup, view.region()),
          other = askAnnotate(setup, renamed.region());
    findings.expect(first.yes || !first.reason.empty(), item, "it fails without a reason");
    findings.expect(first.yes == second.yes && first.byNode == second.byNode, item,
                    "two answers to one question");
    findings.expect(first.yes == other.yes && first.byNode == other.byNode, item,
                    "another answer when the model calls it otherwise");
    for (const auto &[node, answer] : first.byNode) {
      findings.expect(node < view.region().num_nodes, item,
                      "it speaks of a node that is not there");
      findings.expect(answer != "refuse: ", item, "it refuses a node without a reason");
      if (node >= view.region().num_nodes || !answer.starts_with("take"))
        continue;
      Reply compiled =
          askCompile(setup, RegionView::ofNode(subject->module, view.node(node)).region());
      findings.expect(compiled.yes, item,
                      "compile() refuses a node that it takes: " + compiled.reason);
    }
  }
}

void checkTune(const Setup &setup, Findings &findings) {
  if (!setup.vendor->compiler()->tune)
    return findings.skip("the vendor tunes nothing");
  for (uint32_t seed = setup.seed; seed < setup.seed + 4; ++seed) {
    std::string item = "seed " + std::to_string(seed);
    findings.begin(item);
    std::optional<Subject> subject = randomSubject(setup, seed, 8);
    if (!subject || findings.isGap(item))
      continue;
    noteCase(setup, *subject, subject->inputs(seed));
    auto tuned = [&] {
      return askTune(setup, RegionView::ofFunction(subject->module, subject->function).region());
    };
    Reply first = tuned(), second = tuned();
    findings.expect(first.yes || !first.reason.empty(), item, "it fails without a reason");
    findings.expect(first.yes == second.yes && first.blob == second.blob, item,
                    "two records for one region");
    if (!first.yes || first.blob.empty())
      continue;
    std::vector<Tensor> inputs = subject->inputs(seed);
    Expected<std::vector<Tensor>> wanted = evaluate(subject->module, subject->function, inputs);
    BuildOptions options;
    options.tuning = first.blob;
    Expected<Built> built = build(setup, *subject, options);
    if (!wanted || !built) {
      findings.fail(item, built ? wanted.error().message() : built.error().message());
      continue;
    }
    Expected<Loaded> loaded = Loaded::load(setup, *built, 1);
    Expected<std::vector<Tensor>> results =
        loaded ? Loaded::Context(*loaded, 1).run(inputs) : loaded.takeError();
    std::string why = results ? differenceOf(*results, *wanted) : results.error().message();
    findings.expect(why.empty(), item, why + " (with what tune() said)");
  }
}

} // namespace bycc::conformance
