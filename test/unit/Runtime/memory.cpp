#include "Memory.h"

#include <catch2/catch.hpp>

using namespace bycc::runtime;
