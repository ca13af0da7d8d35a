#include "bycc/Support/Quantity.h"

#include <catch2/catch.hpp>

using namespace bycc;

TEST_CASE("quantities are readable however small") {
  CHECK(sizeText(0) == "0 B");
  CHECK(sizeText(1023) == "1023 B");
  CHECK(sizeText(12160) == "12 KiB");
  CHECK(sizeText(600 * 1024) == "600 KiB");
  CHECK(sizeText(600 * 1024, 0.05) == "0.6 MiB");
  CHECK(sizeText(3.1 * 1048576) == "3.1 MiB");
  CHECK(secondsText(0.004) == "0.004 s");
  CHECK(secondsText(0.031) == "0.03 s");
  CHECK(secondsText(0.097) == "0.1 s");
  CHECK(secondsText(12.44) == "12.4 s");
  CHECK(flopsText(512) == "512 FLOP");
  CHECK(flopsText(2048) == "2.0 kFLOP");
  CHECK(flopsText(7.5e12) == "7.5 TFLOP");
}
