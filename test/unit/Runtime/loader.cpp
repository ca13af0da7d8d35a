// The object loader and the CPU check by themselves.
#include "CpuFeatures.h"
#include "ObjectLoader.h"
#include "TestModel.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <elf.h>

using namespace bycc;
using namespace bycc::runtime;

static Expected<LoadedObject> load(const std::string &bytes) {
  return loadObject(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size(), "net.o");
}

TEST_CASE("I7 a truncated object is LOAD at every length") {
  std::string object = readText(BYCC_TEST_OBJECT_HOST);
  REQUIRE(load(object));
  for (size_t size = 0; size < object.size(); ++size) {
    auto loaded = load(object.substr(0, size));
    REQUIRE_FALSE(loaded);
    REQUIRE(loaded.error().status() == Status::Load);
  }
}

TEST_CASE("I7 a flipped bit never crashes the loader") {
  std::string object = readText(BYCC_TEST_OBJECT_HOST);
  for (size_t bit = 0; bit < 8 * object.size(); ++bit) {
    object[bit / 8] ^= 1 << bit % 8;
    auto loaded = load(object);
    if (!loaded)
      REQUIRE(loaded.error().status() != Status::Internal);
    object[bit / 8] ^= 1 << bit % 8;
  }
}

TEST_CASE("I7 a section that is none is not copied, wherever it claims to lie") {
  std::string object = readText(BYCC_TEST_OBJECT_HOST);
  Elf64_Ehdr header;
  std::memcpy(&header, object.data(), sizeof header);
  for (uint64_t offset : {uint64_t{1} << 20, ~uint64_t{0} - 8, uint64_t{1} << 47}) {
    std::string damaged = object;
    Elf64_Shdr section = {};
    section.sh_flags = SHF_ALLOC;
    section.sh_offset = offset;
    section.sh_size = 1 << 16;
    std::memcpy(damaged.data() + header.e_shoff, &section, sizeof section); // the first is SHT_NULL
    CHECK(load(damaged));
  }
}

TEST_CASE("I7 not ELF, another machine, a symbol missing") {
  std::string object = readText(BYCC_TEST_OBJECT_HOST);
  CHECK(load("text").error().message() == "not an ELF object");
  std::string arm = object;
  arm[offsetof(Elf64_Ehdr, e_machine)] = static_cast<char>(EM_AARCH64);
  CHECK(load(arm).error().message().find("another machine") != std::string::npos);
  std::string renamed = object;
  renamed.replace(renamed.find("probe_bycc_module"), 17, "probe_bycc_modulf");
  CHECK(load(renamed).error().message().find("_bycc_module") != std::string::npos);
  std::string unknown = object;
  size_t at = unknown.find(std::string("\0expf\0", 6));
  REQUIRE(at != std::string::npos);
  unknown.replace(at + 1, 4, "open");
  CHECK(load(unknown).error().message().find("'open'") != std::string::npos);
}

TEST_CASE("I9 CPU features that are missing or unknown are listed") {
  CHECK(missingCpuFeatures("sse2,+cmov,-avx512f").empty());
  CHECK(missingCpuFeatures("").empty());
  CHECK(missingCpuFeatures("sse2,xop,warp-drive").back() == "warp-drive");
}
