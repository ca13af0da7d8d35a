#include "CommandLine.h"

#include "OptionParser.h"
#include "Programs.h"

#include "bycc/Driver/CommandOptions.h"
#include "bycc/Driver/Driver.h"
#include "bycc/Support/File.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cstdio>
#include <functional>

namespace bycc::cli {
namespace {

// How a fault of the line itself is to be said: looked for before the line is read.
std::string diagnosticsFormat(const std::vector<std::string> &arguments) {
  constexpr std::string_view option = "fdiagnostics-format";
  std::string format = "text";
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string_view word = arguments[i];
    word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
    if (word == option && i + 1 < arguments.size())
      format = arguments[i + 1];
    else if (word.starts_with(option) && word.substr(option.size()).starts_with('='))
      format = word.substr(option.size() + 1);
  }
  return format;
}

// One program's line: its rows of the table, and bycc-opt's passes, which are flags.
class CommandLine {
public:
  CommandLine(const ProgramTexts &program, uint8_t bit, Options &options)
      : program_(program), options_(options) {
    for (const Option<Options> &row : commandOptions())
      if (row.programs & bit) {
        rows_.push_back(&row);
        infos_.push_back(row.info);
      }
  }

  // Passes in the order given, as --passes takes them.
  const std::string &passOrder() const { return passOrder_; }
  void addPassFlags(const std::vector<std::string> &passes) {
    for (const std::string &pass : passes)
      passFlags_.push_back(
          {pass, OptionForm::Optional, "OPTIONS", "", option_traits::None, "run this pass"});
  }

  // False when the line was wrong, which was said.
  bool parse(const std::vector<std::string> &arguments) {
    std::vector<const OptionInfo *> table;
    for (const Option<Options> *row : rows_)
      table.push_back(&row->info);
    for (const OptionInfo &pass : passFlags_)
      table.push_back(&pass);
    format_ = diagnosticsFormat(arguments);
    Expected<ReadLine> line = readLine(program_.name, table, arguments);
    if (!line)
      return complain(line.error());
    line_ = line.takeValue();
    return std::ranges::all_of(line_.options,
                               [this](const GivenOption &given) { return store(given); });
  }

  // As it was written, but for passes that are flags: they are in passOrder().
  GivenLine given(const std::string &command) const {
    GivenLine line{program_.name + (command.empty() ? "" : " " + command), {}};
    for (const GivenOption &given : line_.options) {
      const OptionInfo &option = *given.option;
      bool isPass = std::ranges::any_of(
          passFlags_, [&](const OptionInfo &pass) { return &pass == given.option; });
      std::string spelt = option.spelt();
      if (!given.value.empty())
        spelt += (option.name().size() == 1 ? "" : "=") + given.value;
      if (!isPass)
        line.options.emplace_back(option.name(), spelt);
    }
    return line;
  }

  const std::vector<std::string> &positional() const { return line_.positional; }
  bool has(std::string_view name) const {
    return std::ranges::any_of(
        line_.options, [&](const GivenOption &given) { return given.option->isCalled(name); });
  }

  // True when a text was printed that was asked for.
  bool answer() const {
    if (options_.version)
      std::printf("%s %s\n", program_.name.c_str(), versionText());
    else if (options_.help || options_.helpAll)
      std::fputs(helpText(program_, helpInfos(), options_.helpAll).c_str(), stdout);
    else if (!options_.text.empty())
      std::fputs(textFor(options_.text, program_, infos_, versionText()).c_str(), stdout);
    else
      return false;
    return true;
  }

  bool complain(const Error &problem) const {
    refuseLine(program_.name, problem, format_);
    return false;
  }

private:
  bool store(const GivenOption &given) {
    auto row = std::ranges::find_if(
        rows_, [&](const Option<Options> *each) { return &each->info == given.option; });
    if (row == rows_.end()) {
      passOrder_ += (passOrder_.empty() ? "" : ",") + given.option->name() +
                    (given.value.empty() ? "" : "{" + given.value + "}");
      return true;
    }
    Stored stored = (*row)->store(options_, given.value);
    return stored.isTaken || complain(badOptionValue(*given.option, given.value, stored.wanted));
  }

  std::vector<OptionInfo> helpInfos() const {
    std::vector<OptionInfo> infos = infos_;
    for (OptionInfo pass : passFlags_) {
      pass.group = "single passes, as --list-passes describes them";
      infos.push_back(pass);
    }
    return infos;
  }

  const ProgramTexts &program_;
  Options &options_;
  std::vector<const Option<Options> *> rows_;
  std::vector<OptionInfo> infos_, passFlags_;
  std::string passOrder_;
  ReadLine line_;
  std::string format_;
};

struct Command {
  const char *name;
  Action action;
};
constexpr Command commands[] = {
    {"check", Action::Check},     {"explain", Action::Explain}, {"extract", Action::Extract},
    {"inspect", Action::Inspect}, {"pattern", Action::Pattern}, {"plan-diff", Action::PlanDiff},
    {"reduce", Action::Reduce},   {"verify", Action::Verify},   {"view", Action::View},
};

const Command *findCommand(std::string_view name) {
  auto found =
      std::ranges::find_if(commands, [&](const Command &command) { return command.name == name; });
  return found == std::end(commands) ? nullptr : found;
}

// Of the contract of the command line, and not there yet: what there is instead.
struct PlannedCommand {
  const char *name, *instead;
};
constexpr PlannedCommand plannedCommands[] = {
    {"measure", "a vendor's file can hold costs that were measured, with \"measured\": true"},
    {"costs", "a vendor's file can hold costs that were measured, with \"measured\": true"},
    {"explore", "--annotate, --precision and -O can be tried one by one, with bycc-run --bench"},
    {"tune",
     "--schedules=F gives schedules of host kernels by hand; --tune=F tunes regions of vendors"},
    {"probe", "bycc check MODEL --annotate=V says what a vendor refuses, and why"},
};

Parsed finish(Parsed parsed, int exitCode) {
  parsed.action = Action::Exit;
  parsed.exitCode = exitCode;
  return parsed;
}

std::optional<Action> listingAction(Listing listing) {
  switch (listing) {
  case Listing::None:
    return std::nullopt;
  case Listing::Passes:
    return Action::ListPasses;
  case Listing::Ops:
    return Action::ListOps;
  case Listing::OnnxOps:
    return Action::ListOnnxOps;
  case Listing::Vendors:
    return Action::ListVendors;
  }
  return std::nullopt;
}

// Whether one model was given.
Expected<> checkModel(const std::vector<std::string> &positional) {
  if (positional.empty())
    return error(Status::Usage).as(MessageId::NoModel) << "no MODEL given; see bycc --help";
  if (positional.size() == 1)
    return {};
  std::vector<std::string> names;
  for (const Command &command : commands)
    names.emplace_back(command.name);
  if (positional[0] == "run")
    return error(Status::Usage).as(MessageId::NoModel)
           << "there is no command 'run': bycc-run MODEL.json runs what was compiled";
  if (positional[0] == "compile" || positional[0] == "build")
    return error(Status::Usage).as(MessageId::NoModel)
           << "there is no command '" << positional[0] << "': bycc MODEL compiles";
  auto near = nearest(positional[0], names);
  return error(Status::Usage).as(MessageId::NoModel)
         << "more than one MODEL given: '" << escaped(positional[1]) << "'"
         << (near ? ", did you mean bycc " + *near + "?" : "");
}

// Whether a command has what it needs, and nothing that is not its own.
Expected<> checkCommand(Action command, const Options &options,
                        const std::vector<std::string> &positional) {
  auto apart = [] { return error(Status::Usage).as(MessageId::NotTogether); };
  if (options.check.prices && command != Action::Check)
    return apart() << "--prices goes with bycc check MODEL";
  if (command == Action::Pattern &&
      (options.pattern.nodes.empty() || options.pattern.vendor.empty()))
    return apart()
           << "pattern needs --nodes and --vendor: bycc pattern MODEL --nodes=A,B..C --vendor=V";
  if (command == Action::Reduce && options.reduce.script.empty())
    return apart() << "reduce needs --script: bycc reduce MODEL --script=./fails.sh";
  if (command != Action::Reduce && (!options.reduce.script.empty() || options.reduce.maxRuns))
    return apart() << "--script and --max-runs go with bycc reduce MODEL";
  if (command == Action::PlanDiff)
    return positional.size() == 2
               ? Expected<>()
               : error(Status::Usage).as(MessageId::NoModel)
                     << "plan-diff takes two plans: bycc plan-diff A.json B.json";
  return checkModel(positional);
}

} // namespace

Parsed parseBycc(const std::vector<std::string> &arguments) {
  Parsed parsed;
  Options &options = parsed.options;
  const std::string &program = byccTexts().name;
  CommandLine line(byccTexts(), option_programs::ByccOnly, options);
  std::vector<std::string> rest = arguments;
  const Command *command = rest.empty() ? nullptr : findCommand(rest[0]);
  if (command)
    rest.erase(rest.begin());
  else if (!rest.empty())
    for (const PlannedCommand &planned : plannedCommands)
      if (rest[0] == planned.name && !pathExists(rest[0])) {
        Error unsupported = error(Status::Unsup).as(MessageId::NotBuilt)
                            << "bycc " << planned.name
                            << " is not supported yet: " << planned.instead;
        return finish(parsed, refuseLine(program, unsupported, diagnosticsFormat(arguments)));
      }
  if (!line.parse(rest))
    return finish(parsed, 2);
  options.given = line.given(command ? command->name : "");
  if (line.answer())
    return finish(parsed, 0);
  if (options.vendors.annotate == "help")
    options.listing = Listing::Vendors;
  if (auto action = listingAction(options.listing)) {
    parsed.action = *action;
    return parsed;
  }
  parsed.action = options.libs ? Action::Libs : command ? command->action : Action::Compile;
  const std::vector<std::string> &positional = line.positional();
  if (options.watch.printPipeline && positional.empty())
    return parsed;
  if (parsed.action == Action::Explain) {
    options.explained = positional;
    return parsed;
  }
  if (Expected<> checked = checkCommand(parsed.action, options, positional); !checked) {
    line.complain(checked.error());
    return finish(parsed, 2);
  }
  if (parsed.action == Action::PlanDiff)
    options.planDiff = {positional[0], positional[1]};
  else
    options.input.model = positional[0];
  return parsed;
}

Parsed parseByccOpt(const std::vector<std::string> &arguments) {
  Parsed parsed;
  parsed.action = Action::Optimise;
  Options &options = parsed.options;
  std::vector<std::string> passes = passNames();
  CommandLine line(byccOptTexts(), option_programs::OptOnly, options);
  line.addPassFlags(passes);
  if (!line.parse(arguments))
    return finish(parsed, 2);
  options.given = line.given("");
  if (line.answer())
    return finish(parsed, 0);
  if (auto action = listingAction(options.listing)) {
    parsed.action = *action;
    return parsed;
  }
  const std::vector<std::string> &positional = line.positional();
  if (positional.size() != 1) {
    line.complain(error(Status::Usage).as(MessageId::NoModel)
                  << (positional.empty() ? "no FILE given; see bycc-opt --help"
                                         : "more than one FILE given"));
    return finish(parsed, 2);
  }
  options.input.model = positional[0];
  if (!options.passes.passes && (!line.passOrder().empty() || !line.has("O")))
    options.passes.passes = line.passOrder();
  return parsed;
}

} // namespace bycc::cli
