// Timing and profiling.
#pragma once

#include "Session.h"

namespace bycc::run {

// Warm-ups, then timed runs; the result goes to stdout as a table, or to --json.
Expected<> bench(Session &session, const Options &options, double loadMs);
// Table per node and per region on stdout; with a file, a Chrome trace of one run.
Expected<> profile(Session &session, const Options &options);

double millisecondsNow();

} // namespace bycc::run
