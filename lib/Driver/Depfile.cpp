#include "Depfile.h"

namespace bycc {
namespace {

std::string escapedForMake(const std::string &name) {
  std::string text;
  for (char c : name) {
    if (c == ' ' || c == '#' || c == '\\')
      text += '\\';
    if (c == '$')
      text += '$';
    text += c;
  }
  return text;
}

} // namespace

std::string dependencyFile(const std::string &target, std::span<const std::string> files,
                           bool phony) {
  std::string text = escapedForMake(target) + ":";
  for (const std::string &file : files)
    text += " \\\n  " + escapedForMake(file);
  text += "\n";
  if (phony)
    for (const std::string &file : files.subspan(files.empty() ? 0 : 1))
      text += "\n" + escapedForMake(file) + ":\n";
  return text;
}

} // namespace bycc
