// oneDNN allocates a few bytes inside its parallel regions (std::function), where an
// exception can only end the process. While something runs, a new_handler of ours gives
// a reserve back when memory lacks, so that such an allocation is tried once more; where
// that does not help, or nothing runs, all goes on as without it.
#pragma once

namespace bycc::onednn {

// One per run, on any thread. The reserve is one for the process and is filled up again
// when a run begins.
class MemoryReserve {
public:
  MemoryReserve() noexcept;
  MemoryReserve(const MemoryReserve &) = delete;
  ~MemoryReserve();
};

} // namespace bycc::onednn
