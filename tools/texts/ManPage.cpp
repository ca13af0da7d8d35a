// A manual page of man(7)'s macros. It carries no date: the same source gives the same bytes.

#include "OptionTexts.h"

#include <algorithm>

namespace bycc::cli {
namespace {

// Text in which nothing is a request or an escape of roff.
std::string plain(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else if ((c == '.' || c == '\'') && (result.empty() || result.back() == '\n'))
      result += "\\&" + std::string(1, c);
    else
      result += c;
  }
  return result;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  });
  return text;
}

std::string section(const std::string &title) { return ".SH " + upper(plain(title)) + "\n"; }

std::string listItem(const std::string &left, const std::string &meaning) {
  return ".TP\n.B " + plain(left) + "\n" + plain(meaning) + "\n";
}

std::string optionSections(OptionInfos options) {
  std::string text, group;
  for (const OptionInfo &option : options) {
    if (option.has(option_traits::Hidden))
      continue;
    if (option.group != group) {
      group = option.group;
      text += ".SS " + plain(group) + "\n";
    }
    std::string left = option.speltWithValue();
    std::vector<std::string> names = option.allNames();
    for (size_t i = 1; i < names.size(); ++i)
      left += ", " + option.spelt(names[i]);
    std::string help(option.help);
    if (option.has(option_traits::Repeats))
      help += "; adds up when repeated";
    text += listItem(left, help);
  }
  return text;
}

} // namespace

std::string manPage(const ProgramTexts &program, OptionInfos options, const std::string &version) {
  std::string text =
      ".TH " + upper(plain(program.name)) + " 1 \"\" \"bycc " + version + "\" \"bycc\"\n";
  text += section("name") + plain(program.name) + " \\- " + plain(program.summary) + "\n";
  text += section("synopsis");
  for (const std::string &usage : program.usage)
    text += ".B " + plain(usage) + "\n.br\n";
  text += section("description");
  for (const std::string &paragraph : program.paragraphs)
    text += plain(paragraph) + "\n.PP\n";
  text += "Long options take one dash or two, and a value as \\-\\-x=v or \\-\\-x v; those written "
          "\\-\\-x[=v] take one "
          "as =v only. Of an option given twice the last one counts, unless it adds up.\n";
  if (!program.commands.empty())
    text += section("commands");
  for (const Described &command : program.commands)
    text += listItem(program.name + " " + command.text, command.meaning);
  text += section("options") + optionSections(options);
  if (!program.passFlags.empty())
    text += ".SS single passes\nEach name that \\-\\-" + plain(program.passFlags) +
            " lists is an option that runs the pass: \\-\\-NAME[=OPTIONS].\n";
  text += section("examples");
  for (const Described &example : program.examples)
    text +=
        plain(example.meaning) + ":\n.PP\n.nf\n.RS\n" + plain(example.text) + "\n.RE\n.fi\n.PP\n";
  text += section("exit status");
  for (const Described &code : program.exitCodes)
    text += listItem(code.text, code.meaning);
  if (!program.environment.empty())
    text += section("environment");
  for (const Described &variable : program.environment)
    text += listItem(variable.text, variable.meaning);
  text += section("see also");
  for (const std::string &page : program.seeAlso)
    text += (&page == &program.seeAlso[0] ? "" : ", ") + plain(page);
  return text + "\n";
}

} // namespace bycc::cli
