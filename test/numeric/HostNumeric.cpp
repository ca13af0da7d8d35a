// The operator cases against host code: compiled for this machine and for the
// x86-64 baseline, loaded and run in process, with static types, with symbolic
// dims and with dims that nothing is known about. Cases without host code are those of
// host_gaps.txt, and must say so.

#include "HostRun.h"

#include "bycc/IR/LibraryUse.h"

#include <catch2/catch.hpp>

#include <fstream>
#include <set>
#include <sstream>

using namespace bycc;
using namespace bycc::numeric;

namespace {

const std::vector<Case> &cases() {
  static const std::vector<Case> all = loadCases(BYCC_SOURCE_DIR "/test/numeric");
  return all;
}

// What host code does not do: "MODE OPERATOR NUMBER..." a line.
std::set<std::string> knownGaps(const std::string &mode) {
  std::ifstream file(BYCC_SOURCE_DIR "/test/numeric/host_gaps.txt");
  REQUIRE(file);
  std::set<std::string> gaps;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string of, op;
    words >> of >> op;
    for (std::string number; of == mode && words >> number;)
      gaps.insert(op + "[" + number + "]");
  }
  return gaps;
}

// Cases that run are right, and all run but those known not to.
void checkAll(const std::string &mode, const TargetInfo &target, bool constants, Extents extents) {
  std::set<std::string> gaps;
  for (const Case &each : cases()) {
    if (!each.error.empty())
      continue;
    INFO(each.name);
    auto module = makeModule(each, constants, extents);
    if (!module) {
      gaps.insert(each.name);
      continue;
    }
    auto built = build(*module, target);
    if (built) {
      run(each, *built, constants);
      continue;
    }
    INFO(built.error().str());
    CHECK(built.error().status() == Status::Unsup);
    gaps.insert(each.name);
  }
  std::set<std::string> known = knownGaps(mode);
  std::string lost, found;
  for (const std::string &name : gaps)
    if (!known.contains(name))
      lost += "\n" + mode + " " + name;
  for (const std::string &name : known)
    if (!gaps.contains(name))
      found += "\n" + mode + " " + name;
  INFO("lost its host code:" << lost << "\nhas host code, and is to leave host_gaps.txt:" << found);
  CHECK((lost.empty() && found.empty()));
}

} // namespace

TEST_CASE("host code gives the expected results") {
  TargetInfo target = *resolveTarget("", "native", "");
  checkAll("constants", target, true, Extents::Known);
}

TEST_CASE("host code of the baseline gives the expected results") {
  TargetInfo target = *resolveTarget("", "x86-64", "");
  checkAll("known", target, false, Extents::Known);
}

TEST_CASE("host code with unknown dims gives the expected results") {
  TargetInfo target = *resolveTarget("", "native", "");
  checkAll("unknown", target, false, Extents::Unknown);
}

TEST_CASE("host code with symbolic dims gives the expected results") {
  TargetInfo target = *resolveTarget("", "native", "");
  checkAll("symbolic", target, false, Extents::Symbolic);
}

TEST_CASE("library kernels refuse what is wrong at run time") {
  TargetInfo target = *resolveTarget("", "native", "");
  size_t ran = 0;
  for (const Case &each : cases()) {
    if (each.error.empty())
      continue;
    auto module = makeModule(each, false, Extents::Known);
    if (!module ||
        !isLibraryCall(*module, module->block(module->function(module->main()).body).result))
      continue;
    INFO(each.name);
    auto built = build(*module, target);
    if (!built)
      continue;
    ++ran;
    Loaded loaded(each, *built, false);
    CHECK(bycc_run(loaded.context) == BYCC_ARG);
    CHECK_THAT(bycc_last_error(), Catch::Contains(each.error));
  }
  CHECK(ran > 5);
}
