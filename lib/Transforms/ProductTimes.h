// What products take in float32 and in bfloat16, where each is fastest: on the host or with a
// vendor of the build, as their cost files say.
#pragma once

#include "bycc/Target/Cost.h"
#include "bycc/Target/PassContext.h"
#include "bycc/Target/Vendor.h"
#include "bycc/Transforms/PrecisionRules.h"

#include <memory>
#include <vector>

namespace bycc {

// In float32, elements of the padding are passed over; products in tiles multiply
// with them all the same (dilated convolutions of small images read little else).
double shareOfTaps(const Module &module, NodeId call);

class ProductTimes {
public:
  // By the rules' rates where these are a user's, or no vendor of the build has costs.
  ProductTimes(const Module &module, const PassContext &context, const PrecisionRules &rules);

  struct Times {
    double inFloat, inHalf; // microseconds
  };
  Times of(NodeId product) const;

private:
  struct Model {
    CostModel costs;
    double trust = 1;
    std::unique_ptr<VendorAsker> asker = {}; // null: the host
  };
  Times byRules(NodeId product) const;
  bool takes(const Model &model, NodeId product) const;
  double microseconds(const Model &model, NodeId product, DType dtype) const;

  const Module &module_;
  double floatRate_, halfRate_; // FLOPs a microsecond, as the rules say
  std::vector<Model> models_;   // the host first; empty: the rules say it
};

} // namespace bycc
