// See PoolThreads.h. XNNPACK asks thirteen functions of libpthreadpool, which this shared object
// defines: what the dynamic linker finds for a library is the program's own first, then what this
// object has, which was opened alone, and only then what the library itself is linked with. In a
// program that has pthreadpool, or XNNPACK, the library may stay with that one; it is then never
// given a pool of ours.
//
// All of them are one: items of a grid, the last axes in tiles, in any order. Threads take
// stretches of neighbours from a counter. Denormal numbers are kept, whatever `flags` say.
#include "PoolThreads.h"

#include <xnnpack.h>

#include <array>
#include <atomic>

namespace bycc::xnnpack {

namespace {

const bycc_thread_pool *sharedPool = nullptr;
std::atomic<uint64_t> callsHere{0};

// The last Tiled axes in tiles. `task` gets the index of an item, then the extents of its tile.
template <size_t Rank, size_t Tiled, typename Task>
void grid(pthreadpool_t pool, const std::array<size_t, Rank> &range,
          const std::array<size_t, Tiled> &tile, Task task, void *context) {
  callsHere.fetch_add(1, std::memory_order_relaxed);
  std::array<size_t, Rank> step, counts;
  size_t total = 1;
  for (size_t axis = 0; axis < Rank; ++axis) {
    step[axis] = axis + Tiled >= Rank ? tile[axis + Tiled - Rank] : 1;
    counts[axis] = (range[axis] + step[axis] - 1) / step[axis];
    total *= counts[axis];
  }
  vendor::share(sharedPool, pool ? pool->threads : 1, total, [&](size_t first, size_t last) {
    std::array<size_t, Rank> at;
    size_t left = first;
    for (size_t axis = Rank; axis-- > 0; left /= counts[axis])
      at[axis] = left % counts[axis];
    for (size_t item = first; item < last; ++item) {
      std::array<size_t, Rank> index;
      std::array<size_t, Tiled> size;
      for (size_t axis = 0; axis < Rank; ++axis)
        index[axis] = at[axis] * step[axis];
      for (size_t t = 0; t < Tiled; ++t)
        size[t] = std::min(tile[t], range[Rank - Tiled + t] - index[Rank - Tiled + t]);
      std::apply(task, std::tuple_cat(std::tuple(context), index, size));
      for (size_t axis = Rank; axis-- > 0 && ++at[axis] == counts[axis];)
        at[axis] = 0;
    }
  });
}

// Does the library call the functions below?
bool isLibraryHere() {
  constexpr size_t channels = 1;
  xnn_operator_t absolute = nullptr;
  if (xnn_create_abs_nc_f32(channels, channels, channels, 0, &absolute) != xnn_status_success)
    return false;
  std::array<float, 1 + XNN_EXTRA_BYTES / sizeof(float)> data{};
  uint64_t before = callsHere.load();
  bool isRun =
      xnn_setup_abs_nc_f32(absolute, 1, data.data(), data.data(), nullptr) == xnn_status_success &&
      xnn_run_operator(absolute, nullptr) == xnn_status_success;
  xnn_delete_operator(absolute);
  return isRun && callsHere.load() != before;
}

} // namespace

void useThreads(const bycc_thread_pool *given) { sharedPool = given; }

pthreadpool_t poolFor(pthreadpool *pool) {
  static const bool isHere = isLibraryHere();
  return isHere && sharedPool ? pool : nullptr;
}

} // namespace bycc::xnnpack

#define BYCC_EXPORT extern "C" __attribute__((visibility("default")))
using bycc::xnnpack::grid;

BYCC_EXPORT size_t pthreadpool_get_threads_count(pthreadpool_t pool) {
  return pool ? pool->threads : 1;
}

// A grid of so many axes, the last ones in tiles: extents, then those of the tiles.
#define AXES_1 i
#define AXES_2 AXES_1, j
#define AXES_3 AXES_2, k
#define AXES_4 AXES_3, l
#define AXES_5 AXES_4, m
#define AXES_6 AXES_5, n
#define SIZES_1 size_t i
#define SIZES_2 SIZES_1, size_t j
#define SIZES_3 SIZES_2, size_t k
#define SIZES_4 SIZES_3, size_t l
#define SIZES_5 SIZES_4, size_t m
#define SIZES_6 SIZES_5, size_t n
#define TILES_0
#define TILES_1 t
#define TILES_2 t, u
#define TILE_SIZES_0
#define TILE_SIZES_1 size_t t,
#define TILE_SIZES_2 size_t t, size_t u,
#define PARALLELIZE(name, rank, tiled)                                                             \
  BYCC_EXPORT void pthreadpool_parallelize_##name(pthreadpool_t pool,                              \
                                                  pthreadpool_task_##name##_t task, void *context, \
                                                  SIZES_##rank, TILE_SIZES_##tiled uint32_t) {     \
    grid<rank, tiled>(pool, {AXES_##rank}, {TILES_##tiled}, task, context);                        \
  }

PARALLELIZE(1d, 1, 0)
PARALLELIZE(1d_tile_1d, 1, 1)
PARALLELIZE(2d, 2, 0)
PARALLELIZE(2d_tile_1d, 2, 1)
PARALLELIZE(2d_tile_2d, 2, 2)
PARALLELIZE(3d, 3, 0)
PARALLELIZE(3d_tile_2d, 3, 2)
PARALLELIZE(4d, 4, 0)
PARALLELIZE(4d_tile_2d, 4, 2)
PARALLELIZE(5d, 5, 0)
PARALLELIZE(5d_tile_2d, 5, 2)
PARALLELIZE(6d_tile_2d, 6, 2)
