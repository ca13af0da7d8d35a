// See Loops.h: from a kernel to loops with a schedule.
#include "ChooseSchedule.h"

namespace bycc::loops {

Expected<Loops> schedule(Kernel kernel, const TargetInfo &target, bool isOfStrips,
                         KernelEdits *edits) {
  const TargetFacts &facts = factsOf(target);
  Loops loops = findLoops(std::move(kernel), facts);
  ScheduleChooser chooser(loops.kernel, facts, isOfStrips, edits);
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
