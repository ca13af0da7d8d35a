// Arguments are first brought to the form `--name=value` for CLI11: long options
// take one dash or two, a value stands after '=' or in the next argument, except
// for --random, --print and --profile, which take one only after '='.
#include "CommandLine.h"

#include "bycc/Support/Text.h"
#include "bycc/runtime.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>

namespace bycc::run {
namespace {

enum class Value { None, Needed, Optional };

struct Option {
  const char *name;
  Value value;
  const char *help;
};

constexpr Option table[] = {
    {"inputs", Value::Needed, "folder of NAME.npy files, one per input"},
    {"input", Value::Needed, "NAME=FILE.npy, one input; repeatable"},
    {"random", Value::Optional, "random data for inputs that are not given; =SEED, default 0"},
    {"shape", Value::Needed,
     "NAME=5x3x4, shape of a random input; extents that the model leaves open are 1 without it"},
    {"outputs", Value::Needed, "write NAME.npy per output into this folder"},
    {"batch", Value::Needed,
     "a run for each .npy (of one input) or .npz (of several) of this folder, with a result of the\n"
     "                     same name in --outputs; what has one is passed over, bad files are reported,\n"
     "                     and several processes can share the work"},
    {"print", Value::Optional, "print values of each output; =N of them, default 10"},
    {"expected", Value::Needed, "compare with the NAME.npy files of this folder"},
    {"rtol", Value::Needed, "relative tolerance of --expected, default 1e-3"},
    {"atol", Value::Needed, "absolute tolerance of --expected, default 1e-5"},
    {"bench", Value::None, "measure the time of a run"},
    {"runs", Value::Needed, "runs of --bench and --profile, default 50 and 10"},
    {"warmup", Value::Needed, "runs before them, default 5"},
    {"seconds", Value::Needed, "run for this long instead of a number of runs"},
    {"json", Value::Needed, "write the result of --bench as JSON; - is stdout"},
    {"profile", Value::Optional, "table of time per node and region; =FILE for a Chrome trace too"},
    {"threads", Value::Needed, "size of the thread pool, default the CPUs allowed"},
    {"params", Value::Needed, "params file, default the recorded one beside the model"},
    {"verify", Value::None, "hash all weights; without it, those of files up to 32 MiB"},
    {"verbose", Value::None, "messages of the runtime; also -v"},
    {"quiet", Value::None, "no progress on stderr; also -q"},
    {"version", Value::None, "print the version"},
    {"help", Value::None, "print this help; also -h"},
};

const Option *findOption(const std::string &name) {
  for (const Option &option : table)
    if (name == option.name)
      return &option;
  return nullptr;
}

int usage(const std::string &message) {
  std::fprintf(stderr, "bycc-run: error[USAGE]: %s\n", message.c_str());
  return 2;
}

int unknownOption(const std::string &argument, const std::string &name) {
  std::vector<std::string> names;
  for (const Option &option : table)
    names.push_back(option.name);
  auto near = nearest(name, names);
  return usage("unknown option '" + escaped(argument) + "'" +
               (near ? ", did you mean '--" + *near + "'?" : ""));
}

void printHelp() {
  std::printf("Usage: bycc-run MODEL.json [options]\n\nRuns a model that bycc compiled.\n\n");
  for (const Option &option : table) {
    std::string name = std::string("--") + option.name;
    name += option.value == Value::Needed     ? " VALUE"
            : option.value == Value::Optional ? "[=V]"
                                              : "";
    std::printf("  %-18s %s\n", name.c_str(), option.help);
  }
  std::printf("\nExit codes: 0 done, 1 failed, 2 bad command line, 4 results differ, 70 internal "
              "error\n");
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
      return files_ > 1 ? std::optional(usage("more than one model: '" + escaped(argument) + "'"))
                        : std::nullopt;
    }
    if (argument == "--") {
      onlyFiles_ = true;
      return std::nullopt;
    }
    std::string text = argument.substr(argument[1] == '-' ? 2 : 1);
    size_t equals = text.find('=');
    std::string name = text.substr(0, equals);
    name = name == "h" ? "help" : name == "v" ? "verbose" : name == "q" ? "quiet" : name;
    const Option *option = findOption(name);
    if (!option)
      return unknownOption(argument, name);
    return addOption(
        *option, equals == text.npos ? std::nullopt : std::optional(text.substr(equals + 1)), out);
  }

  std::optional<int> addOption(const Option &option, std::optional<std::string> value,
                               std::vector<std::string> &out) {
    std::string name = std::string("--") + option.name;
    if (option.value == Value::None && value)
      return usage(name + " takes no value");
    if (option.value == Value::Needed && !value) {
      if (at_ + 1 >= arguments_.size())
        return usage(name + " needs a value");
      value = arguments_[++at_];
    }
    if (value && value->empty())
      return usage(name + ": the value is empty");
    if (option.value == Value::Optional && !value)
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
                               {options.profile, "--profile"}})
    if (isGiven)
      return usage(std::string("--batch does not go with ") + name);
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
  bool wantsHelp = false, wantsVersion = false;
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
  flag("verify", options.verify);
  flag("verbose", options.verbose);
  flag("quiet", options.quiet);
  flag("version", wantsVersion);
  flag("help", wantsHelp);
  try {
    std::reverse(normal.begin(), normal.end()); // CLI11 takes the last one first
    app.parse(normal);
  } catch (const CLI::Error &problem) {
    parsed.exitCode = usage(escaped(problem.what()));
    return parsed;
  }

  if (wantsHelp) {
    printHelp();
    parsed.exitCode = 0;
  } else if (wantsVersion) {
    std::printf("bycc-run %s (runtime %s, ABI %u)\n", BYCC_VERSION, bycc_runtime_version(),
                BYCC_ABI_VERSION);
    parsed.exitCode = 0;
  } else if (!numbers.problem().empty()) {
    parsed.exitCode = usage(numbers.problem());
  } else if (options.graph.empty()) {
    parsed.exitCode = usage("no model: bycc-run MODEL.json [options]; --help lists them");
  } else if (!options.json.empty() && !options.bench) {
    parsed.exitCode = usage("--json goes with --bench");
  } else if (!options.batchFolder.empty()) {
    parsed.exitCode = checkBatch(options);
  }
  return parsed;
}

} // namespace bycc::run
