#include "OptionTexts.h"

#include <algorithm>

namespace bycc::cli {
namespace {

constexpr size_t helpColumn = 30, helpWidth = 100;

// `text` from column `at` on, with line breaks before words; lines that it has stay.
std::string wrapped(const std::string &text, size_t at) {
  std::string result;
  size_t column = at;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    size_t size = end - begin;
    if (column > at && column + 1 + size > helpWidth) {
      result += "\n" + std::string(at, ' ');
      column = at;
    } else if (column > at) {
      result += ' ';
      ++column;
    }
    result += text.substr(begin, size);
    column += size;
    begin = end + 1;
  }
  return result;
}

std::string entry(const std::string &left, const std::string &meaning) {
  std::string text = "  " + left;
  if (text.size() + 1 > helpColumn)
    text += "\n" + std::string(helpColumn, ' ');
  else
    text.resize(helpColumn, ' ');
  return text + wrapped(meaning, helpColumn) + "\n";
}

std::string spellings(const OptionInfo &option) {
  std::string text = option.speltWithValue();
  std::vector<std::string> names = option.allNames();
  for (size_t i = 1; i < names.size(); ++i)
    text += ", " + option.spelt(names[i]);
  return text;
}

std::string optionList(OptionInfos options, bool all) {
  std::string text, group;
  for (const OptionInfo &option : options) {
    if (option.has(option_traits::Hidden) || (!all && !option.has(option_traits::Common)))
      continue;
    if (all && option.group != group) {
      group = option.group;
      text += "\n" + group + ":\n";
    }
    text += entry(spellings(option), std::string(option.help));
  }
  return text;
}

} // namespace

std::string helpText(const ProgramTexts &program, OptionInfos options, bool all) {
  std::string text = "examples:\n";
  size_t width = 0;
  for (const Described &example : program.examples)
    width = std::max(width, example.text.size());
  for (const Described &example : program.examples)
    text += "  " + example.text + std::string(width - example.text.size(), ' ') + "  # " +
            example.meaning + "\n";
  for (size_t i = 0; i < program.usage.size(); ++i)
    text += (i ? "       " : "\nusage: ") + program.usage[i] + "\n";
  text += "\n";
  for (const std::string &paragraph : program.paragraphs)
    text += wrapped(paragraph, 0) + "\n";
  for (const Described &command : program.commands)
    text += entry(program.name + " " + command.text, command.meaning);
  text += all ? "" : "\noptions (--help-all lists all):\n";
  text += optionList(options, all);
  text += "\nexit codes: ";
  for (const Described &code : program.exitCodes)
    text += (&code == &program.exitCodes[0] ? "" : ", ") + code.text + " " + code.meaning;
  return text + "\n";
}

std::string textFor(const std::string &what, const ProgramTexts &program, OptionInfos options,
                    const std::string &version) {
  return what == "man"    ? manPage(program, options, version)
         : what == "bash" ? bashCompletion(program, options)
         : what == "zsh"  ? zshCompletion(program, options)
                          : fishCompletion(program, options);
}

} // namespace bycc::cli
