// Which row of a cost model counts for a call. Estimates are made for every operator
// of a program: rows stand by operator, and an operator without rows costs one look.

#include "bycc/Target/Cost.h"

#include "bycc/IR/Module.h"
#include "bycc/IR/Op.h"

#include <algorithm>

namespace bycc {

double flopsOf(const Module &module, NodeId call) {
  const OpInfo &info = opInfo(module.node(call).op);
  return info.flops ? info.flops(module, call) : 0;
}

void CostModel::specialize(std::string_view cpu) {
  auto found = ofCpus.find(cpu);
  if (found != ofCpus.end())
    *this = CostModel(*found->second);
}

void CostModel::add(CostRow row) {
  Rows *rows = &anyOp_;
  if (!row.composite.empty()) {
    rows = &byComposite_[row.composite];
  } else if (row.op) {
    if (byOp_.size() <= row.op.index)
      byOp_.resize(row.op.index + 1);
    rows = &byOp_[row.op.index];
  }
  size_t count = row.numConstraints();
  auto isBehind = [&](const CostRow &other) { return other.numConstraints() <= count; };
  rows->insert(std::ranges::find_if(*rows, isBehind), std::move(row));
}

// Of argument 0, of the result where there is none.
static std::optional<DType> dtypeOf(const Module &module, NodeId call) {
  std::span<const NodeId> operands = module.operands(call);
  TypeId tensor = firstTensor(module, module.type(operands.empty() ? call : operands[0]));
  return tensor ? std::optional(module.types.dtype(tensor)) : std::nullopt;
}

bool CostRow::isTighterThan(const CostRow &other) const {
  auto implies = [](const CostRow &row, const CostRow &wider) {
    return (!wider.dtype || row.dtype == wider.dtype) &&
           (!wider.threads || row.threads == wider.threads) &&
           row.callClass.implies(wider.callClass);
  };
  return implies(*this, other) && !implies(other, *this);
}

const CostRow *CostModel::best(const Rows &rows, const Module &module, NodeId call,
                               std::optional<DType> dtype, bool isFused) const {
  std::vector<const CostRow *> fitting; // of as many constraints as the first one
  for (const CostRow &row : rows) {
    if (!fitting.empty() && row.numConstraints() < fitting[0]->numConstraints())
      break;
    if (row.callClass.isFused() != isFused || (row.threads && row.threads != threads))
      continue;
    if (row.dtype && row.dtype != (dtype ? dtype : dtypeOf(module, call)))
      continue;
    if (row.callClass.holds(module, call))
      fitting.push_back(&row);
  }
  auto isTightest = [&](const CostRow *row) {
    return std::ranges::none_of(fitting,
                                [&](const CostRow *each) { return each->isTighterThan(*row); });
  };
  auto found = std::ranges::find_if(fitting, isTightest);
  return found == fitting.end() ? nullptr : *found;
}

CostRates CostModel::filled(const CostRow &row) const {
  if (row.microseconds && !row.flopsPerMicrosecond && !row.bytesPerMicrosecond)
    return {0, 0, row.microseconds};
  return {row.flopsPerMicrosecond.value_or(rates.flopsPerMicrosecond),
          row.bytesPerMicrosecond.value_or(rates.bytesPerMicrosecond),
          {},
          row.microseconds.value_or(0)};
}

const CostRow *CostModel::rowOf(const Module &module, NodeId call, std::optional<DType> dtype,
                                bool isFused) const {
  OpId op = module.node(call).op;
  const CostRow *row =
      op.index < byOp_.size() ? best(byOp_[op.index], module, call, dtype, isFused) : nullptr;
  return row || anyOp_.empty() ? row : best(anyOp_, module, call, dtype, isFused);
}

std::optional<CostRates> CostModel::fusedRatesOf(const Module &module, NodeId call) const {
  const CostRow *row = rowOf(module, call, std::nullopt, true);
  return row ? std::optional(filled(*row)) : std::nullopt;
}

CostRates CostModel::ratesOf(const Module &module, NodeId call) const {
  const CostRow *row = rowOf(module, call, std::nullopt);
  return row ? filled(*row) : rates;
}

std::optional<CostRates> CostModel::ratesIn(DType dtype, const Module &module, NodeId call) const {
  const CostRow *row = rowOf(module, call, dtype);
  return row && row->dtype ? std::optional(filled(*row)) : std::nullopt;
}

std::optional<CostRates> CostModel::ratesOf(std::string_view composite, const Module &module,
                                            NodeId heaviest) const {
  auto found = byComposite_.find(std::string(composite));
  const CostRow *row =
      found == byComposite_.end() ? nullptr : best(found->second, module, heaviest, std::nullopt);
  return row ? std::optional(filled(*row)) : std::nullopt;
}

} // namespace bycc
