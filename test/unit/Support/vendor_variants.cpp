#include "bycc/Support/VendorVariants.h"

#include <catch2/catch.hpp>

using namespace bycc;

TEST_CASE("variants of a vendor are ordered by the numbers of their versions") {
  auto isNewer = [](const char *a, const char *b) {
    return isNewerVariant({"", "", a}, {"", "", b}) && !isNewerVariant({"", "", b}, {"", "", a});
  };
  CHECK(isNewer("3.13", "3.2"));
  CHECK(isNewer("10", "9.9.9"));
  CHECK(isNewer("3.2.1", "3.2"));
  CHECK(isNewer("2", ""));
  CHECK_FALSE(isNewer("3.02", "3.2"));
}

TEST_CASE("the file's name says which version a variant is for") {
  CHECK(variantOf("/a-1.so/libbycc_vendor_v-3.13.so").version == "3.13");
  CHECK(variantOf("/a/libbycc_vendor_v-3.13.so").stem == variantOf("/a/libbycc_vendor_v.so").stem);
  for (const char *none : {"libbycc_vendor_v.so", "libbycc_vendor_v-.so", "libbycc_vendor_v-x.so",
                           "a-1/libbycc_vendor_v.so", "a/-1.so"})
    CHECK(variantOf(none).version == "");
}

TEST_CASE("a version is asked for by as much of it as one likes") {
  CHECK(agrees("3.2.0", "3"));
  CHECK(agrees("3.2", "3.2.0"));
  CHECK_FALSE(agrees("3.13.0", "3.1"));
  CHECK_FALSE(agrees("2.6.3", "3"));
  CHECK(checkLibrary({}, "oneDNN 2.6.3", "2.6"));
  CHECK(checkLibrary({}, "7", "7"));
  CHECK(checkLibrary({}, nullptr, ""));
  CHECK(checkLibrary({}, "oneDNN 2.6.3", "3").error().message() ==
        "its library is oneDNN 2.6.3, wanted is 3");
  CHECK_FALSE(checkLibrary({}, nullptr, "3"));
  bycc_vendor_option own = {sizeof own, BYCC_ATTR_STRING,      "library", "",
                            nullptr,    "a file of functions", 0};
  CHECK(checkLibrary(VendorSettings::describedBy("v", 1, &own).takeValue(), "v 1", "/a/b.bin"));
}
