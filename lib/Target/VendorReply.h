// Where a vendor's C code puts its answer. Texts are copied and made safe to
// print; what an entry point does not ask for is simply not read.
#pragma once

#include "bycc/Support/Sized.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/Vendor.h"

#include <functional>
#include <map>

namespace bycc {

struct VendorReply {
  bycc_answer answer = sized<bycc_answer>();
  std::string reason;
  uint32_t blamed = UINT32_MAX;
  std::vector<uint8_t> blob;
  uint64_t maxBlobBytes = UINT64_MAX;
  bool isBlobTooLarge = false; // then there is none
  std::vector<Implementation> offers;
  std::string name; // of a composite
  struct NodeAnswer {
    Answer answer;
    uint32_t group = 0;
  };
  std::map<uint32_t, NodeAnswer> byNode;             // taken and refused, the last word counts
  std::function<void *(uint64_t bytes)> makeWeights; // empty: there are none

  VendorReply() {
    answer.impl = this;
    answer.reason = [](bycc_answer *a, const char *text) { of(a).reason = textOf(text); };
    answer.blame = [](bycc_answer *a, uint32_t node) { of(a).blamed = node; };
    answer.blob = [](bycc_answer *a, const void *bytes, size_t size) {
      const uint8_t *begin = static_cast<const uint8_t *>(bytes);
      of(a).isBlobTooLarge = size > of(a).maxBlobBytes;
      of(a).blob.assign(begin, begin + (of(a).isBlobTooLarge ? 0 : size));
    };
    answer.offer = [](bycc_answer *a, const char *name, double cost) {
      // Also false for NaN.
      of(a).offers.push_back({textOf(name), cost >= 0 ? std::optional(cost) : std::nullopt});
    };
    answer.take = [](bycc_answer *a, uint32_t node, uint32_t group) {
      of(a).byNode[node] = {Answer::yes(), group};
    };
    answer.refuse = [](bycc_answer *a, uint32_t node, const char *why) {
      of(a).byNode[node] = {Answer::no(why && *why ? textOf(why) : noReason)};
    };
    answer.name = [](bycc_answer *a, const char *name) { of(a).name = textOf(name); };
    answer.weights = [](bycc_answer *a, uint64_t bytes) -> void * {
      return of(a).makeWeights ? of(a).makeWeights(bytes) : nullptr;
    };
  }
  VendorReply(const VendorReply &) = delete;

  static constexpr const char *noReason = "the vendor gives no reason";
  std::string why() const { return reason.empty() ? noReason : reason; }

private:
  static VendorReply &of(bycc_answer *answer) { return *static_cast<VendorReply *>(answer->impl); }
  static std::string textOf(const char *text) { return text ? escaped(text, 1024) : ""; }
};

} // namespace bycc
