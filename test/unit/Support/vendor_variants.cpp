#include "bycc/Support/VendorVariants.h"

#include <catch2/catch.hpp>

using namespace bycc;

TEST_CASE("variants of a vendor are ordered by the numbers of their versions") {
  auto isNewer = [](const char *a, const char *b) {
    return isNewerVariant({"", a}, {"", b}) && !isNewerVariant({"", b}, {"", a});
  };
  CHECK(isNewer("3.13", "3.2"));
  CHECK(isNewer("10", "9.9.9"));
  CHECK(isNewer("3.2.1", "3.2"));
  CHECK(isNewer("2", ""));
  CHECK_FALSE(isNewer("3.02", "3.2"));
}

TEST_CASE("the file's name says which version a variant is for") {
  CHECK(variantOf("/a-1.so/libbycc_vendor_v-3.13.so").version == "3.13");
  for (const char *none : {"libbycc_vendor_v.so", "libbycc_vendor_v-.so", "libbycc_vendor_v-x.so",
                           "a-1/libbycc_vendor_v.so", "libbycc_vendor_v-1.txt"})
    CHECK(variantOf(none).version == "");
}

TEST_CASE("a version is asked for by as much of it as one likes") {
  CHECK(agrees("3.2.0", "3"));
  CHECK(agrees("3.2", "3.2.0"));
  CHECK_FALSE(agrees("3.13.0", "3.1"));
  CHECK_FALSE(agrees("2.6.3", "3"));
  CHECK(versionOfLibrary("oneDNN 2.6.3") == "2.6.3");
  CHECK(versionOfLibrary("7") == "7");
}
