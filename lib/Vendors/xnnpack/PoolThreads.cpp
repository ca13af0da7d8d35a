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

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>

namespace bycc::xnnpack {

namespace {

const bycc_thread_pool *sharedPool = nullptr;
std::atomic<uint64_t> callsHere{0};

constexpr size_t stretchesPerThread = 4;

// `body(first, last)` over [0, count), in parts.
template <typename Body> void share(pthreadpool_t pool, size_t count, const Body &body) {
  callsHere.fetch_add(1, std::memory_order_relaxed);
  size_t threads = pool && sharedPool ? std::min<size_t>(pool->threads, count) : 1;
  if (threads <= 1)
    return body(0, count);
  struct Work {
    const Body &body;
    size_t count, stretch;
    std::atomic<size_t> next{0};
  } work{body, count, std::max<size_t>(1, count / (threads * stretchesPerThread))};
  auto run = [](void *closure) {
    Work &work = *static_cast<Work *>(closure);
    for (size_t first;
         (first = work.next.fetch_add(work.stretch, std::memory_order_relaxed)) < work.count;)
      work.body(first, std::min(first + work.stretch, work.count));
  };
  sharedPool->run(static_cast<uint32_t>(threads), run, &work);
}

// The last Tiled axes in tiles. `call` gets the index of an item, then the extents of its tile.
template <size_t Rank, size_t Tiled, typename Call>
void grid(pthreadpool_t pool, const std::array<size_t, Rank> &range,
          const std::array<size_t, Tiled> &tile, const Call &call) {
  std::array<size_t, Rank> step, counts;
  size_t total = 1;
  for (size_t axis = 0; axis < Rank; ++axis) {
    step[axis] = axis + Tiled >= Rank ? tile[axis + Tiled - Rank] : 1;
    counts[axis] = (range[axis] + step[axis] - 1) / step[axis];
    total *= counts[axis];
  }
  share(pool, total, [&](size_t first, size_t last) {
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
      call(index, size);
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

BYCC_EXPORT void pthreadpool_parallelize_1d(pthreadpool_t pool, pthreadpool_task_1d_t task,
                                            void *context, size_t i, uint32_t) {
  grid<1, 0>(pool, {i}, {}, [&](auto &at, auto &) { task(context, at[0]); });
}

BYCC_EXPORT void pthreadpool_parallelize_1d_tile_1d(pthreadpool_t pool,
                                                    pthreadpool_task_1d_tile_1d_t task,
                                                    void *context, size_t i, size_t tileI,
                                                    uint32_t) {
  grid<1, 1>(pool, {i}, {tileI}, [&](auto &at, auto &size) { task(context, at[0], size[0]); });
}

BYCC_EXPORT void pthreadpool_parallelize_2d(pthreadpool_t pool, pthreadpool_task_2d_t task,
                                            void *context, size_t i, size_t j, uint32_t) {
  grid<2, 0>(pool, {i, j}, {}, [&](auto &at, auto &) { task(context, at[0], at[1]); });
}

BYCC_EXPORT void pthreadpool_parallelize_2d_tile_1d(pthreadpool_t pool,
                                                    pthreadpool_task_2d_tile_1d_t task,
                                                    void *context, size_t i, size_t j, size_t tileJ,
                                                    uint32_t) {
  grid<2, 1>(pool, {i, j}, {tileJ},
             [&](auto &at, auto &size) { task(context, at[0], at[1], size[0]); });
}

BYCC_EXPORT void pthreadpool_parallelize_2d_tile_2d(pthreadpool_t pool,
                                                    pthreadpool_task_2d_tile_2d_t task,
                                                    void *context, size_t i, size_t j, size_t tileI,
                                                    size_t tileJ, uint32_t) {
  grid<2, 2>(pool, {i, j}, {tileI, tileJ},
             [&](auto &at, auto &size) { task(context, at[0], at[1], size[0], size[1]); });
}

BYCC_EXPORT void pthreadpool_parallelize_3d(pthreadpool_t pool, pthreadpool_task_3d_t task,
                                            void *context, size_t i, size_t j, size_t k, uint32_t) {
  grid<3, 0>(pool, {i, j, k}, {}, [&](auto &at, auto &) { task(context, at[0], at[1], at[2]); });
}

BYCC_EXPORT void pthreadpool_parallelize_3d_tile_2d(pthreadpool_t pool,
                                                    pthreadpool_task_3d_tile_2d_t task,
                                                    void *context, size_t i, size_t j, size_t k,
                                                    size_t tileJ, size_t tileK, uint32_t) {
  grid<3, 2>(pool, {i, j, k}, {tileJ, tileK},
             [&](auto &at, auto &size) { task(context, at[0], at[1], at[2], size[0], size[1]); });
}

BYCC_EXPORT void pthreadpool_parallelize_4d(pthreadpool_t pool, pthreadpool_task_4d_t task,
                                            void *context, size_t i, size_t j, size_t k, size_t l,
                                            uint32_t) {
  grid<4, 0>(pool, {i, j, k, l}, {},
             [&](auto &at, auto &) { task(context, at[0], at[1], at[2], at[3]); });
}

BYCC_EXPORT void pthreadpool_parallelize_4d_tile_2d(pthreadpool_t pool,
                                                    pthreadpool_task_4d_tile_2d_t task,
                                                    void *context, size_t i, size_t j, size_t k,
                                                    size_t l, size_t tileK, size_t tileL,
                                                    uint32_t) {
  grid<4, 2>(pool, {i, j, k, l}, {tileK, tileL}, [&](auto &at, auto &size) {
    task(context, at[0], at[1], at[2], at[3], size[0], size[1]);
  });
}

BYCC_EXPORT void pthreadpool_parallelize_5d(pthreadpool_t pool, pthreadpool_task_5d_t task,
                                            void *context, size_t i, size_t j, size_t k, size_t l,
                                            size_t m, uint32_t) {
  grid<5, 0>(pool, {i, j, k, l, m}, {},
             [&](auto &at, auto &) { task(context, at[0], at[1], at[2], at[3], at[4]); });
}

BYCC_EXPORT void pthreadpool_parallelize_5d_tile_2d(pthreadpool_t pool,
                                                    pthreadpool_task_5d_tile_2d_t task,
                                                    void *context, size_t i, size_t j, size_t k,
                                                    size_t l, size_t m, size_t tileL, size_t tileM,
                                                    uint32_t) {
  grid<5, 2>(pool, {i, j, k, l, m}, {tileL, tileM}, [&](auto &at, auto &size) {
    task(context, at[0], at[1], at[2], at[3], at[4], size[0], size[1]);
  });
}

BYCC_EXPORT void pthreadpool_parallelize_6d_tile_2d(pthreadpool_t pool,
                                                    pthreadpool_task_6d_tile_2d_t task,
                                                    void *context, size_t i, size_t j, size_t k,
                                                    size_t l, size_t m, size_t n, size_t tileM,
                                                    size_t tileN, uint32_t) {
  grid<6, 2>(pool, {i, j, k, l, m, n}, {tileM, tileN}, [&](auto &at, auto &size) {
    task(context, at[0], at[1], at[2], at[3], at[4], at[5], size[0], size[1]);
  });
}
