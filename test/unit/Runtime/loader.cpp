// The object loader and the CPU check by themselves.
#include "TestModel.h"
#include "bycc/Runtime/CpuFeatures.h"
#include "bycc/Runtime/ObjectLoader.h"

#include "bycc/Support/SharedObject.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <sys/resource.h>
#include <sys/stat.h>

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

TEST_CASE("I7 I9 a vendor's library that is cut anywhere is LOAD, or has all that is mapped") {
  TestModel test;
  std::string whole = readText(BYCC_TEST_PLUGINS "/libbycc_vendor_fake.so"),
              path = test.folder / "cut.so";
  size_t refused = 0;
  for (size_t size = 0; size <= whole.size(); size += 13) {
    std::filesystem::remove(path); // a new file each time
    writeText(path, whole.substr(0, size));
    auto checked = checkSharedObject(path);
    if (!checked) {
      REQUIRE(checked.error().str().starts_with(path + ": error[LOAD]: "));
      refused = size;
      continue;
    }
    void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); // SIGBUS if too little is there
    REQUIRE(library);
    ::dlclose(library);
  }
  CHECK(refused > whole.size() / 2);
}

TEST_CASE("I7 I9 a vendor's library whose headers lie, or that is no file") {
  TestModel test;
  std::string whole = readText(BYCC_TEST_PLUGINS "/libbycc_vendor_fake.so"),
              path = test.folder / "odd.so";
  auto refusal = [](const std::string &file) {
    auto checked = checkSharedObject(file);
    return checked ? std::string() : checked.error().message();
  };
  auto changed = [&](auto change) {
    std::string text = whole;
    Elf64_Ehdr header;
    std::memcpy(&header, text.data(), sizeof header);
    uint64_t table = header.e_phoff;
    Elf64_Phdr first;
    std::memcpy(&first, text.data() + table, sizeof first);
    change(header, first);
    std::memcpy(text.data(), &header, sizeof header);
    std::memcpy(text.data() + table, &first, sizeof first);
    writeText(path, text);
    return refusal(path);
  };
  using Header = Elf64_Ehdr;
  using Segment = Elf64_Phdr;
  constexpr uint64_t far = ~uint64_t{0} - 8;
  std::string cut = "the plugin is cut: ", damaged = "the plugin is damaged: ";
  CHECK(changed([](Header &, Segment &) {}) == "");
  CHECK(changed([](Header &h, Segment &) {
          h.e_phoff = far;
        }).starts_with(cut + "its table of segments"));
  CHECK(changed([](Header &h, Segment &) {
          h.e_phentsize = 1;
        }).starts_with(damaged + "its ELF header"));
  CHECK(
      changed([](Header &h, Segment &) { h.e_phnum = 0; }).starts_with(damaged + "its ELF header"));
  CHECK(changed([](Header &, Segment &s) { s.p_offset = far; }).starts_with(cut + "a segment"));
  CHECK(changed([](Header &, Segment &s) { s.p_filesz = far; }).starts_with(cut + "a segment"));
  CHECK(changed([](Header &, Segment &s) { s.p_memsz = 1; }).starts_with(damaged + "a segment"));
  CHECK(changed([](Header &h, Segment &) {
          h.e_ident[EI_DATA] = ELFDATA2MSB;
        }).find("other byte order") != std::string::npos);
  std::string fifo = test.folder / "fifo.so";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(refusal(fifo) == "is not a regular file: a plugin is a shared object");
  CHECK(refusal(test.folder) == "is a directory: a plugin is a shared object");
  CHECK(refusal(test.folder / "none.so").starts_with("cannot read the plugin: "));
}

TEST_CASE("H6 I9 what the dynamic linker says of memory is LIMIT, other things are LOAD") {
  CHECK(statusOfLinker("libx.so: cannot create shared object descriptor: Cannot allocate memory") ==
        Status::Limit);
  CHECK(statusOfLinker("libx.so: cannot allocate memory in static TLS block") == Status::Load);
  CHECK(statusOfLinker("libx.so: cannot open shared object file: No such file or directory") ==
        Status::Load);
  struct rlimit before = {};
  REQUIRE(::getrlimit(RLIMIT_AS, &before) == 0);
  if (before.rlim_cur == RLIM_INFINITY) // a file system without execution, then
    CHECK(statusOfLinker("libx.so: failed to map segment from shared object") == Status::Load);
  struct rlimit limited = {rlim_t{1} << 46, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_AS, &limited) == 0);
  CHECK(statusOfLinker("libx.so: failed to map segment from shared object") == Status::Limit);
  REQUIRE(::setrlimit(RLIMIT_AS, &before) == 0);
}
