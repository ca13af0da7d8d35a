#include "bycc/Driver/CommandOptions.h"

namespace bycc {

using namespace option_programs;
using namespace option_store;
using namespace option_traits;

#define OPTION_GROUP(title) {{"", OptionForm::Flag, "", "", 0, "", title}, 0, nullptr},
#define COMMAND_OPTION(programs, names, form, value, completes, traits, help, ...)                 \
  {{names, OptionForm::form, value, completes, traits, help, ""},                                  \
   programs,                                                                                       \
   []([[maybe_unused]] Options &o, [[maybe_unused]] const std::string &v) -> Stored {              \
     return __VA_ARGS__;                                                                           \
   }},
#define REQUEST_OPTION COMMAND_OPTION
#define FORMS_OPTION(programs, names, form, value, completes, traits, help, ofCommand, ...)        \
  COMMAND_OPTION(programs, names, form, value, completes, traits, help, ofCommand)

const std::vector<Option<Options>> &commandOptions() {
  static const std::vector<Option<Options>> rows = withGroups<Options>({
#include "bycc/Compiler/Options.def"
  });
  return rows;
}

} // namespace bycc
