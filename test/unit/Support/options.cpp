#include "bycc/Support/OptionArguments.h"

#include <catch2/catch.hpp>

using namespace bycc;

namespace {

const OptionInfo output{"o|output", OptionForm::Value, "FILE", "file"};
const OptionInfo level{"O", OptionForm::Value, "0|1|2|3"};
const OptionInfo random_{"random", OptionForm::Optional, "SEED"};
const OptionInfo cpu{"mcpu", OptionForm::Value, "NAME|native", "native|x86-64-v3",
                     option_traits::OneDash};
const OptionInfo strict{"strict", OptionForm::Flag};
const std::vector<const OptionInfo *> table = {&output, &level, &random_, &cpu, &strict};

// "o:net.o x.onnx", positional arguments without a name; or the error.
std::string read(const std::vector<std::string> &arguments) {
  auto given = readOptionArguments(table, arguments);
  if (!given)
    return given.error().message();
  std::string text;
  for (const auto &[option, value] : *given)
    text += (text.empty() ? "" : " ") + (option ? option->name() + ":" + value : value);
  return text;
}

} // namespace

TEST_CASE("options: one dash or two, joined values, and what follows --") {
  CHECK(read({"net.onnx", "-o", "net.o", "--O=3", "-mcpu=native"}) ==
        "net.onnx o:net.o O:3 mcpu:native");
  CHECK(read({"-O2", "-onet.o", "--output", "-x", "--random", "net.json"}) ==
        "O:2 o:net.o o:-x random: net.json");
  CHECK(read({"--random=5", "-strict", "--", "--strict", "-"}) == "random:5 strict: --strict -");
  CHECK(read({"-", "--mcpu", "a=b"}) == "- mcpu:a=b");
}

TEST_CASE("options: what is wrong is said") {
  CHECK(read({"--strikt"}) == "unknown option '--strikt', did you mean '--strict'?");
  CHECK(read({"--zzzzzzzzz"}) == "unknown option '--zzzzzzzzz'");
  CHECK(read({"--strict=1"}) == "--strict takes no value");
  CHECK(read({"-o"}) == "-o needs a value");
  CHECK(read({"--mcpu="}) == "-mcpu needs a value");
  CHECK(badOptionValue(level, "4", "").message() == "-O: bad value '4', it takes 0|1|2|3");
}

TEST_CASE("options: how texts show them") {
  CHECK(output.speltWithValue() == "-o FILE");
  CHECK(cpu.speltWithValue() == "-mcpu=NAME|native");
  CHECK(random_.speltWithValue() == "--random[=SEED]");
  CHECK(level.words() == std::vector<std::string>{"0", "1", "2", "3"});
  CHECK(cpu.words() == std::vector<std::string>{"native", "x86-64-v3"});
  CHECK(output.words().empty());
}
