// Arguments are first brought to the form `--name=value` for CLI11: long options
// take one dash or two, a value stands after '=' or in the next argument, except
// for --random, --print and --profile, which take one only after '='.
#include "CommandLine.h"

#include "bycc/Support/Error.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Text.h"
#include "bycc/Support/VendorSettings.h"
#include "bycc/runtime.h"
#include "texts/OptionTexts.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>

namespace bycc::run {
namespace {

using enum OptionForm;
using namespace option_traits;

// clang-format off
constexpr OptionInfo table[] = {
    {"inputs", Value, "DIR", "folder", Common, "folder of NAME.npy files, one per input", "inputs"},
    {"input", Value, "NAME=FILE.npy", "", Common | Repeats, "one input", "inputs"},
    {"random", Optional, "SEED", "", Common, "random data for inputs that are not given; seed 0 without a value", "inputs"},
    {"shape", Value, "NAME=5x3x4", "", Common | Repeats, "shape of a random input; extents that the model leaves open are 1 without it", "inputs"},
    {"batch", Value, "DIR", "folder", Common, "a run for each .npy (of one input) or .npz (of several) of this folder, with a result of the same name in --outputs; what has one is passed over, bad files are reported, and several processes can share the work", "inputs"},
    {"outputs", Value, "DIR", "folder", Common, "write NAME.npy per output into this folder", "outputs"},
    {"print", Optional, "N", "", Common, "print N values of each output, 10 without a value", "outputs"},
    {"expected", Value, "DIR", "folder", Common, "compare with the NAME.npy files of this folder", "outputs"},
    {"rtol", Value, "R", "", Common, "relative tolerance of --expected, default 1e-3", "outputs"},
    {"atol", Value, "A", "", Common, "absolute tolerance of --expected, default 1e-5", "outputs"},
    {"check-nan", Flag, "", "", Common, "run once and name the first node or region that makes a NaN or infinity of finite inputs; exit code 4 when there is one", "outputs"},
    {"bench", Flag, "", "", Common, "measure the time of a run", "time"},
    {"runs", Value, "N", "", Common, "runs of --bench and --profile, default 50 and 10", "time"},
    {"warmup", Value, "N", "", Common, "runs before them, default 5", "time"},
    {"seconds", Value, "S", "", Common, "--bench runs for at least this long (with --runs, that often at least, too)", "time"},
    {"json", Value, "FILE", "file", Common, "write the result of --bench as JSON; - is stdout", "time"},
    {"profile", Optional, "FILE", "file", Common, "table of time per node and region; with FILE a Chrome trace too", "time"},
    {"threads", Value, "N", "", Common, "size of the thread pool, default the CPUs allowed", "other"},
    {"params", Value, "FILE", "file", Common, "params file, default the recorded one beside the model", "other"},
    {"vendor-option", Value, "V.NAME=VALUE", "", Common | Repeats, "an option of the run half of a vendor; a wrong name lists them; V.library=3.2 takes its half for that version of its library", "other"},
    {"verify", Flag, "", "", Common, "hash all weights; without it, those of files up to 32 MiB", "other"},
    {"verbose|v", Flag, "", "", Common, "messages of the runtime", "other"},
    {"quiet|q", Flag, "", "", Common, "no progress on stderr", "other"},
    {"version", Flag, "", "", Common, "print the version", "other"},
    {"help|h", Flag, "", "", Common, "print this help", "other"},
    {"help-all", Flag, "", "", Hidden, "the same, as messages of both programs name it", "other"},
    {"print-text", Value, "man|bash|zsh|fish", "", Hidden, "print the manual page or the completions for a shell", "other"},
};
// clang-format on

const OptionInfo *findOption(const std::string &name) {
  for (const OptionInfo &option : table)
    if (option.isCalled(name))
      return &option;
  return nullptr;
}

const cli::ProgramTexts &texts() {
  static const cli::ProgramTexts program = {
      "bycc-run",
      "run a model that bycc compiled",
      {"bycc-run MODEL.json [options]"},
      {
          {"bycc-run net.json --inputs in/ --outputs out/", "in/NAME.npy -> out/NAME.npy"},
          {"bycc-run net.json --random --print", "random inputs; some values of each output"},
          {"bycc-run net.json --inputs in/ --expected want/",
           "compare; exit code 4 where they differ"},
          {"bycc-run net.json --random --bench", "the time of a run"},
          {"bycc-run net.json --random --profile=trace.json", "where the time goes"},
      },
      {"bycc-run runs a model that bycc compiled. MODEL.json is its graph JSON; the object and the "
       "params are beside it."},
      {},
      {{"0", "done"},
       {"1", "failed"},
       {"2", "bad command line"},
       {"4", "results differ, or a NaN is made"},
       {"70", "internal error"}},
      {{"BYCC_PLUGIN_PATH", "folders, separated by ':', in which run halves of vendors are looked "
                            "for, before ../lib/bycc beside the program"}},
      {"bycc(1)", "bycc-opt(1)"},
      "",
  };
  return program;
}

int usage(const std::string &message, MessageId id = {}) {
  std::string number = text(id);
  std::fprintf(stderr, "bycc-run: error[USAGE]: %s%s\n", message.c_str(),
               number.empty() ? "" : (" [" + number + "]").c_str());
  return 2;
}

int unknownOption(const std::string &argument, const std::string &name) {
  std::vector<std::string> names;
  for (const OptionInfo &option : table)
    if (!option.has(Hidden))
      names.push_back(option.name());
  auto near = nearest(name, names);
  std::string advice = near ? ", did you mean '--" + *near + "'?" : "";
  if (name == "plugin") // which bycc has
    advice = ", BYCC_PLUGIN_PATH names the folders of vendors";
  return usage("unknown option '" + escaped(argument) + "'" + advice, MessageId::UnknownOption);
}

// One argument after the other as --name=value; positional ones stay.
class Normaliser {
public:
  explicit Normaliser(const std::vector<std::string> &arguments) : arguments_(arguments) {}

  std::optional<int> run(std::vector<std::string> &out) {
    for (at_ = 0; at_ < arguments_.size(); ++at_)
      if (auto code = step(out))
        return code;
    return std::nullopt;
  }

private:
  std::optional<int> step(std::vector<std::string> &out) {
    const std::string &argument = arguments_[at_];
    if (onlyFiles_ || argument.size() < 2 || argument[0] != '-') {
      files_ += 1;
      out.push_back(argument);
      return files_ > 1 ? std::optional(usage("more than one model: '" + escaped(argument) + "'" +
                                              wordBehindOption()))
                        : std::nullopt;
    }
    if (argument == "--") {
      onlyFiles_ = true;
      return std::nullopt;
    }
    std::string text = argument.substr(argument[1] == '-' ? 2 : 1);
    size_t equals = text.find('=');
    std::string name = text.substr(0, equals);
    const OptionInfo *option = findOption(name);
    if (!option)
      return unknownOption(argument, name);
    return addOption(
        *option, equals == text.npos ? std::nullopt : std::optional(text.substr(equals + 1)), out);
  }

  // What the argument may have been meant as: --bench 300, --print 5.
  std::string wordBehindOption() const {
    std::string before = at_ > 0 ? arguments_[at_ - 1] : "";
    size_t begin = before.find_first_not_of('-');
    const OptionInfo *option = begin == 0 || begin == before.npos || onlyFiles_
                                   ? nullptr
                                   : findOption(before.substr(begin));
    if (!option || option->form == Value)
      return "";
    return option->form == Flag ? "; --" + option->name() + " takes no value"
                                : "; a value of --" + option->name() + " stands after '='";
  }

  std::optional<int> addOption(const OptionInfo &option, std::optional<std::string> value,
                               std::vector<std::string> &out) {
    std::string name = "--" + option.name();
    if (option.form == Flag && value)
      return usage(name + " takes no value");
    if (option.form == Value && !value) {
      if (at_ + 1 >= arguments_.size())
        return usage(name + " needs a value");
      value = arguments_[++at_];
    }
    if (value && value->empty())
      return usage(name + ": the value is empty");
    if (option.form == Optional && !value)
      name += "-plain";
    out.push_back(value ? name + "=" + *value : name);
    return std::nullopt;
  }

  const std::vector<std::string> &arguments_;
  size_t at_ = 0;
  int files_ = 0;
  bool onlyFiles_ = false;
};

// Reads numbers; remembers the first that is wrong.
class Numbers {
public:
  int64_t whole(const char *name, const std::string &text, int64_t least, int64_t most) {
    auto value = parseInt(text);
    if (!value || *value < least || *value > most)
      complain(name, text,
               "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return value.value_or(least);
  }
  double real(const char *name, const std::string &text) {
    auto value = parseDouble(text);
    if (!value || !std::isfinite(*value) || *value < 0)
      complain(name, text, "a number that is not negative");
    return value.value_or(0);
  }
  const std::string &problem() const { return problem_; }

private:
  void complain(const char *name, const std::string &text, const std::string &wanted) {
    if (problem_.empty())
      problem_ =
          std::string("--") + name + ": wanted " + wanted + ", given '" + escaped(text) + "'";
  }
  std::string problem_;
};

std::optional<int> checkBatch(const Options &options) {
  if (options.outputsFolder.empty())
    return usage("--batch needs --outputs DIR");
  for (auto [isGiven, name] : {std::pair(!options.inputsFolder.empty(), "--inputs"),
                               {options.randomSeed.has_value(), "--random"},
                               {!options.expectedFolder.empty(), "--expected"},
                               {options.printCount.has_value(), "--print"},
                               {options.bench, "--bench"},
                               {options.profile, "--profile"},
                               {options.checkNan, "--check-nan"}})
    if (isGiven)
      return usage(std::string("--batch does not go with ") + name, MessageId::NotTogether);
  return std::nullopt;
}

struct Wishes {
  bool help = false, version = false;
  std::string text; // --print-text
};

std::optional<std::string> wrongSetting(const Options &options) {
  for (const std::string &text : options.vendorOptions)
    if (auto setting = VendorSetting::parse(text); !setting)
      return setting.error().message();
  return std::nullopt;
}

// What the command line asks for instead of a run, or does wrong: its exit code.
std::optional<int> answer(const Wishes &wishes, const Numbers &numbers, const Options &options) {
  if (wishes.help) {
    std::fputs(cli::helpText(texts(), table, true).c_str(), stdout);
    return 0;
  }
  if (!wishes.text.empty()) {
    std::fputs(cli::textFor(wishes.text, texts(), table, BYCC_VERSION).c_str(), stdout);
    return 0;
  }
  if (wishes.version) {
    std::printf("bycc-run %s (runtime %s, ABI %u)\n", BYCC_VERSION, bycc_runtime_version(),
                BYCC_ABI_VERSION);
    return 0;
  }
  if (!numbers.problem().empty())
    return usage(numbers.problem(), MessageId::BadValue);
  if (auto wrong = wrongSetting(options))
    return usage(*wrong, MessageId::BadValue);
  if (options.graph.empty())
    return usage("no model: bycc-run MODEL.json [options]; --help lists them", MessageId::NoModel);
  if (!options.json.empty() && !options.bench)
    return usage("--json goes with --bench", MessageId::NotTogether);
  if (!options.batchFolder.empty())
    return checkBatch(options);
  return std::nullopt;
}

} // namespace

Parsed parseCommandLine(const std::vector<std::string> &arguments) {
  Parsed parsed;
  Options &options = parsed.options;
  std::vector<std::string> normal;
  if (auto code = Normaliser(arguments).run(normal)) {
    parsed.exitCode = code;
    return parsed;
  }

  Numbers numbers;
  CLI::App app;
  app.set_help_flag();
  app.add_option("model", options.graph);
  Wishes wishes;
  auto text = [&](const char *name, std::string &target) {
    app.add_option(std::string("--") + name, target)->take_last();
  };
  auto flag = [&](const char *name, bool &target) {
    app.add_flag(std::string("--") + name, target);
  };
  auto number = [&](const char *name, std::function<void(const std::string &)> set) {
    app.add_option_function<std::string>(std::string("--") + name, set)->take_last();
  };
  constexpr int64_t many = int64_t{1} << 40;
  text("inputs", options.inputsFolder);
  app.add_option("--input", options.inputs)->allow_extra_args(false);
  number("random", [&](const std::string &v) {
    options.randomSeed = numbers.whole("random", v, 0, INT64_MAX);
  });
  app.add_flag_function("--random-plain", [&](int64_t) { options.randomSeed = 0; });
  app.add_option("--shape", options.shapes)->allow_extra_args(false);
  text("outputs", options.outputsFolder);
  text("batch", options.batchFolder);
  number("print",
         [&](const std::string &v) { options.printCount = numbers.whole("print", v, 0, many); });
  app.add_flag_function("--print-plain", [&](int64_t) { options.printCount = 10; });
  text("expected", options.expectedFolder);
  number("rtol", [&](const std::string &v) { options.rtol = numbers.real("rtol", v); });
  number("atol", [&](const std::string &v) { options.atol = numbers.real("atol", v); });
  flag("bench", options.bench);
  number("runs", [&](const std::string &v) { options.runs = numbers.whole("runs", v, 1, many); });
  number("warmup",
         [&](const std::string &v) { options.warmup = numbers.whole("warmup", v, 0, many); });
  number("seconds", [&](const std::string &v) { options.seconds = numbers.real("seconds", v); });
  text("json", options.json);
  number("profile", [&](const std::string &v) {
    options.profile = true;
    options.traceFile = v;
  });
  app.add_flag_function("--profile-plain", [&](int64_t) { options.profile = true; });
  number("threads", [&](const std::string &v) {
    options.threads = static_cast<int32_t>(numbers.whole("threads", v, 1, 1024));
  });
  text("params", options.params);
  app.add_option("--vendor-option", options.vendorOptions)->allow_extra_args(false);
  flag("verify", options.verify);
  flag("verbose", options.verbose);
  flag("quiet", options.quiet);
  flag("version", wishes.version);
  flag("help", wishes.help);
  flag("help-all", wishes.help);
  flag("check-nan", options.checkNan);
  text("print-text", wishes.text);
  try {
    std::reverse(normal.begin(), normal.end()); // CLI11 takes the last one first
    app.parse(normal);
  } catch (const CLI::Error &problem) {
    parsed.exitCode = usage(escaped(problem.what()));
    return parsed;
  }

  parsed.exitCode = answer(wishes, numbers, options);
  return parsed;
}

} // namespace bycc::run
