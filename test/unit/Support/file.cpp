#include "bycc/Support/File.h"
#include "bycc/Support/MappedFiles.h"
#include "bycc/Support/OutputCommitter.h"
#include "bycc/Support/OutputSync.h"
#include "bycc/Support/SharedFiles.h"

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace bycc;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path;
  Folder() {
    char name[] = "/tmp/bycc-unit-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const std::string &name) const { return path / name; }
  void write(const std::string &name, const std::string &text) const {
    std::ofstream(path / name) << text;
  }
  size_t numFiles() const {
    return std::distance(fs::directory_iterator(path), fs::directory_iterator());
  }
};

std::string text(const Storage &storage) {
  return {reinterpret_cast<const char *>(storage.data()), storage.size()};
}

template <typename T> Status statusOf(const Expected<T> &result) {
  REQUIRE_FALSE(result);
  return result.error().status();
}

} // namespace

TEST_CASE("A9 only regular files are read") {
  Folder folder;
  ::mkfifo((folder / "fifo").c_str(), 0600);
  for (std::string path :
       {std::string(folder.path), folder / "fifo", std::string("/dev/zero"), folder / "missing"}) {
    CHECK(statusOf(readFile(path)) == Status::Io);
    CHECK(statusOf(mapFile(path)) == Status::Io);
  }
}

TEST_CASE("A8 size limit") {
  Folder folder;
  folder.write("f", "12345");
  CHECK(statusOf(readFile(folder / "f", 4)) == Status::Limit);
  CHECK(*readFile(folder / "f", 5) == "12345");
}

TEST_CASE("F3 F4 contained files never lead out") {
  Folder folder;
  fs::create_directory(folder / "in");
  folder.write("out", "secret");
  folder.write("in/w", "weights");
  folder.write("in/h", "hard");
  fs::create_hard_link(folder / "in/h", folder / "h2");
  fs::create_symlink("../out", folder / "in/link");
  fs::create_directory(folder / "in/sub");
  fs::create_directory_symlink("..", folder / "in/up");
  folder.write("in/sub/x", "x");
  std::string in = folder / "in";
  CHECK(text(**mapContained(in, "w")) == "weights");
  CHECK(text(**mapContained(in, "./sub/x")) == "x");
  for (std::string name :
       {std::string("../out"), std::string("sub/../../out"), folder / "out", std::string(""),
        std::string("w\0x", 3), std::string("link"), std::string("up/out"), std::string("h"),
        std::string("sub"), std::string("."), std::string("w/x"), std::string("w/"),
        std::string("w/."), std::string("./"), std::string("sub/x//")})
    CHECK(statusOf(mapContained(in, name)) == Status::Input);
  CHECK(statusOf(mapContained(in, "missing")) == Status::Io);
}

// In a child: what `body` returns.
template <typename Body> static int inChild(Body body) {
  pid_t child = ::fork();
  if (child == 0)
    ::_exit(body());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_CASE("I7 a watched mapping knows when its file got shorter") {
  Folder folder;
  int code = inChild([&] {
    folder.write("f", std::string(10000, 'x'));
    auto storage = *mapFile(folder / "f", true);
    if (!storage->isWhole())
      return 1;
    fs::resize_file(folder / "f", 100);
    return storage->isWhole() ? 2 : 0;
  });
  CHECK(code == 0);
}

TEST_CASE("A9 I7 a mapping whose file is cut reads as zeros from there on, and says so") {
  Folder folder;
  int code = inChild([&] {
    guardMappedFiles();
    folder.write("f", std::string(100000, 'x'));
    folder.write("g", std::string(5000, 'y'));
    auto other = *mapFile(folder / "g");
    {
      auto storage = *mapFile(folder / "f");
      if (!checkMappedFiles())
        return 1;
      fs::resize_file(folder / "f", 10);
      // From several places: the start of what is gone moves forward.
      if (storage->data()[99999] != 0 || storage->data()[50000] != 0 || storage->data()[4096] != 0)
        return 2;
      if (storage->data()[0] != 'x' || storage->isWhole())
        return 3;
    }
    auto changed = checkMappedFiles(); // though it is unmapped
    if (changed || changed.error().status() != Status::Io ||
        changed.error().str().find("/f") == std::string::npos)
      return 4;
    return other->isWhole() && other->data()[4999] == 'y' ? 0 : 5;
  });
  CHECK(code == 0);
}

TEST_CASE("A9 a file that is written to while it is mapped is noticed, one that is replaced is not "
          "touched") {
  Folder folder;
  bool isUnmapped = GENERATE(false, true); // before anybody asks
  int code = inChild([&] {
    folder.write("f", std::string(100, 'x'));
    auto storage = *mapFile(folder / "f");
    folder.write("new", "other");
    fs::rename(folder / "new", folder / "f");
    if (!checkMappedFiles())
      return 1;
    auto second = *mapFile(folder / "f");
    fs::last_write_time(folder / "f", fs::file_time_type::clock::now() + std::chrono::seconds(2));
    if (isUnmapped)
      second.reset();
    return statusOf(checkMappedFiles()) == Status::Io ? 0 : 2;
  });
  CHECK(code == 0);
}

TEST_CASE("H1 outputs appear together or not at all") {
  bool isSynced = GENERATE(true, false);
  setOutputsSynced(isSynced);
  Folder folder;
  folder.write("a", "old");
  {
    OutputSet outputs;
    REQUIRE(outputs.add(folder / "a", "new"));
    REQUIRE(outputs.add(folder / "b", {"1", "", "23"}));
    CHECK(*readFile(folder / "a") == "old");
    CHECK_FALSE(fs::exists(folder / "b"));
  }
  CHECK(folder.numFiles() == 1);
  OutputSet outputs;
  REQUIRE(outputs.add(folder / "a", "new"));
  REQUIRE(outputs.add(folder / "b", {"1", "", "23"}));
  REQUIRE(outputs.commit());
  CHECK(*readFile(folder / "a") == "new");
  CHECK(*readFile(folder / "b") == "123");
  CHECK(folder.numFiles() == 2);
  setOutputsSynced(true);
}

TEST_CASE("H3 what a killed build left of a file goes, that of others stays") {
  Folder folder;
  folder.write(".bycc-00ff-a", "staged");
  folder.write(".bycc-old.7-a", "backup");
  folder.write(".bycc-00ff-b-a", "of another file");
  folder.write(".bycc-00ff-a.o", "of another file");
  OutputSet outputs("00aa");
  REQUIRE(outputs.add(folder / "a", "new"));
  CHECK(OutputSet::stagedPath(folder / "a", "00aa") == folder / ".bycc-00aa-a");
  REQUIRE(outputs.commit(folder / "a"));
  CHECK(*readFile(folder / "a") == "new");
  CHECK(folder.numFiles() == 3);
  std::string longName(250, 'x');
  OutputSet longer("00aa");
  REQUIRE(longer.add(folder / longName, "new"));
  REQUIRE(longer.commit());
  CHECK(*readFile(folder / longName) == "new");
}

TEST_CASE("H1 a failed rename puts the old files back") {
  Folder folder;
  folder.write("a", "old");
  {
    OutputSet outputs;
    REQUIRE(outputs.add(folder / "a", "new"));
    REQUIRE(outputs.add(folder / "b", "new"));
    REQUIRE(outputs.add(folder / "c", "new"));
    fs::create_directory(folder / "c"); // came later: the rename fails
    CHECK(statusOf(outputs.commit()) == Status::Io);
  }
  CHECK(*readFile(folder / "a") == "old");
  CHECK_FALSE(fs::exists(folder / "b"));
  CHECK(folder.numFiles() == 2);
}

TEST_CASE("H2 bad targets") {
  Folder folder;
  OutputSet outputs;
  CHECK(statusOf(outputs.add(folder.path, "x")) == Status::Io);
  CHECK(statusOf(outputs.add(folder / "missing/x", "x")) == Status::Io);
  CHECK(outputs.add("/dev/null", "x"));
  CHECK(outputs.commit());
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("symbolic links are written through") {
  Folder folder;
  folder.write("real", "old");
  fs::create_symlink("real", folder / "link");
  OutputSet outputs;
  REQUIRE(outputs.add(folder / "link", "new"));
  REQUIRE(outputs.commit());
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(*readFile(folder / "real") == "new");
}

TEST_CASE("a file that holds the bytes already gets a second name, and is never written to") {
  Folder folder;
  folder.write("kept", "bytes");
  auto put = [&](const std::string &from) {
    OutputSet outputs("00aa");
    REQUIRE(outputs.addSame(folder / "a", folder / from, {"by", "tes"}));
    REQUIRE(outputs.add(folder / "b", "other"));
    REQUIRE(outputs.commit(folder / "b"));
    CHECK(*readFile(folder / "a") == "bytes");
    CHECK(folder.numFiles() == 3);
  };
  put("kept");
  CHECK(isSameFile(folder / "a", folder / "kept"));
  put("kept"); // it is that file
  CHECK(isSameFile(folder / "a", folder / "kept"));
  put("missing");
  CHECK_FALSE(isSameFile(folder / "a", folder / "kept"));
  put("kept");
  OutputSet outputs;
  REQUIRE(outputs.add(folder / "a", "new"));
  REQUIRE(outputs.commit());
  CHECK(*readFile(folder / "a") == "new");
  CHECK(*readFile(folder / "kept") == "bytes");
  fs::create_symlink("/dev/null", folder / "link");
  OutputSet device;
  REQUIRE(device.addSame(folder / "link", folder / "kept", {"bytes"}));
  REQUIRE(device.commit());
  CHECK(fs::is_symlink(folder / "link"));
}

TEST_CASE("H4 signals remove temporaries") {
  for (int signal : {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ}) {
    Folder folder;
    pid_t child = ::fork();
    if (child == 0) {
      ::signal(signal, SIG_DFL);
      OutputSet outputs;
      if (outputs.add(folder / "a", "new"))
        ::raise(signal);
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status));
    CHECK(folder.numFiles() == 0);
  }
}

TEST_CASE("somebody else names the files, or does not") {
  struct Other : OutputCommitter {
    std::vector<std::string> announced;
    bool isWilling = true;
    void announce(const std::string &temporary) override {
      CHECK_FALSE(fs::exists(temporary));
      announced.push_back(temporary);
    }
    Expected<> commit(const std::vector<WrittenOutput> &outputs) override {
      if (!isWilling)
        return error(Status::Io) << "no";
      return commitOutputs(outputs);
    }
  } other;
  Folder folder;
  setOutputCommitter(&other);
  {
    OutputSet outputs;
    REQUIRE(outputs.add(folder / "a", "new"));
    REQUIRE(outputs.add(folder / "b", "b"));
    REQUIRE(outputs.commit());
    CHECK(other.announced.size() >= 2); // with or without names before
  }
  CHECK(folder.numFiles() == 2);
  CHECK(*readFile(folder / "a") == "new");
  other.isWilling = false;
  {
    OutputSet outputs;
    REQUIRE(outputs.add(folder / "a", "newer"));
    CHECK_FALSE(outputs.commit());
  }
  setOutputCommitter(nullptr);
  CHECK(folder.numFiles() == 2);
  CHECK(*readFile(folder / "a") == "new");
}

TEST_CASE("what another process can map is found in its file") {
  keepMappedFilesOpen();
  Folder folder;
  folder.write("f", std::string(10000, 'x') + std::string(10000, 'y'));
  auto at = [](const FilePlace &place) {
    char byte = 0;
    CHECK(::pread(place.descriptor, &byte, 1, static_cast<off_t>(place.offset)) == 1);
    return byte;
  };
  auto mapped = *mapFile(folder / "f");
  auto place = placeInFile(mapped->data() + 15000, 5000);
  REQUIRE(place);
  CHECK(at(*place) == 'y');
  CHECK_FALSE(placeInFile(mapped->data() + 15000, 5001));
  const void *gone = mapped->data();
  mapped.reset();
  CHECK_FALSE(placeInFile(gone, 1));

  std::string large(100000, 'l'), more(200000, 'm');
  auto copy = Storage::copyOf(large.data(), large.size()),
       another = Storage::copyOf(more.data(), more.size());
  REQUIRE(placeInFile(another->data() + 1, 100));
  CHECK(at(*placeInFile(another->data() + 1, 100)) == 'm');
  CHECK(std::string(reinterpret_cast<const char *>(copy->data()), copy->size()) == large);
  auto small = Storage::copyOf("s", 1);
  CHECK_FALSE(placeInFile(small->data(), 1));
}
