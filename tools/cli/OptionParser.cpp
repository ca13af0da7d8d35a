#include "OptionParser.h"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace bycc::cli {
namespace {

// CLI11 knows no option with and without a value: the latter has this name.
std::string plainName(const OptionInfo &option) { return "--" + option.name() + "-plain"; }

std::vector<std::string> normalised(const std::vector<GivenOption> &given) {
  std::vector<std::string> arguments, positional = {"--"};
  for (const auto &[option, value] : given)
    if (!option)
      positional.push_back(value);
    else if (!value.empty())
      arguments.push_back("--" + option->name() + "=" + value);
    else
      arguments.push_back(option->form == OptionForm::Optional ? plainName(*option)
                                                               : "--" + option->name());
  arguments.insert(arguments.end(), positional.begin(), positional.end());
  std::reverse(arguments.begin(), arguments.end()); // CLI11 takes a stack
  return arguments;
}

void addTo(CLI::App &app, const OptionInfo &option, std::vector<GivenOption> &seen) {
  auto record = [&seen, &option](const std::string &value) { seen.push_back({&option, value}); };
  if (option.form != OptionForm::Value)
    app.add_flag_function(option.form == OptionForm::Flag ? "--" + option.name()
                                                          : plainName(option),
                          [record](int64_t) { record(""); })
        ->trigger_on_parse();
  if (option.form == OptionForm::Flag)
    return;
  app.add_option_function<std::vector<std::string>>(
         "--" + option.name(),
         [record](const std::vector<std::string> &values) {
           for (const std::string &value : values)
             record(value);
         })
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->trigger_on_parse();
}

} // namespace

Expected<ReadLine> readLine(const std::string &program,
                            const std::vector<const OptionInfo *> &table,
                            const std::vector<std::string> &arguments) {
  ReadLine line;
  std::vector<std::string> normal = normalised(BYCC_TRY(readOptionArguments(table, arguments)));
  CLI::App app{"", program};
  app.set_help_flag();
  app.allow_windows_style_options(false);
  for (const OptionInfo *option : table)
    addTo(app, *option, line.options);
  app.add_option("arguments", line.positional);
  try {
    app.parse(normal);
  } catch (const CLI::ParseError &problem) {
    return error(Status::Usage) << problem.what();
  }
  return line;
}

} // namespace bycc::cli
