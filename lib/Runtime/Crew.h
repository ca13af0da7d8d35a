// Threads of the runtime's own, for host code and for vendors.
//
// A crew is one calling thread's workers for the length of a run: between runs they
// are anybody's, so there are as many as runs at the same time need. Every team has
// exactly the size asked for: kernels are planned for it, and wait for each other.
#pragma once

#include "bycc/Support/Error.h"

#include <cstdint>

namespace bycc::runtime {

class Crew;
using TeamTask = void (*)(void *closure);

// While it lives, the calling thread has a crew for teams of up to `threads`.
// Inside of another one, or of a task, that one's crew serves.
class CrewScope {
public:
  explicit CrewScope(int32_t threads);
  CrewScope(const CrewScope &) = delete;
  ~CrewScope();
  Expected<> check() const; // Status::Limit: the system gives no more threads

private:
  Crew *taken_ = nullptr;
  int32_t threads_;
  int problem_ = 0; // of errno
};

// Calls `task` `count` times at once, each time in a thread of its own, one of them
// the caller's; returns when all have returned. Inside of a task: once.
void runTeam(uint32_t count, TeamTask task, void *closure);

// Of the task that the calling thread runs: its number, of how many. 0 of 1 outside.
uint32_t teamIndex();
uint32_t teamSize();
bool isInTeam();
// Returns when all tasks of the team have come here.
void teamBarrier();

} // namespace bycc::runtime
