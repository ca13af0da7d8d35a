#include "bycc/Support/Error.h"
#include "bycc/Support/FaultHandler.h"

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <unistd.h>

using namespace bycc;

static Expected<int> half(int value) {
  if (value % 2)
    return error(Status::Input, {"f.relay", 12, 8}) << "odd: " << value;
  return value / 2;
}

static Expected<int> quarter(int value) { return BYCC_TRY(half(BYCC_TRY(half(value)))); }

TEST_CASE("BYCC_TRY unwraps or returns") {
  CHECK(*quarter(12) == 3);
  auto failed = quarter(6);
  REQUIRE_FALSE(failed);
  CHECK(failed.error().str() == "f.relay:12:8: error[INPUT]: odd: 3\n");
}

TEST_CASE("places of nodes") {
  Error problem = error(Status::Unsup, {"m.onnx", 0, 0, "c\x1b[1", "Conv"}) << "no";
  CHECK(problem.str() == "m.onnx: node 'c\\x1B[1' (Conv): error[UNSUP]: no\n");
}

TEST_CASE("diagnostics stay within 4 KiB and print no control characters") {
  Diagnostic diagnostic;
  diagnostic.message = "\x1b]0;" + std::string(100000, 'x');
  diagnostic.excerpt = std::string(100000, 'y');
  for (int i = 0; i < 100; ++i)
    diagnostic.notes.push_back({{}, std::string(500, 'z')});
  std::string text = diagnostic.str();
  CHECK(text.size() <= 4096);
  CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("exit codes") {
  CHECK(exitCode(Status::Arg) == 1);
  CHECK(exitCode(Status::Usage) == 2);
  CHECK(exitCode(Status::Policy) == 3);
  CHECK(exitCode(Status::Differs) == 4);
  CHECK(exitCode(Status::Internal) == 70);
}

TEST_CASE("A9 somebody who knows the cause of a fault is asked first") {
  pid_t child = ::fork();
  if (child == 0) {
    setFaultHandler([] { ::_exit(1); });
    BYCC_ASSERT(false, "it is as it was when it was read");
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 1);
}
