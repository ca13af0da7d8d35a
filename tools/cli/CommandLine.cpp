#include "CommandLine.h"

#include "bycc/Driver/Driver.h"
#include "bycc/Support/Text.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <functional>
#include <map>
#include <memory>

namespace bycc::cli {
namespace {

enum class Arity : uint8_t { Flag, Value, Optional }; // Optional: a value only as `=v`

// One option: how it is spelt, what it takes, what it does.
struct Spec {
  std::string name; // without dashes
  Arity arity;
  std::string valueName; // for --help
  std::string help;
  bool isCommon; // shown by --help; all are by --help-all
  std::function<bool(const std::string &value)> apply; // false: bad value
  std::string wanted = {}; // said of a bad value; "": valueName says it
  std::string section = {}; // its heading in --help-all
};

// The options of one program and where their values go.
class CommandLine {
public:
  CommandLine(std::string program, std::string usage, std::string about)
      : program_(std::move(program)), usage_(std::move(usage)), about_(std::move(about)) {}

  // What the option before takes, for the message about a bad value.
  void wants(std::string wanted) { specs_.back().wanted = std::move(wanted); }
  // The heading of what follows.
  void section(std::string title) { section_ = std::move(title); }
  void flag(std::string name, std::string help, bool &target, bool isCommon = false) {
    add({std::move(name), Arity::Flag, "", std::move(help), isCommon,
         [&target](const std::string &) { return target = true; }});
  }
  void action(std::string name, std::string help, bool isCommon, std::function<void()> run) {
    add({std::move(name), Arity::Flag, "", std::move(help), isCommon,
         [run = std::move(run)](const std::string &) { return run(), true; }});
  }
  void value(std::string name, std::string valueName, std::string help, bool isCommon,
             std::function<bool(const std::string &)> apply) {
    add({std::move(name), Arity::Value, std::move(valueName), std::move(help), isCommon, std::move(apply)});
  }
  void optionalValue(std::string name, std::string valueName, std::string help, bool isCommon,
                     std::function<bool(const std::string &)> apply) {
    add({std::move(name), Arity::Optional, std::move(valueName), std::move(help), isCommon, std::move(apply)});
  }
  void text(std::string name, std::string valueName, std::string help, std::optional<std::string> &target,
            bool isCommon = false) {
    value(std::move(name), std::move(valueName), std::move(help), isCommon,
          [&target](const std::string &v) { target = v; return true; });
  }
  void text(std::string name, std::string valueName, std::string help, std::string &target,
            bool isCommon = false) {
    value(std::move(name), std::move(valueName), std::move(help), isCommon,
          [&target](const std::string &v) { target = v; return true; });
  }
  void list(std::string name, std::string valueName, std::string help,
            std::vector<std::string> &target, bool isCommon = false) {
    value(std::move(name), std::move(valueName), std::move(help), isCommon,
          [&target](const std::string &v) { target.push_back(v); return true; });
  }
  void pairs(std::string name, char separator, std::string valueName, std::string help,
             std::vector<std::pair<std::string, std::string>> &target) {
    value(std::move(name), std::move(valueName), std::move(help), false,
          [&target, separator](const std::string &v) {
            size_t at = v.rfind(separator);
            if (at == std::string::npos || at == 0 || at + 1 == v.size())
              return false;
            target.emplace_back(v.substr(0, at), v.substr(at + 1));
            return true;
          });
  }
  void commaList(std::string name, std::string valueName, std::string help,
                 std::vector<std::string> &target, bool isCommon = false) {
    value(std::move(name), std::move(valueName), std::move(help), isCommon,
          [&target](const std::string &v) {
            for (std::string &part : split(v, ','))
              target.push_back(std::move(part));
            return true;
          });
  }
  template <typename Number>
  void integer(std::string name, std::string valueName, std::string help, Number &target,
               int64_t minimum, int64_t maximum, bool isCommon = false) {
    value(std::move(name), std::move(valueName), std::move(help), isCommon,
          [&target, minimum, maximum](const std::string &v) {
            auto number = parseInt(v);
            if (!number || *number < minimum || *number > maximum)
              return false;
            target = static_cast<std::decay_t<decltype(target)>>(*number);
            return true;
          });
    wants("a number from " + std::to_string(minimum) +
          (maximum == INT64_MAX ? "" : " to " + std::to_string(maximum)));
  }

  // Returns false when the line was wrong (said on stderr). Positional arguments
  // are left in `positional`.
  bool parse(const std::vector<std::string> &arguments, std::vector<std::string> &positional) {
    CLI::App app{about_, program_};
    app.set_help_flag();
    app.allow_windows_style_options(false);
    std::vector<std::pair<const Spec *, std::string>> seen; // in the order given
    std::vector<std::string> normal;
    if (!normalise(arguments, normal))
      return false;
    for (const Spec &spec : specs_) {
      auto record = [&seen, &spec](const std::string &v) { seen.emplace_back(&spec, v); };
      if (spec.arity == Arity::Value)
        app.add_option_function<std::vector<std::string>>(
               "--" + spec.name,
               [record](const std::vector<std::string> &values) {
                 for (const std::string &v : values)
                   record(v);
               })
            ->expected(1)
            ->allow_extra_args(false)
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
            ->trigger_on_parse();
      else
        app.add_flag_function("--" + spec.name, [record](int64_t) { record(""); })
            ->trigger_on_parse();
    }
    app.add_option("arguments", positional);
    std::reverse(normal.begin(), normal.end()); // CLI11 takes a stack
    try {
      app.parse(normal);
    } catch (const CLI::ParseError &error) {
      return complain(error.what());
    }
    for (auto &[spec, text] : optionalValues_)
      seen.emplace_back(spec, text);
    for (auto &[spec, text] : seen)
      if (!spec->apply(text))
        return complain(spelt(*spec) + ": bad value '" + escaped(text) + "', it takes " +
                        (spec->wanted.empty() ? spec->valueName : spec->wanted));
    return true;
  }

  void printHelp(bool all) const {
    std::printf("%s\n\nusage: %s\n%s", about_.c_str(), usage_.c_str(),
                all ? "" : "\noptions (--help-all lists all):\n");
    std::string section;
    for (const Spec &spec : specs_) {
      if (!all && !spec.isCommon)
        continue;
      if (all && spec.section != section)
        std::printf("\n%s:\n", (section = spec.section).c_str());
      std::string left = spelt(spec);
      if (spec.arity == Arity::Value)
        left += (spec.name.size() == 1 ? " " : "=") + spec.valueName;
      else if (spec.arity == Arity::Optional)
        left += "[=" + spec.valueName + "]";
      constexpr size_t column = 28;
      if (left.size() > column)
        left += "\n" + std::string(column + 2, ' ');
      std::printf("  %-28s %s\n", left.c_str(), spec.help.c_str());
    }
  }

  bool complain(const std::string &text) const {
    std::fprintf(stderr, "%s: %s\n", program_.c_str(), text.c_str());
    return false;
  }

private:
  void add(Spec spec) {
    spec.section = section_;
    specs_.push_back(std::move(spec));
  }
  // As compilers spell it; one dash or two are the same.
  static std::string spelt(const Spec &spec) {
    bool isShort = spec.name.size() == 1 || spec.name.starts_with("M") || spec.name == "mcpu" ||
                   spec.name == "mattr" || spec.name == "emit-llvm" || spec.name == "ftime-trace";
    return (isShort ? "-" : "--") + spec.name;
  }

  const Spec *find(const std::string &name) const {
    for (const Spec &spec : specs_)
      if (spec.name == name)
        return &spec;
    return nullptr;
  }

  // Turns every spelling into what CLI11 reads without doubt: `--name` followed
  // by its value as an argument of its own.
  bool normalise(const std::vector<std::string> &arguments, std::vector<std::string> &normal) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      const std::string &argument = arguments[i];
      if (argument == "--") {
        normal.insert(normal.end(), arguments.begin() + static_cast<long>(i), arguments.end());
        return true;
      }
      if (argument.size() < 2 || argument[0] != '-') {
        normal.push_back(argument);
        continue;
      }
      std::string body = argument.substr(argument.starts_with("--") ? 2 : 1);
      size_t equals = body.find('=');
      std::string name = body.substr(0, equals);
      const Spec *spec = find(name);
      if (spec && spec->arity == Arity::Value && equals + 1 == body.size())
        return complain(spelt(*spec) + " needs a value");
      if (!spec && argument[1] != '-' && body.size() > 1 && (body[0] == 'O' || body[0] == 'j' || body[0] == 'x' || body[0] == 'o')) {
        spec = find(body.substr(0, 1)); // -O3, -j2, -ofile
        if (spec) {
          normal.insert(normal.end(), {"--" + spec->name, body.substr(1)});
          protect(normal);
          continue;
        }
      }
      if (!spec)
        return unknown(argument, name);
      if (spec->arity == Arity::Flag) {
        if (equals != std::string::npos)
          return complain("--" + name + " takes no value");
        normal.push_back("--" + name);
      } else if (spec->arity == Arity::Optional) {
        optionalValues_.emplace_back(spec, equals == std::string::npos ? "" : body.substr(equals + 1));
      } else if (equals != std::string::npos) {
        normal.insert(normal.end(), {"--" + name, body.substr(equals + 1)});
        protect(normal);
      } else if (i + 1 < arguments.size() && !arguments[i + 1].empty()) {
        normal.insert(normal.end(), {"--" + name, arguments[++i]});
        protect(normal);
      } else {
        return complain(spelt(*spec) + " needs a value");
      }
    }
    return true;
  }

  // A value that starts with a dash would be taken for an option: join it.
  static void protect(std::vector<std::string> &normal) {
    std::string value = normal.back();
    normal.pop_back();
    normal.back() += "=" + value;
  }

  bool unknown(const std::string &argument, const std::string &name) const {
    std::vector<std::string> names;
    for (const Spec &spec : specs_)
      names.push_back(spec.name);
    std::string text = "unknown option '" + escaped(argument) + "'";
    if (auto near = nearest(name.substr(0, name.find('{')), names))
      text += ", did you mean '--" + *near + "'?";
    return complain(text);
  }

  std::string program_, usage_, about_, section_;
  std::vector<Spec> specs_;
  std::vector<std::pair<const Spec *, std::string>> optionalValues_;
};

constexpr int64_t mostLikely = int64_t{1} << 40;

// "batch=8,seq=128"; what is said last counts.
bool readLikely(const std::string &text, std::map<std::string, int64_t> &likely) {
  for (const std::string &part : split(text, ',')) {
    size_t at = part.rfind('=');
    auto extent = at == std::string::npos ? std::nullopt : parseInt(part.substr(at + 1));
    if (at == 0 || !extent || *extent < 1 || *extent > mostLikely)
      return false;
    likely[part.substr(0, at)] = *extent;
  }
  return true;
}

// The options of cli.md by subject; bycc and bycc-opt share most of them.
void addInputOptions(CommandLine &line, InputOptions &input) {
  line.section("model");
  line.value("x", "onnx|relay|json", "read the model as this, whatever its name", true,
             [&input](const std::string &v) {
               input.format = v;
               return v == "onnx" || v == "relay" || v == "json";
             });
  line.list("params", "PATH", "bind parameters of @main: a folder of .npy, a .params or .safetensors file", input.params, true);
  line.pairs("shape", '=', "NAME=1x3x224x224", "bind the shape of an input", input.shapes);
  line.pairs("dim", '=', "NAME=N", "bind a symbolic dimension", input.dims);
  line.value("likely", "NAME=N[,NAME=N]", "count an open dimension as N in FLOPs, costs and schedules", false,
             [&input](const std::string &v) { return readLikely(v, input.likely); });
  line.wants("NAME=N[,NAME=N], N from 1 to " + std::to_string(mostLikely));
}

void addPassOptions(CommandLine &line, Options &options, bool &hasLevel) {
  PassListOptions &passes = options.passes;
  WatchOptions &watch = options.watch;
  line.section("passes");
  line.value("O", "0|1|2|3", "pass list by level (default 2)", true, [&](const std::string &v) {
    auto number = parseInt(v);
    if (!number || *number < 0 || *number > 3)
      return false;
    passes.level = static_cast<int>(*number);
    return hasLevel = true;
  });
  line.text("passes", "LIST", "exact pass list; default<O2> may stand in it", passes.passes, true);
  line.list("disable-pass", "P", "leave out pass P", passes.disabled);
  line.list("require-pass", "P", "run pass P whatever the level", passes.required);
  line.pairs("run-before", ':', "P:NEW", "run NEW before each P", passes.runBefore);
  line.pairs("run-after", ':', "P:NEW", "run NEW after each P", passes.runAfter);
  line.flag("print-pipeline-passes", "print the pass list, quoted for a shell",
            watch.printPipeline);
  line.section("looking into the compiler");
  line.list("print-before", "P", "print the program before pass P", passes.printing.before);
  line.list("print-after", "P", "print the program after pass P", passes.printing.after, true);
  line.flag("print-before-all", "print the program before every pass", passes.printing.beforeAll);
  line.flag("print-after-all", "print the program after every pass", passes.printing.afterAll);
  line.optionalValue("print-changed", "diff", "print the program after passes that changed it", false,
                     [&passes](const std::string &v) {
                       passes.printing.changed = true;
                       passes.printing.changedAsDiff = v == "diff";
                       return v.empty() || v == "diff";
                     });
  line.text("ir-dump-directory", "DIR", "write what is printed into files of DIR", passes.printing.directory);
  line.integer("elide-constants", "N", "print constants of more than N elements without data", passes.printing.elideConstants, 0, INT64_MAX);
  line.flag("time-passes", "print the time of each pass", passes.timePasses);
  line.flag("stats", "counts of what passes did (not supported yet)", watch.stats);
  line.flag("verify-each", "check the program after every pass", passes.verifyEach);
  line.integer("opt-bisect-limit", "N", "run the first N passes that may be left out", passes.bisectLimit, -1, INT64_MAX);
  line.text("ftime-trace", "F", "write a Chrome trace of the compilation", watch.timeTrace);
  line.text("crash-reproducer", "F",
            "the program and pass list of an internal error (not supported yet)",
            watch.crashReproducer);
}

void addVendorOptions(CommandLine &line, Options &options) {
  VendorOptions &vendors = options.vendors;
  PlacementOutput &placement = options.placement;
  line.section("vendors");
  line.text("annotate", "V1[,V2...]", "vendors allowed, in order of priority; 'help' lists them", vendors.annotate, true);
  line.list("patterns", "FILE", "more composite patterns", vendors.patterns);
  line.list("rules", "FILE", "partition rules; vendors described by them alone are emulated", vendors.rules, true);
  line.value("vendor-timeout", "SECONDS",
             "how long a vendor may take to compile a region or to answer (default 60)", false,
             [&vendors](const std::string &v) {
               auto number = parseDouble(v);
               if (!number || !(*number > 0 && *number <= 1e6))
                 return false;
               vendors.timeoutSeconds = *number;
               return true;
             });
  line.wants("a number above 0");
  line.list("plugin", "FILE.so", "load a vendor plugin", vendors.plugins, true);
  line.section("steering the placement (share/doc/placement.md)");
  line.commaList("annotate-ops", "LIST", "only these operators go to vendors (globs)", vendors.annotateOps);
  line.commaList("annotate-skip-ops", "LIST", "these operators stay on the host (globs)", vendors.annotateSkipOps);
  line.pairs("pin", '=', "NODE=VENDOR|host", "place nodes (glob) by hand", vendors.pins);
  line.value("hand-annotations", "ask|trust", "whether a vendor that the program names is asked (default) or believed", false,
             [&vendors](const std::string &v) {
               vendors.trustsHand = v == "trust";
               return v == "ask" || v == "trust";
             });
  line.integer("min-region-ops", "N", "smaller regions return to the host", vendors.minRegionOps, 0, INT64_MAX);
  line.value("min-region-flops", "N", "regions with fewer FLOPs return to the host", false,
             [&vendors](const std::string &v) {
               auto number = parseDouble(v);
               if (!number || !(*number >= 0))
                 return false;
               vendors.minRegionFlops = *number;
               return true;
             });
  line.wants("a number from 0");
  line.value("cost-model", "none|static", "which regions are worth their transfers (measured: not supported yet)", false,
             [&vendors](const std::string &v) {
               vendors.costModel = v;
               return v == "none" || v == "static" || v == "measured";
             });
  line.value("search", "N", "steps of the search for the best plan", false, [&vendors](const std::string &v) {
    auto number = parseInt(v);
    if (!number || *number < 0)
      return false;
    vendors.search = static_cast<uint64_t>(*number);
    return true;
  });
  line.wants("a number from 0");
  line.text("save-partition-plan", "F", "write the placement", placement.savePlan);
  line.text("partition-plan", "F", "replay a placement", vendors.plan);
  line.text("tune", "F", "let vendors tune their regions; F keeps what they find", vendors.tune);
  line.section("where everything went");
  line.flag("explain", "say for each node where it is and why", placement.explain, true);
  line.optionalValue("dump-offloads", "F", "the same as data (.json) or text", true,
                     [&placement](const std::string &v) {
                       placement.dumpOffloads = true;
                       placement.dumpOffloadsFile = v;
                       return true;
                     });
  line.flag("strict", "fail (exit 3) when a vendor's accepted node ends elsewhere", vendors.strict);
  line.text("min-offload", "P%[ops]",
            "fail (exit 3) when less of the FLOPs (or nodes) is offloaded", placement.minOffload);
  line.value("expect-regions", "N", "fail (exit 3) when the number of regions differs", false,
             [&placement](const std::string &v) {
               placement.expectRegions = parseInt(v);
               return placement.expectRegions && *placement.expectRegions >= 0;
             });
  line.wants("a number from 0");
}

void addTargetOptions(CommandLine &line, TargetOptions &target) {
  line.section("target");
  line.text("target", "TRIPLE", "target of host code", target.triple);
  line.text("mcpu", "NAME|native", "CPU of host code (default native)", target.cpu, true);
  line.text("mattr", "LIST", "CPU features to add (+x) or drop (-x)", target.attributes);
  line.value("precision", "f32|bf16", "arithmetic of the compiled model; inputs and outputs keep their dtypes (int8: not supported yet)", true,
             [&target](const std::string &v) {
               target.precision = v;
               return v == "f32" || v == "bf16" || v == "int8";
             });
  line.text("precision-rules", "FILE", "what --precision may convert, and at what cost", target.precisionRules);
  line.value("nan", "keep|fast",
             "NaN in the inputs of a vendor's region: keep (default), or do not look for it", true,
             [&target](const std::string &v) {
               target.nan = v;
               return v == "keep" || v == "fast";
             });
}

void addCommonOptions(CommandLine &line, Options &options, Parsed &parsed) {
  line.section("other");
  line.text("module-name", "N", "prefix of all symbols", options.code.moduleName);
  line.flag("v", "say more", options.verbose);
  line.flag("q", "say nothing when all is well", options.quiet, true);
  line.value("color", "auto|always|never", "colour messages", false, [&options](const std::string &v) {
    options.color = v;
    return v == "auto" || v == "always" || v == "never";
  });
  line.flag("json", "print lists as JSON", options.json);
  line.action("list-passes", "list all passes", false, [&parsed] { parsed.action = Action::ListPasses; });
  line.action("list-ops", "list all operators", false, [&parsed] { parsed.action = Action::ListOps; });
  line.action("list-onnx-ops", "list ONNX's operators, with the versions that are read", false,
              [&parsed] { parsed.action = Action::ListOnnxOps; });
  line.action("list-vendors", "list all vendors", false, [&parsed] { parsed.action = Action::ListVendors; });
}

void addOutputOptions(CommandLine &line, Options &options) {
  OutputOptions &output = options.output;
  line.section("output");
  line.text("o", "FILE", "output; other files take its name", output.output, true);
  line.commaList("emit", "LIST", "obj, asm, llvm, relay, json, dot, header", output.emit, true);
  line.action("S", "same as --emit=asm", false, [&output] { output.emit = {"asm"}; });
  line.action("emit-llvm", "same as --emit=llvm", false, [&output] { output.emit = {"llvm"}; });
  line.flag("embed-weights", "put the weights into the object file", options.code.embedWeights);
  line.integer("threads", "N", "default thread count of the compiled model", options.code.threads,
               1, 1024);
  line.integer("j", "N", "threads of the compiler", options.code.jobs, 1, 1024);
  line.flag("MD", "write a dependency file", output.dependencies);
  line.text("MF", "F", "name of the dependency file", output.dependencyFile);
  line.text("MT", "T", "target in the dependency file", output.dependencyTarget);
  line.flag("MP", "phony targets for what the dependency file names", output.phonyTargets);
  line.section("check");
  line.optionalValue("prices", "F", "what each refusal costs, largest first, as data (F.json) or text", false,
                     [&options](const std::string &v) {
                       options.check.prices = true;
                       options.check.pricesFile = v;
                       return true;
                     });
  line.section("pattern");
  line.commaList("nodes", "LIST", "nodes by name, with * and ?; A..B: what is made of what A reads, up to B", options.pattern.nodes);
  line.text("vendor", "V", "whose pattern it is to be", options.pattern.vendor);
  line.text("name", "NAME", "what follows 'V.' in its name; made of the operators without it", options.pattern.name);
  line.flag("check", "list all matches in the model", options.pattern.check);
  line.section("extract");
  line.text("region", "SYMBOL", "the region to take out", options.extract.region);
  line.text("inputs", "DIR", "record what the region gets from these inputs", options.extract.inputsFolder);
  line.optionalValue("random", "SEED", "random data for inputs that are not given (default 0)", false,
                     [&options](const std::string &v) {
                       auto seed = parseInt(v.empty() ? "0" : v);
                       if (!seed || *seed < 0)
                         return false;
                       options.extract.randomSeed = static_cast<uint64_t>(*seed);
                       return true;
                     });
  line.wants("a number from 0");
}

struct Requests {
  bool help = false, helpAll = false, version = false;
};

void addHelp(CommandLine &line, Requests &requests) {
  line.flag("help", "this text", requests.help, true);
  line.flag("help-all", "all options", requests.helpAll, true);
  line.flag("version", "print the version", requests.version, true);
}

// True when help or the version was printed.
bool answer(const CommandLine &line, const Requests &requests, const char *program) {
  if (requests.version)
    std::printf("%s %s\n", program, versionText());
  else if (requests.help || requests.helpAll)
    line.printHelp(requests.helpAll);
  else
    return false;
  return true;
}

Parsed &finish(Parsed &parsed, int exitCode) {
  parsed.action = Action::Exit;
  parsed.exitCode = exitCode;
  return parsed;
}

bool isList(Action action) {
  return action == Action::ListOps || action == Action::ListOnnxOps || action == Action::ListPasses ||
         action == Action::ListVendors;
}

} // namespace

Parsed parseBycc(const std::vector<std::string> &arguments) {
  Parsed parsed;
  Options &options = parsed.options;
  Requests requests;
  CommandLine line("bycc", "bycc [check|inspect|extract|pattern] MODEL [-o OUT.o] [options]\n       bycc plan-diff A.json B.json [--json]",
                   "bycc compiles a neural network: model in, object file and graph JSON out.\n"
                   "MODEL is .onnx, .relay, .json or - for standard input.\n"
                   "  bycc check MODEL     list every operator that is not supported; --annotate=V --prices\n"
                   "                       lists what each refusal of the vendors costs\n"
                   "  bycc inspect MODEL   inputs, outputs, operators, parameters, FLOPs\n"
                   "  bycc extract MODEL --region=SYMBOL -o r.relay   one region as a program; --inputs\n"
                   "                       or --random records its inputs in r.inputs, r.expected\n"
                   "  bycc pattern MODEL --nodes=A,B..C --vendor=V   a pattern for V's file from nodes of a\n"
                   "                       model; --check lists where else it matches\n"
                   "  bycc plan-diff A.json B.json   what moved between two saved plans");
  addOutputOptions(line, options);
  addInputOptions(line, options.input);
  bool hasLevel = false;
  addPassOptions(line, options, hasLevel);
  addVendorOptions(line, options);
  addTargetOptions(line, options.target);
  addCommonOptions(line, options, parsed);
  addHelp(line, requests);

  static const std::map<std::string, Action> commands = {
      {"check", Action::Check}, {"inspect", Action::Inspect}, {"extract", Action::Extract}, {"pattern", Action::Pattern}, {"plan-diff", Action::PlanDiff}};
  std::vector<std::string> rest = arguments, positional;
  Action command = Action::Compile;
  if (!rest.empty())
    if (auto it = commands.find(rest[0]); it != commands.end()) {
      command = it->second;
      rest.erase(rest.begin());
    }
  if (!line.parse(rest, positional))
    return finish(parsed, 2);
  if (answer(line, requests, "bycc"))
    return finish(parsed, 0);
  if (options.vendors.annotate == "help")
    parsed.action = Action::ListVendors;
  if (isList(parsed.action))
    return parsed;
  parsed.action = command;
  if (options.watch.printPipeline && positional.empty())
    return parsed;
  if (options.check.prices && command != Action::Check) {
    line.complain("--prices goes with bycc check MODEL");
    return finish(parsed, 2);
  }
  if (command == Action::Pattern && (options.pattern.nodes.empty() || options.pattern.vendor.empty())) {
    line.complain("pattern needs --nodes and --vendor: bycc pattern MODEL --nodes=A,B..C --vendor=V");
    return finish(parsed, 2);
  }
  if (command == Action::PlanDiff) {
    if (positional.size() != 2) {
      line.complain("plan-diff takes two plans: bycc plan-diff A.json B.json");
      return finish(parsed, 2);
    }
    options.planDiff = {positional[0], positional[1]};
    return parsed;
  }
  if (positional.size() != 1) {
    std::string text = "no MODEL given; see bycc --help";
    if (!positional.empty()) {
      text = "more than one MODEL given: '" + escaped(positional[1]) + "'";
      if (auto near = nearest(positional[0], std::vector<std::string>{"check", "inspect", "extract", "pattern", "plan-diff"}))
        text += ", did you mean bycc " + *near + "?";
    }
    line.complain(text);
    return finish(parsed, 2);
  }
  options.input.model = positional[0];
  return parsed;
}

Parsed parseByccOpt(const std::vector<std::string> &arguments) {
  Parsed parsed;
  Options &options = parsed.options;
  Requests requests;
  CommandLine line("bycc-opt", "bycc-opt FILE [-o OUT] [passes and options]",
                   "bycc-opt reads Relay text, runs passes and prints Relay text. Each pass is also a\n"
                   "flag (--fold-constants), run in the order given; without any it parses, checks\n"
                   "and prints. With -ON the default list of that level runs.");
  bool hasLevel = false;
  std::string order;
  addPassOptions(line, options, hasLevel);
  line.section("single passes, as --list-passes describes them");
  for (const std::string &pass : passNames())
    line.optionalValue(pass, "OPTIONS", "run this pass", false, [&order, pass](const std::string &v) {
      order += (order.empty() ? "" : ",") + pass + (v.empty() ? "" : "{" + v + "}");
      return true;
    });
  line.section("output");
  line.text("o", "FILE", "output (default stdout)", options.output.output, true);
  addInputOptions(line, options.input);
  addVendorOptions(line, options);
  addTargetOptions(line, options.target);
  addCommonOptions(line, options, parsed);
  addHelp(line, requests);
  std::vector<std::string> positional;
  if (!line.parse(arguments, positional))
    return finish(parsed, 2);
  if (answer(line, requests, "bycc-opt"))
    return finish(parsed, 0);
  if (isList(parsed.action))
    return parsed;
  if (positional.size() != 1) {
    line.complain(positional.empty() ? "no FILE given; see bycc-opt --help" : "more than one FILE given");
    return finish(parsed, 2);
  }
  options.input.model = positional[0];
  if (!options.passes.passes && (!order.empty() || !hasLevel))
    options.passes.passes = order;
  return parsed;
}

} // namespace bycc::cli
