// The operator cases against host code: compiled for this machine and for the
// x86-64 baseline, loaded and run in process, with static types, with symbolic
// dims and with dims that nothing is known about. An operator without host code is skipped, and
// must say so.

#include "HostRun.h"

#include "bycc/IR/LibraryUse.h"

#include <catch2/catch.hpp>

#include <set>

using namespace bycc;
using namespace bycc::numeric;

namespace {

const std::vector<Case> &cases() {
  static const std::vector<Case> all = loadCases(BYCC_SOURCE_DIR "/test/numeric");
  return all;
}

// Returns how many cases ran.
size_t checkAll(const TargetInfo &target, bool constants, Extents extents) {
  std::set<std::string> without;
  size_t ran = 0;
  for (const Case &each : cases()) {
    if (!each.error.empty())
      continue;
    INFO(each.name);
    auto module = makeModule(each, constants, extents);
    if (!module)
      continue;
    auto built = build(*module, target);
    if (!built) {
      CHECK(built.error().status() == Status::Unsup);
      if (built.error().status() != Status::Unsup)
        WARN(built.error().str());
      without.insert(std::string(opInfo(each.op).name));
      continue;
    }
    ++ran;
    run(each, *built, constants);
  }
  std::string names;
  for (const std::string &name : without)
    names += " " + name;
  WARN("some cases of these have no host code:" << names);
  return ran;
}

} // namespace

TEST_CASE("host code gives the expected results") {
  TargetInfo target = *resolveTarget("", "native", "");
  CHECK(checkAll(target, true, Extents::Known) > cases().size() / 2);
}

TEST_CASE("host code of the baseline gives the expected results") {
  TargetInfo target = *resolveTarget("", "x86-64", "");
  CHECK(checkAll(target, false, Extents::Known) > cases().size() / 2);
}

TEST_CASE("host code with unknown dims gives the expected results") {
  TargetInfo target = *resolveTarget("", "native", "");
  CHECK(checkAll(target, false, Extents::Unknown) > cases().size() / 2);
}

TEST_CASE("host code with symbolic dims gives the expected results") {
  TargetInfo target = *resolveTarget("", "native", "");
  CHECK(checkAll(target, false, Extents::Symbolic) > cases().size() / 2);
}

TEST_CASE("library kernels refuse what is wrong at run time") {
  TargetInfo target = *resolveTarget("", "native", "");
  size_t ran = 0;
  for (const Case &each : cases()) {
    if (each.error.empty())
      continue;
    auto module = makeModule(each, false, Extents::Known);
    if (!module || !isLibraryCall(*module, module->block(module->function(module->main()).body).result))
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
