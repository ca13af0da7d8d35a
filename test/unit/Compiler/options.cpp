#include "../../../lib/Compiler/ResultFlags.h"
#include "bycc/Compiler/Extensions.h"
#include "bycc/Compiler/RequestOptions.h"

#include <catch2/catch.hpp>

#include <set>

using namespace bycc;

namespace {

std::string problem(const std::vector<std::string> &arguments) {
  CompileRequest request;
  auto done = setOptions(request, arguments);
  return done ? "" : done.error().message();
}

} // namespace

TEST_CASE("options of a request by name") {
  CompileRequest request;
  REQUIRE(setOption(request, "annotate", "dnnl"));
  REQUIRE(setOption(request, "embed-weights"));
  REQUIRE(setOption(request, "emit", "relay,dot"));
  CHECK(request.vendors.annotate == "dnnl");
  CHECK(request.code.embedWeights);
  CHECK(request.forms == std::vector{OutputForm::Relay, OutputForm::Dot});
  CHECK(setOption(request, "anotate", "x").error().message() ==
        "unknown option 'anotate', did you mean '--annotate'?");
}

TEST_CASE("options of a request as a command line has them") {
  CompileRequest request;
  std::vector<std::string> arguments = {"annotate=dnnl", "-O1",         "--pin",
                                        "conv*=host",    "pin=fc=dnnl", "likely=batch=8,seq=128"};
  REQUIRE(setOptions(request, arguments));
  CHECK(request.passes.level == 1);
  CHECK(request.vendors.pins ==
        std::vector<std::pair<std::string, std::string>>{{"conv*", "host"}, {"fc", "dnnl"}});
  CHECK(request.input.likely.at("seq") == 128);
}

TEST_CASE("wrong options of a request change nothing and are said") {
  CompileRequest request;
  std::vector<std::string> arguments = {"O=3", "nan=maybe"};
  Expected<> done = setOptions(request, arguments);
  REQUIRE(!done);
  CHECK(done.error().status() == Status::Usage);
  CHECK(done.error().message() == "--nan: bad value 'maybe', it takes keep|fast");
  CHECK(request.passes.level == 2);
  CHECK(problem({"explain"}) ==
        "option 'explain' is one of bycc's command line, not of the compiler");
  CHECK(problem({"-o", "x.o"}) == "option 'o' is one of bycc's command line, not of the compiler");
  CHECK(problem({"annotate"}) == "--annotate needs a value");
  CHECK(problem({"strict=yes"}) == "--strict takes no value");
  CHECK(problem({"emit=obj,objj"}) == "--emit: bad value 'obj,objj', it takes a list of obj, asm, "
                                      "llvm, loops, relay, json, header, dot, html");
  CHECK(problem({""}) == "'' is no option");
}

// What the graph JSON says of a build can be asked for again: its flags are rows of the table.
TEST_CASE("flags that a result records are options") {
  CompileRequest request, again;
  std::vector<std::string> all = {"O=3",
                                  "passes=infer-type",
                                  "disable-pass=fuse-ops",
                                  "require-pass=legalize",
                                  "run-before=fuse-ops:infer-type",
                                  "run-after=fuse-ops:legalize",
                                  "precision=bf16",
                                  "precision-rules=p.json",
                                  "nan=fast",
                                  "annotate=dnnl",
                                  "rules=r.json",
                                  "patterns=p.json",
                                  "annotate-ops=nn.*",
                                  "annotate-skip-ops=nn.relu",
                                  "pin=a=host",
                                  "hand-annotations=trust",
                                  "min-region-ops=2",
                                  "min-region-flops=10",
                                  "cost-model=static",
                                  "search=5",
                                  "shape=x=1x2",
                                  "dim=n=1",
                                  "likely=m=4",
                                  "embed-weights",
                                  "threads=3"};
  REQUIRE(setOptions(request, all));
  std::vector<std::string> flags = resultFlags(request, {}, {}, {});
  INFO(problem(flags));
  REQUIRE(setOptions(again, flags));
  CHECK(resultFlags(again, {}, {}, {}) == flags);
  CHECK(flags.size() >= all.size());
}

TEST_CASE("the table of options is sound") {
  std::set<std::string> seen;
  for (const OptionInfo &info : requestOptionInfos()) {
    INFO(info.names);
    for (const std::string &name : info.allNames())
      CHECK(seen.insert(name).second);
    CHECK(!info.help.empty());
    CHECK(!info.group.empty());
    CHECK((info.form == OptionForm::Flag) == info.value.empty());
  }
}
