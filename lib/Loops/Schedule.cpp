// See Loops.h: from a kernel to loops with a schedule.
#include "ChooseSchedule.h"

namespace bycc::loops {

Expected<Loops> schedule(Kernel kernel, const TargetInfo &target, bool isOfStrips,
                         KernelEdits *edits) {
  const TargetFacts &facts = factsOf(target);
  Loops loops;
  loops.kernel = std::move(kernel);
  inlineStages(loops.kernel);
  ScheduleChooser chooser(loops.kernel, facts, isOfStrips, edits);
  chooser.chooseSplits(loops.schedule);
  splitReductions(loops.kernel, loops.schedule.splits, facts);
  findLoops(loops, facts);
  chooser.chooseShapes(loops.nests, loops.schedule);
  if (edits) // what cannot be is not made
    BYCC_TRY(edits->checkRefused());
  applyShapes(loops);
  chooser.chooseSteps(loops.nests, loops.schedule);
  if (edits)
    BYCC_TRY(edits->check());
  finishLoops(loops);
  return loops;
}

} // namespace bycc::loops
