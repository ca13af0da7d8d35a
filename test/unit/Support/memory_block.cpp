#include "bycc/Support/MemoryBlock.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

using namespace bycc;

TEST_CASE("blocks of all sizes are aligned, whole, zeroed when asked, and given back") {
  constexpr uint64_t mib = 1 << 20;
  for (uint64_t base : {uint64_t{64}, mib / 8, mib, 2 * mib, 3 * mib, 4 * mib, 5 * mib})
    for (int64_t more : {-65, -64, -63, -1, 0, 1, 63, 64, 4096}) {
      if (static_cast<int64_t>(base) + more < 0)
        continue;
      uint64_t bytes = base + static_cast<uint64_t>(more);
      MemoryBlock dirty(bytes);
      REQUIRE(dirty.data());
      CHECK(dirty.size() >= bytes);
      CHECK(dirty.size() <= bytes + mib + 64);
      CHECK(reinterpret_cast<uintptr_t>(dirty.data()) % 64 == 0);
      std::memset(dirty.data(), 0x5a, dirty.size());
      dirty = MemoryBlock(bytes, true); // may get the same memory
      CHECK(std::all_of(dirty.data(), dirty.data() + dirty.size(),
                        [](uint8_t byte) { return byte == 0; }));
    }
  CHECK(!MemoryBlock(UINT64_MAX).data());
  CHECK(!MemoryBlock(uint64_t{1} << 50).data());
}
