// Completions for bash, zsh and fish. Options and their fixed values are written into them;
// passes, vendors and operators are asked of the program that is being completed.

#include "OptionTexts.h"

#include "bycc/Support/Text.h"

#include <algorithm>

namespace bycc::cli {
namespace {

const char head[] =
    "# Completion of {} for {}; the build makes it from the program's table of options.\n";

// `text` with each {} replaced by the next of `values`.
std::string filled(std::string text, std::initializer_list<std::string> values) {
  size_t at = 0;
  for (const std::string &value : values) {
    at = text.find("{}", at);
    text.replace(at, 2, value);
    at += value.size();
  }
  return text;
}

std::string joined(const std::vector<std::string> &parts) { return join(parts, " "); }

struct Values {
  bool isList = false;
  std::string kind;               // "file", "folder", "pass", "vendor", "op", or ""
  std::vector<std::string> words; // else
};

Values valuesOf(const OptionInfo &option) {
  std::string_view text = option.completes;
  Values values;
  values.isList = text.starts_with(',');
  values.words = option.words();
  if (values.words.empty())
    values.kind = text.substr(values.isList ? 1 : 0);
  return values;
}

// The option that lists what a kind is made of.
std::string listingOf(const std::string &kind) {
  return kind == "pass"     ? "--list-passes"
         : kind == "vendor" ? "--list-vendors"
         : kind == "op"     ? "--list-ops"
                            : "";
}

std::vector<const OptionInfo *> shown(OptionInfos options) {
  std::vector<const OptionInfo *> result;
  for (const OptionInfo &option : options)
    if (!option.has(option_traits::Hidden))
      result.push_back(&option);
  return result;
}

std::vector<std::string> commandNames(const ProgramTexts &program) {
  std::vector<std::string> names;
  for (const Described &command : program.commands)
    names.push_back(command.text.substr(0, command.text.find(' ')));
  return names;
}

std::string functionName(const ProgramTexts &program) { return "_" + asIdentifier(program.name); }

// --- bash

std::string bashAction(const Values &values) {
  std::string action = values.isList ? "list=1 " : "";
  if (!values.words.empty())
    return action + "words='" + joined(values.words) + "'";
  if (std::string listing = listingOf(values.kind); !listing.empty())
    return action + "words=$(\"$program\" " + listing + " 2> /dev/null | cut -d' ' -f1)";
  return action + "kind=" + (values.kind.empty() ? "none" : values.kind);
}

const char bashFunction[] = R"bash(# shellcheck shell=bash
{}() {
  local program=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} option='' words='' kind='' list='' before=''
  # bash makes words of its own of --option=value: --option, =, value
  if [ "$current" = '=' ]; then
    option=${COMP_WORDS[COMP_CWORD-1]} current=
  elif [ "$COMP_CWORD" -gt 1 ] && [ "${COMP_WORDS[COMP_CWORD-1]}" = '=' ]; then
    option=${COMP_WORDS[COMP_CWORD-2]}
  else
    option=${COMP_WORDS[COMP_CWORD-1]}
    case $option in {}) option= ;; esac # a value stands after '=' only
  fi
  COMPREPLY=()
  option=${option#-}
  case ${option#-} in
{}  *)
    case $current in
    -*)
      words='{}'
{}      ;;
    *) kind=file{} ;;
    esac ;;
  esac
  if [ -n "$list" ]; then
    before=${current%"${current##*,}"} current=${current##*,}
  fi
  case $kind in
  file) mapfile -t COMPREPLY < <(compgen -f -- "$current") ; compopt -o filenames 2> /dev/null ;;
  folder) mapfile -t COMPREPLY < <(compgen -d -- "$current") ; compopt -o filenames 2> /dev/null ;;
  esac
  if [ -n "$words" ]; then
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -P "$before" -W "$words" -- "$current")
  fi
  [ "${#COMPREPLY[@]}" = 1 ] && case ${COMPREPLY[0]} in --*=) compopt -o nospace 2> /dev/null ;; esac
  return 0
}
complete -F {} {}
)bash";

// --- zsh

// Inside single quotes and the brackets and colons of _arguments.
std::string zshQuoted(std::string_view text) {
  std::string result;
  for (char c : text)
    if (c == '\'')
      result += "'\\''";
    else if (c == '[' || c == ']' || c == ':' || c == '\\')
      result += std::string("\\") + c;
    else
      result += c;
  return result;
}

std::string zshAction(const std::string &function, const Values &values) {
  if (!values.words.empty())
    return values.isList ? "_values -s , value " + joined(values.words)
                         : "(" + joined(values.words) + ")";
  if (std::string listing = listingOf(values.kind); !listing.empty())
    return function + (values.isList ? "_list_of " : "_listed ") + listing;
  return values.kind == "folder" ? "_files -/" : values.kind == "file" ? "_files" : " ";
}

std::string zshSpecs(const OptionInfo &option, const std::string &function) {
  std::string text;
  for (const std::string &name : option.allNames()) {
    text +=
        std::string("    '") + (option.has(option_traits::Repeats) ? "*" : "") + option.spelt(name);
    if (option.form == OptionForm::Value)
      text += name.size() == 1 ? "+" : "=";
    else if (option.form == OptionForm::Optional)
      text += "=-";
    text += "[" + zshQuoted(option.help) + "]";
    if (option.form != OptionForm::Flag)
      text += std::string(option.form == OptionForm::Optional ? "::" : ":") +
              zshQuoted(option.value) + ":" + zshAction(function, valuesOf(option));
    text += "'\n";
  }
  return text;
}

const char zshFunction[] = R"zsh({}_listed() { # the names that an option of the program lists
  local -a names
  names=(${${(f)"$($words[1] $argv[-1] 2> /dev/null)"}%% *})
  compadd "${(@)argv[1,-2]}" -a names
}
{}_list_of() { # several, with commas between them
  compset -P '*,'
  {}_listed -S '' "$@"
}
{}_first() {
  local -a commands
  commands=({})
  compadd -a commands
  _files
}
{}() {
  local -a options passes
  options=(
{}  )
{}  _arguments $options $passes '1:model:{}_first' '*:file:_files'
}
{} "$@"
)zsh";

// --- fish

std::string fishQuoted(std::string_view text) {
  std::string result = "'";
  for (char c : text)
    result += (c == '\'' || c == '\\' ? "\\" : "") + std::string(1, c);
  return result + "'";
}

std::string fishValues(const ProgramTexts &program, const OptionInfo &option) {
  if (option.form == OptionForm::Flag)
    return "";
  Values values = valuesOf(option);
  std::string required = option.form == OptionForm::Value ? " -r" : "";
  std::string names;
  if (!values.words.empty())
    names = "printf '%s\\n' " + joined(values.words);
  else if (std::string listing = listingOf(values.kind); !listing.empty())
    names = program.name + " " + listing + " 2> /dev/null | string replace -r ' .*' ''";
  else
    return required + (values.kind.empty()       ? " -f"
                       : values.kind == "folder" ? " -f -a '(__fish_complete_directories)'"
                                                 : " -F");
  return required + " -f -a " +
         fishQuoted(
             (values.isList ? "(__fish_complete_list , \"" + names + "\")" : "(" + names + ")"));
}

} // namespace

std::string bashCompletion(const ProgramTexts &program, OptionInfos options) {
  std::string cases, optionals;
  std::vector<std::string> all;
  for (const OptionInfo *option : shown(options)) {
    for (const std::string &name : option->allNames())
      all.push_back(option->spelt(name) +
                    (option->form == OptionForm::Value && name.size() > 1 ? "=" : ""));
    if (option->form == OptionForm::Flag)
      continue;
    std::string names{option->names};
    cases += "  " + names + ") " + bashAction(valuesOf(*option)) + " ;;\n";
    if (option->form == OptionForm::Optional)
      optionals += (optionals.empty() ? "-" : "|-") + names + "|--" + names;
  }
  std::string passes;
  if (!program.passFlags.empty())
    passes = "      words+=\" $(\"$program\" --" + program.passFlags +
             " 2> /dev/null | sed 's/^/--/; s/ .*//')\"\n";
  std::string commands;
  if (!program.commands.empty())
    commands = "; [ \"$COMP_CWORD\" = 1 ] && words='" + joined(commandNames(program)) + "'";
  std::string function = functionName(program);
  return filled(head, {program.name, "bash"}) +
         filled(bashFunction, {function, optionals.empty() ? "''" : optionals, cases, joined(all),
                               passes, commands, function, program.name});
}

std::string zshCompletion(const ProgramTexts &program, OptionInfos options) {
  std::string function = functionName(program), specs, passes;
  for (const OptionInfo *option : shown(options))
    specs += zshSpecs(*option, function);
  if (!program.passFlags.empty())
    passes = "  passes=(${${(f)\"$($words[1] --" + program.passFlags +
             " 2> /dev/null)\"}%% *})\n  passes=(--${^passes})\n";
  return "#compdef " + program.name + "\n" + filled(head, {program.name, "zsh"}) +
         filled(zshFunction, {function, function, function, function, joined(commandNames(program)),
                              function, specs, passes, function, function});
}

std::string fishCompletion(const ProgramTexts &program, OptionInfos options) {
  std::string text = filled(head, {program.name, "fish"}), complete = "complete -c " + program.name;
  for (const OptionInfo *option : shown(options))
    for (const std::string &name : option->allNames()) {
      std::string kind = name.size() == 1                      ? " -s "
                         : option->has(option_traits::OneDash) ? " -o "
                                                               : " -l ";
      text += complete + kind + name + fishValues(program, *option) + " -d " +
              fishQuoted(option->help) + "\n";
    }
  if (!program.passFlags.empty())
    text += complete + " -n 'string match -q -- \"-*\" (commandline -ct)' -a '(" + program.name +
            " --" + program.passFlags +
            " 2> /dev/null | string replace -r -- \"^([^ ]*).*\" \"--\\$1\")'\n";
  for (const Described &command : program.commands)
    text += complete + " -n __fish_use_subcommand -a " +
            command.text.substr(0, command.text.find(' ')) + " -d " + fishQuoted(command.meaning) +
            "\n";
  return text;
}

} // namespace bycc::cli
