// What is asked before BYCC_ASSERT reports a fault of the program: what is broken may have
// a cause outside of it.
#pragma once

namespace bycc {

// `handler` does not return where it knows the cause.
void setFaultHandler(void (*handler)());

} // namespace bycc
