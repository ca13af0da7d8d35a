// Moves every region into a global function of its own and puts a call in its
// place.
//
//   %0 = abs(%x);         [va]        def @m_va_0(%i0, Compiler="va", ...) {
//   %1 = split(%0);       [va]          %0 = abs(%i0); %1 = split(%0);
//   %2 = tanh(%1.0);      [host]  =>    (%0, %1.0) }
//   (%0, %2)                          def @main(%x) {
//                                       %0 = @m_va_0(%x);
//                                       %2 = tanh(%0.1); (%0.0, %2) }
//
// 1. Everything is told in tensors, looking through tuples and projections: what
//    a region needs from outside (each tensor one parameter, however it is
//    reached) and what others need from it (each one result, none twice).
// 2. Each block is put in order again: regions and host nodes as units, ties by
//    old position, so host nodes keep their order where regions let them.
// 3. Units are emitted in that order. A region's nodes move with their ids;
//    tuples and projections are made anew on either side of the border, and
//    whatever the host no longer uses of the old ones goes away at the end.
//
// Constants: with bind_constants they move in (equal ones once), else they are
// parameters like any value.

#include "bycc/Partition/Passes.h"
#include "bycc/Target/Vendor.h"

#include "Partitioner.h"
#include "ReadAnnotations.h"
#include "Scopes.h"

namespace bycc {

Expected<bool> partitionGraph(Module &module, PassContext &context) {
  bool changed = BYCC_TRY(readAnnotations(module, context));
  if (!context.vendors || context.vendors->size() == 0)
    return changed;
  // What nobody calls is not offloaded. Without @main everything may be called.
  changed |= module.main() && removeUnreachableFunctions(module, {module.main()});
  changed |= dropUnneeded(module);
  BYCC_TRY(askAboutGiven(module, context));
  RegionTable regions(module, *context.vendors);
  BYCC_TRY(regions.collect());
  if (regions.empty()) {
    module.clearAnnotations();
    return changed;
  }
  std::vector<FunctionId> hosts = optimizableFunctions(module), before = module.globals();
  BYCC_TRY(Partitioner(module, context, regions).run());
  for (FunctionId function : hosts)
    removeDeadNodes(module, function, true);
  // A field that nobody projects can leave a whole branch, and its regions, dead.
  removeUnreachableFunctions(module, before);
  module.clearAnnotations();
  return true;
}

} // namespace bycc
