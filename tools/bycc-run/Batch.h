// bycc-run --batch: one run for each file of a folder.
//
// Any number of processes may share the two folders, die at any moment and be started
// again. Each result is claimed by a lock on `.RESULT.part`, which the kernel gives back
// when its owner dies, is written there, and gets its name when it is complete:
//
//   IN/a.npz  ->  OUT/.a.npz.part (locked)  ->  OUT/a.npz
#pragma once

#include "Session.h"

namespace bycc::run {

// Returns when all files have results, whoever made them, but those that cannot be used:
// these are reported on standard error, and the first one's error is returned. What goes
// wrong with a result ends it at once.
Expected<> runBatch(Session &session, const Options &options);

} // namespace bycc::run
