#include "bycc/Support/Npy.h"

#include <catch2/catch.hpp>
#include <cstring>

using namespace bycc;

static Expected<NpyArray> parse(std::string bytes) {
  return parseNpy(Storage::own(std::move(bytes)), "x.npy");
}

static std::string version1(const std::string &dict, const std::string &elements) {
  std::string out("\x93NUMPY\x01\x00", 8);
  out += {static_cast<char>(dict.size() & 255), static_cast<char>(dict.size() >> 8)};
  return out + dict + elements;
}

TEST_CASE("npy: what is written reads back, every dtype and rank 0") {
  for (int i = 0; i < numDTypes; ++i) {
    DType dtype = static_cast<DType>(i);
    for (const std::vector<int64_t> &shape :
         {std::vector<int64_t>{}, {3}, {2, 3}, {0, 5}, std::vector<int64_t>(32, 1)}) {
      int64_t count = 1;
      for (int64_t dim : shape)
        count *= dim;
      std::string header = npyHeader(dtype, shape);
      CHECK(header.size() % 64 == 0);
      auto array = parse(header + std::string(count * sizeInBytes(dtype), '\1'));
      REQUIRE(array);
      CHECK(array->holds(dtype));
      CHECK(array->shape == shape);
    }
  }
}

TEST_CASE("npy: Fortran order, versions 2 and 3, odd spellings") {
  std::string dict = "{\"shape\":(2L,3), 'descr':'|i1','fortran_order':True}";
  auto array = parse(version1(dict, std::string("\1\4\2\5\3\6", 6)));
  REQUIRE(array);
  CHECK(std::memcmp(array->data(), "\1\2\3\4\5\6", 6) == 0);
  for (char version : {2, 3}) {
    std::string bytes("\x93NUMPY", 6);
    bytes += {version, 0, static_cast<char>(dict.size()), 0, 0, 0};
    CHECK(parse(bytes + dict + std::string(6, '\0')));
  }
}

TEST_CASE("npy: hostile files are refused") {
  std::string good = version1("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }",
                              std::string(16, '\0'));
  REQUIRE(parse(good));
  for (size_t size = 0; size < good.size(); ++size)
    CHECK_FALSE(parse(good.substr(0, size)));
  CHECK_FALSE(parse(good + "x"));
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string flipped = good;
    flipped[bit / 8] ^= 1 << bit % 8;
    (void)parse(flipped); // must not crash
  }
  for (const char *dict :
       {"{'descr': '>f4', 'fortran_order': False, 'shape': (4,), }",
        "{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-4,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (4,), }",
        "{'descr': '<f4', 'shape': (4,), }", "{'descr': '', 'shape': (4,)}", "", "{"})
    CHECK_FALSE(parse(version1(dict, std::string(16, '\0'))));
  CHECK_FALSE(parse(version1("{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }", "\2")));
}
