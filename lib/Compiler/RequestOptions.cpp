#include "bycc/Compiler/RequestOptions.h"

#include "bycc/Compiler/OptionStore.h"
#include "bycc/Compiler/OutputForms.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/OptionArguments.h"

#include <algorithm>

namespace bycc {
namespace {

std::string formNames() {
  std::vector<std::string> names;
  for (const OutputFormInfo &form : outputForms())
    names.emplace_back(form.name);
  return "a list of " + join(names, ", ");
}

Stored setForms(std::vector<OutputForm> &forms, const std::string &value) {
  std::vector<OutputForm> asked;
  for (const std::string &name : split(value, ',')) {
    const OutputFormInfo *form = findOutputForm(name);
    if (!form)
      return {false, formNames()};
    if (std::ranges::find(asked, form->form) == asked.end())
      asked.push_back(form->form);
  }
  forms = std::move(asked);
  return {};
}

using namespace option_programs;
using namespace option_store;
using namespace option_traits;

#define OPTION_GROUP(title) {{"", OptionForm::Flag, "", "", 0, "", title}, 0, nullptr},
#define REQUEST_OPTION(programs, names, form, value, completes, traits, help, ...)                 \
  {{names, OptionForm::form, value, completes, traits, help, ""},                                  \
   programs,                                                                                       \
   []([[maybe_unused]] CompileRequest &o, [[maybe_unused]] const std::string &v) -> Stored {       \
     return __VA_ARGS__;                                                                           \
   }},
#define FORMS_OPTION(programs, names, form, value, completes, traits, help, ofCommand, ...)        \
  REQUEST_OPTION(programs, names, form, value, completes, traits, help, __VA_ARGS__)
#define COMMAND_OPTION(...)

const std::vector<Option<CompileRequest>> &requestOptions() {
  static const std::vector<Option<CompileRequest>> rows = withGroups<CompileRequest>({
#include "bycc/Compiler/Options.def"
  });
  return rows;
}

#undef COMMAND_OPTION
#define COMMAND_OPTION(programs, names, ...) names,
#undef REQUEST_OPTION
#define REQUEST_OPTION(...)
#undef FORMS_OPTION
#define FORMS_OPTION(...)
#undef OPTION_GROUP
#define OPTION_GROUP(title)
constexpr std::string_view namesOfCommands[] = {
#include "bycc/Compiler/Options.def"
};

std::vector<const OptionInfo *> pointersTo(const std::vector<OptionInfo> &infos) {
  std::vector<const OptionInfo *> pointers;
  for (const OptionInfo &info : infos)
    pointers.push_back(&info);
  return pointers;
}

// Said of options that bycc has, too.
Expected<> checkIsOfCompiler(std::string_view name) {
  for (std::string_view names : namesOfCommands)
    if (OptionInfo{names}.isCalled(name))
      return (error(Status::Usage) << "option '" << escaped(name)
                                   << "' is one of bycc's command line, not of the compiler")
          .note("what the commands print is in the result: its report, messages and times");
  return {};
}

Expected<> store(CompileRequest &request, const OptionInfo &info, const std::string &value) {
  for (const Option<CompileRequest> &row : requestOptions()) {
    if (row.info.names != info.names)
      continue;
    if (Stored stored = row.store(request, value); !stored.isTaken)
      return badOptionValue(row.info, value, stored.wanted);
  }
  return {};
}

// "annotate=dnnl" gets its dashes.
std::string withDashes(const std::string &argument) {
  return argument.starts_with('-') || argument.empty() ? argument : "--" + argument;
}

} // namespace

const std::vector<OptionInfo> &requestOptionInfos() {
  static const std::vector<OptionInfo> infos = [] {
    std::vector<OptionInfo> list;
    for (const Option<CompileRequest> &row : requestOptions())
      list.push_back(row.info);
    return list;
  }();
  return infos;
}

Expected<> setOption(CompileRequest &request, std::string_view name, std::string_view value) {
  static const std::vector<const OptionInfo *> table = pointersTo(requestOptionInfos());
  const OptionInfo *option = findOption(table, name);
  if (!option) {
    BYCC_TRY(checkIsOfCompiler(name));
    return error(Status::Usage) << unknownOption(table, name, name);
  }
  if (option->form == OptionForm::Flag && !value.empty())
    return error(Status::Usage).as(MessageId::OptionValue) << option->spelt() << " takes no value";
  if (option->form == OptionForm::Value && value.empty())
    return error(Status::Usage).as(MessageId::OptionValue) << option->spelt() << " needs a value";
  return store(request, *option, std::string(value));
}

Expected<> setOptions(CompileRequest &request, std::span<const std::string> arguments) {
  static const std::vector<const OptionInfo *> table = pointersTo(requestOptionInfos());
  CompileRequest changed = request;
  for (size_t at = 0; at < arguments.size(); ++at) {
    std::vector<std::string> one = {withDashes(arguments[at])};
    std::string name = one[0].substr(std::min(one[0].find_first_not_of('-'), one[0].size()));
    name = name.substr(0, name.find('='));
    const OptionInfo *option = findOption(table, name);
    if (!option)
      BYCC_TRY(checkIsOfCompiler(name));
    bool needsNext =
        option && option->form == OptionForm::Value && one[0].find('=') == std::string::npos;
    if (needsNext && at + 1 < arguments.size())
      one.push_back(arguments[++at]);
    for (const GivenOption &given : BYCC_TRY(readOptionArguments(table, one))) {
      if (!given.option)
        return error(Status::Usage) << "'" << escaped(given.value) << "' is no option";
      BYCC_TRY(store(changed, *given.option, given.value));
    }
  }
  request = std::move(changed);
  return {};
}

} // namespace bycc
