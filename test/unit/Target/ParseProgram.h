// A module of Relay text, without its version line.
#pragma once

#include "bycc/Parser/Relay.h"

#include <catch2/catch.hpp>

namespace bycc {

inline Module parse(const std::string &text) {
  Expected<Module> module = parseRelay("#[version = \"0.0.5\"]\n" + text, "t.relay");
  if (!module)
    FAIL(module.error().str());
  return module.takeValue();
}

} // namespace bycc
