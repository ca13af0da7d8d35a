// What running something costs, in microseconds, as files say it. A region costs
// its launch, its operators, and the tensors that cross its border; an operator
// the larger of its arithmetic and its memory traffic, besides what every call takes
// (a primitive that is entered, a loop that starts), or what is said of one call.
//
// Rows say it for some calls only, and the most special one that fits counts: one of
// the operator or composite before one of all operators ("*"), then the one with more
// constraints, then one with tighter ones (filters<5 before filters<8), then the later one,
// those of a CPU being later than those of all.
#pragma once

#include "bycc/IR/Ids.h"
#include "bycc/Target/CostClass.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace bycc {

struct CostRates {
  double flopsPerMicrosecond = 0;          // 0: arithmetic is free
  double bytesPerMicrosecond = 0;          // 0: traffic is free
  std::optional<double> microseconds = {}; // of one call, instead of the rates
  double callMicroseconds = 0;             // of every call, besides the rates

  // Microseconds of the arithmetic, or of the one call.
  double arithmetic(double flops) const {
    if (microseconds)
      return *microseconds;
    return flopsPerMicrosecond > 0 ? flops / flopsPerMicrosecond : 0;
  }
};

// 0 where the operator does not say it.
double flopsOf(const Module &module, NodeId call);

struct CostRow {
  OpId op;               // invalid: any operator, or
  std::string composite; // not empty: calls of this composite
  // Constraints. Class and dtype of a composite are those of its heaviest operator.
  CostClass callClass;
  std::optional<DType> dtype; // of argument 0; of the result when there is none
  int32_t threads = 0;        // that code is compiled for; 0: any number
  // What is left out is as for all others.
  std::optional<double> flopsPerMicrosecond, bytesPerMicrosecond;
  std::optional<double> microseconds; // with a rate besides it, else the whole call

  size_t numConstraints() const { return callClass.size() + (dtype ? 1 : 0) + (threads ? 1 : 0); }
  // Of as many constraints: does each call that this fits also fit the other, and not the other way round?
  bool isTighterThan(const CostRow &other) const;
};

struct CostModel {
  double launchMicroseconds = 0;          // per region call; on the host per operator
  double transferMicroseconds = 0;        // per tensor across a region's border
  double transferBytesPerMicrosecond = 0; // 0: size does not matter
  // The same where convolutions and pools touch the tensor; 0: as above.
  double layoutBytesPerMicrosecond = 0;
  CostRates rates;             // where no row fits
  std::optional<double> trust; // factor on these times where plans are compared; none: not said
  // The same for products with extents that are known at run time only, and may be much
  // smaller than the likely ones: what enters a kernel counts for more there. None: `trust`.
  std::optional<double> openTrust;
  bool isMeasured = false; // on the machine at hand
  int32_t threads = 1;     // that code is compiled for
  FileClasses classes;     // for rows of later files, too
  // What a file says otherwise for code for some CPUs, by LLVM's name: all of this, and that.
  std::map<std::string, std::shared_ptr<const CostModel>, std::less<>> ofCpus;

  // Becomes that of the CPU.
  void specialize(std::string_view cpu);
  void add(CostRow row);
  // Of an operator call.
  CostRates ratesOf(const Module &module, NodeId call) const;
  // The same in one loop with others, where its traffic is in registers; none: no row says it.
  std::optional<CostRates> fusedRatesOf(const Module &module, NodeId call) const;
  // As if its argument 0 had the dtype; none: no row for it names that.
  std::optional<CostRates> ratesIn(DType dtype, const Module &module, NodeId call) const;
  // Of a call of a composite whose heaviest operator is `heaviest`; none: it has no row
  // that fits.
  std::optional<CostRates> ratesOf(std::string_view composite, const Module &module,
                                   NodeId heaviest) const;
  // Microseconds of a call's arithmetic, and what every call takes besides; traffic is free.
  double arithmeticOf(const Module &module, NodeId call) const {
    CostRates own = ratesOf(module, call);
    return own.callMicroseconds + own.arithmetic(flopsOf(module, call));
  }
  // What was measured is believed as it is.
  std::optional<double> givenTrust() const { return trust || !isMeasured ? trust : 1.0; }
  // A file says roughly what convolutions and matrix products take: it may be wrong by a factor of
  // two before the host is preferred.
  double trustInProducts() const { return givenTrust().value_or(0.5); }

private:
  using Rows = std::vector<CostRow>; // of more constraints first, then the later ones
  const CostRow *best(const Rows &rows, const Module &module, NodeId call,
                      std::optional<DType> dtype, bool isFused = false) const;
  const CostRow *rowOf(const Module &module, NodeId call, std::optional<DType> dtype,
                       bool isFused = false) const;
  CostRates filled(const CostRow &row) const;

  std::vector<Rows> byOp_; // by OpId index, as far as there are rows
  Rows anyOp_;
  std::unordered_map<std::string, Rows> byComposite_;
};

} // namespace bycc
