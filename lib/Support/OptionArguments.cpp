#include "bycc/Support/OptionArguments.h"

#include "bycc/Support/Messages.h"
#include "bycc/Support/Text.h"

#include <algorithm>

namespace bycc {
namespace {

// -O3, -j2, -xonnx, -ofile.
const OptionInfo *findJoined(std::span<const OptionInfo *const> table, std::string_view argument) {
  if (argument.size() < 3 || argument[1] == '-' ||
      std::string_view("Ojxo").find(argument[1]) == std::string_view::npos)
    return nullptr;
  return findOption(table, argument.substr(1, 1));
}

class Reader {
public:
  Reader(std::span<const OptionInfo *const> table, std::span<const std::string> arguments)
      : table_(table), arguments_(arguments) {}

  Expected<std::vector<GivenOption>> run() {
    for (at_ = 0; at_ < arguments_.size(); ++at_) {
      const std::string &argument = arguments_[at_];
      if (argument == "--")
        break;
      if (argument.size() < 2 || argument[0] != '-')
        given_.push_back({nullptr, argument});
      else
        BYCC_TRY(readOption(argument));
    }
    for (++at_; at_ < arguments_.size(); ++at_)
      given_.push_back({nullptr, arguments_[at_]});
    return std::move(given_);
  }

private:
  // --color never: a word of the few that an option takes is its value.
  static bool isOneOfWords(const OptionInfo &option, std::string_view argument) {
    std::vector<std::string> words = split(option.value, '|');
    return words.size() > 1 && std::ranges::find(words, argument) != words.end();
  }

  // Spelt like an option that there is: hardly a value.
  bool isOption(std::string_view argument) const {
    if (argument.size() < 2 || argument[0] != '-')
      return false;
    std::string_view body = argument.substr(argument.starts_with("--") ? 2 : 1);
    return findOption(table_, body.substr(0, body.find('='))) != nullptr;
  }

  Expected<> readOption(const std::string &argument) {
    std::string body = argument.substr(argument.starts_with("--") ? 2 : 1);
    size_t equals = body.find('=');
    std::string name = body.substr(0, equals);
    bool hasValue = equals != std::string::npos;
    const OptionInfo *option = findOption(table_, name);
    if (!option) {
      option = findJoined(table_, argument);
      if (!option)
        return error(Status::Usage).as(MessageId::UnknownOption)
               << unknownOption(table_, argument, name);
      given_.push_back({option, body.substr(1)});
      return {};
    }
    if (option->form == OptionForm::Flag && hasValue)
      return error(Status::Usage).as(MessageId::OptionValue) << "--" << name << " takes no value";
    if (option->form == OptionForm::Optional && !hasValue && at_ + 1 < arguments_.size() &&
        isOneOfWords(*option, arguments_[at_ + 1])) {
      given_.push_back({option, arguments_[++at_]});
    } else if (option->form != OptionForm::Value || hasValue) {
      given_.push_back({option, hasValue ? body.substr(equals + 1) : ""});
    } else if (at_ + 1 < arguments_.size()) {
      if (isOption(arguments_[at_ + 1]))
        return error(Status::Usage).as(MessageId::OptionValue)
               << option->spelt() << " needs a value, found '" << escaped(arguments_[at_ + 1])
               << "'; " << option->spelt() << "=" << escaped(arguments_[at_ + 1])
               << " gives it this one";
      given_.push_back({option, arguments_[++at_]});
    } else {
      given_.push_back({option, ""});
    }
    if (option->form == OptionForm::Value && given_.back().value.empty())
      return error(Status::Usage).as(MessageId::OptionValue) << option->spelt() << " needs a value";
    return {};
  }

  std::span<const OptionInfo *const> table_;
  std::span<const std::string> arguments_;
  std::vector<GivenOption> given_;
  size_t at_ = 0;
};

} // namespace

const OptionInfo *findOption(std::span<const OptionInfo *const> table, std::string_view name) {
  for (const OptionInfo *option : table)
    if (option->isCalled(name))
      return option;
  return nullptr;
}

std::string unknownOption(std::span<const OptionInfo *const> table, std::string_view argument,
                          std::string_view name) {
  std::vector<std::string> names;
  for (const OptionInfo *option : table)
    if (!option->has(option_traits::Hidden))
      for (std::string &each : option->allNames())
        names.push_back(std::move(each));
  std::string text = "unknown option '" + escaped(argument) + "'";
  if (auto near = nearest(name.substr(0, name.find('{')), names))
    text += ", did you mean '--" + *near + "'?";
  return text;
}

Error badOptionValue(const OptionInfo &option, std::string_view value, std::string_view wanted) {
  return error(Status::Usage).as(MessageId::BadValue)
         << option.spelt() << ": bad value '" << escaped(value) << "', it takes "
         << (wanted.empty() ? std::string_view(option.value) : wanted);
}

Expected<std::vector<GivenOption>> readOptionArguments(std::span<const OptionInfo *const> table,
                                                       std::span<const std::string> arguments) {
  return Reader(table, arguments).run();
}

} // namespace bycc
