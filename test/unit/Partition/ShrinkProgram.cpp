#include "ShrinkProgram.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <vector>

namespace bycc::cases {

namespace {

using Lines = std::vector<std::string>;

Lines split(const std::string &text) {
  Lines lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  return lines;
}

std::string join(const Lines &lines) {
  std::string text;
  for (const std::string &line : lines)
    text += line + "\n";
  return text;
}

// The name that a statement's first line defines, or "".
std::string definedName(const std::string &line) {
  size_t begin = line.rfind("let ", 0) == 0 ? 4 : 0, end = line.find(" = ");
  return line[begin] == '%' && end != std::string::npos ? line.substr(begin, end - begin) : "";
}

// Lines of the statement that begins here: one, or up to its closing brace.
size_t length(const Lines &lines, size_t begin) {
  int depth = 0;
  for (size_t i = begin; i < lines.size(); ++i) {
    depth +=
        static_cast<int>(std::ranges::count(lines[i], '{') - std::ranges::count(lines[i], '}'));
    if (depth <= 0)
      return i - begin + 1;
  }
  return lines.size() - begin;
}

// Every use of the value, projections of it included, becomes `other`.
std::string replaceUses(const std::string &line, const std::string &name,
                        const std::string &other) {
  auto isWord = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  std::string result;
  for (size_t i = 0; i < line.size();) {
    size_t end = i + name.size();
    if (line.compare(i, name.size(), name) != 0 || (end < line.size() && isWord(line[end]))) {
      result += line[i++];
      continue;
    }
    while (end + 1 < line.size() && line[end] == '.' && std::isdigit(line[end + 1]))
      for (++end; end < line.size() && std::isdigit(line[end]);)
        ++end;
    result += other;
    i = end;
  }
  return result;
}

} // namespace

std::string shrinkProgram(std::string text, const std::function<bool(const std::string &)> &fails) {
  Lines lines = split(text);
  for (bool isSmaller = true; isSmaller;) {
    isSmaller = false;
    for (size_t at = lines.size(); at-- > 0;) {
      std::string name = definedName(lines[at]);
      if (name.empty())
        continue;
      Lines fewer(lines.begin(), lines.begin() + static_cast<long>(at));
      for (size_t i = at + length(lines, at); i < lines.size(); ++i)
        fewer.push_back(replaceUses(lines[i], name, "%x"));
      if (fails(join(fewer))) {
        lines = std::move(fewer);
        isSmaller = true;
        at = std::min(at, lines.size());
      }
    }
  }
  return join(lines);
}

} // namespace bycc::cases
