// --check-nan: the first node that makes a NaN or infinity.
#pragma once

#include "Session.h"

namespace bycc::run {

// Runs once and says on stdout what was found. Status::Differs when a node was: its outputs hold
// what is not finite, its inputs do not.
Expected<> checkNan(Session &session);

} // namespace bycc::run
