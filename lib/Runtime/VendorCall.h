// Calls of run halves: their interface is C, but what they are written in can throw.
#pragma once

#include "bycc/runtime.h"

#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>
#include <span>

namespace bycc::runtime {

// The status that `call` returns; BYCC_LOAD, and what it is in `text`, when it throws, as the
// vendor is none that can be used. A lack of memory goes on to who asked.
template <typename Call> int32_t callVendor(Call call, std::span<char> text) {
  try {
    return call();
  } catch (const std::bad_alloc &) {
    throw;
  } catch (const std::exception &exception) {
    std::snprintf(text.data(), text.size(), "the vendor threw an exception: %s", exception.what());
  } catch (...) {
    std::snprintf(text.data(), text.size(), "the vendor threw an exception");
  }
  return BYCC_LOAD;
}

} // namespace bycc::runtime
