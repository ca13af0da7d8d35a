// --crash-reproducer for faults that the compiler finds itself: a pass that breaks a promise.

#include "Terminal.h"
#include "bycc/Driver/Driver.h"
#include "bycc/Support/File.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>

using namespace bycc;

namespace {

int compileWithFault(const Options &options) {
  Terminal terminal(options);
  Compiler compiler;
  PassInfo faulty;
  faulty.name = "faulty";
  faulty.run = [](Module &module, PassContext &) -> Expected<bool> {
    BYCC_ASSERT(module.numNodes() == 0, "a promise that is broken");
    return false;
  };
  if (auto added = compiler.addPass(std::move(faulty), {PassPlace::Side::After, "legalize"});
      !added)
    return terminal.fail(added.error());
  auto model = compiler.compile(terminal.request());
  return model ? 0 : terminal.fail(model.error());
}

int compileWithError(const Options &options) {
  Terminal terminal(options);
  return terminal.fail(error(Status::Input) << "not this one");
}

} // namespace

TEST_CASE("a fault that is announced leaves a reproducer") {
  char folder[] = "/tmp/bycc-reproducer-XXXXXX";
  REQUIRE(::mkdtemp(folder));
  Options options;
  options.quiet = true;
  options.given = {"bycc",
                   {{"O", "-O3"}, {"shape", "--shape=x=2x3"}, {"annotate", "--annotate=it's"}}};
  options.target.cpu = "x86-64-v3";
  options.input.model = std::string(folder) + "/net.relay";
  options.watch.crashReproducer = std::string(folder) + "/crash.relay";
  {
    OutputSet files;
    REQUIRE(files.add(options.input.model, "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2, 3), "
                                           "float32]) { nn.relu(nn.relu(%x)) }\n"));
    REQUIRE(files.commit());
  }
  CHECK(runApart(options, compileWithError) == 1);
  CHECK(!pathExists(options.watch.crashReproducer));
  CHECK(runApart(options, compileWithFault) == 70);
  Expected<std::string> text = readFile(options.watch.crashReproducer);
  REQUIRE(text);
  CHECK(text->starts_with("// The program before pass 'faulty', after which bycc "));
  CHECK(text->find("\n// RUN: bycc " + options.watch.crashReproducer +
                   " --passes=faulty,fuse-ops -O3 '--annotate=it'\\''s'\n#[version") !=
        std::string::npos);
  std::filesystem::remove_all(folder);
}
