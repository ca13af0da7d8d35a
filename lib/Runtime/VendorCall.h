// Calls of run halves: their interface is C, but what they are written in can throw.
#pragma once

#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>
#include <span>

namespace bycc::runtime {

// The status that `call` returns; `thrown`, and what it is in `text`, when it throws. A lack
// of memory goes on to who asked.
template <typename Call> int32_t callVendor(Call call, int32_t thrown, std::span<char> text) {
  try {
    return call();
  } catch (const std::bad_alloc &) {
    throw;
  } catch (const std::exception &exception) {
    std::snprintf(text.data(), text.size(), "the vendor threw an exception: %s", exception.what());
  } catch (...) {
    std::snprintf(text.data(), text.size(), "the vendor threw an exception");
  }
  return thrown;
}

} // namespace bycc::runtime
