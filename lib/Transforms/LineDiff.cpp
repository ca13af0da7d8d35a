// Longest common subsequence over lines, after cutting equal beginnings and
// ends. What is left may be large for a whole-module change; then the middle is
// shown as one replaced block instead of spending quadratic time.

#include "LineDiff.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace bycc {
namespace {

constexpr size_t maxTableCells = 4'000'000;
constexpr size_t contextLines = 3;

using Lines = std::vector<std::string_view>;

Lines linesOf(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

struct Edit {
  char mark; // ' ', '-', '+'
  std::string_view line;
};

void replaceBlock(const Lines &a, const Lines &b, std::vector<Edit> &edits) {
  for (std::string_view line : a)
    edits.push_back({'-', line});
  for (std::string_view line : b)
    edits.push_back({'+', line});
}

void diffMiddle(const Lines &a, const Lines &b, std::vector<Edit> &edits) {
  if (a.size() * b.size() > maxTableCells)
    return replaceBlock(a, b, edits);
  size_t width = b.size() + 1;
  std::vector<uint32_t> common((a.size() + 1) * width, 0); // LCS of the tails
  for (size_t i = a.size(); i-- > 0;)
    for (size_t j = b.size(); j-- > 0;)
      common[i * width + j] =
          a[i] == b[j] ? common[(i + 1) * width + j + 1] + 1
                       : std::max(common[(i + 1) * width + j], common[i * width + j + 1]);
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      edits.push_back({' ', a[i]});
      ++i, ++j;
    } else if (j == b.size() ||
               (i < a.size() && common[(i + 1) * width + j] >= common[i * width + j + 1])) {
      edits.push_back({'-', a[i++]});
    } else {
      edits.push_back({'+', b[j++]});
    }
  }
}

std::string printEdits(const std::vector<Edit> &edits) {
  std::vector<bool> shown(edits.size(), false);
  for (size_t i = 0; i < edits.size(); ++i)
    if (edits[i].mark != ' ')
      for (size_t k = i - std::min(i, contextLines);
           k < std::min(edits.size(), i + contextLines + 1); ++k)
        shown[k] = true;
  std::string text;
  for (size_t i = 0; i < edits.size(); ++i) {
    if (!shown[i])
      continue;
    if (i > 0 && !shown[i - 1] && !text.empty())
      text += "...\n";
    (text += edits[i].mark) += edits[i].line;
    text += '\n';
  }
  return text;
}

} // namespace

std::string lineDiff(std::string_view before, std::string_view after) {
  Lines a = linesOf(before), b = linesOf(after);
  size_t head = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head])
    ++head;
  size_t tail = 0;
  while (tail < a.size() - head && tail < b.size() - head &&
         a[a.size() - 1 - tail] == b[b.size() - 1 - tail])
    ++tail;
  if (head == a.size() && head == b.size())
    return {};
  std::vector<Edit> edits;
  for (size_t i = head - std::min(head, contextLines); i < head; ++i)
    edits.push_back({' ', a[i]});
  diffMiddle({a.begin() + static_cast<long>(head), a.end() - static_cast<long>(tail)},
             {b.begin() + static_cast<long>(head), b.end() - static_cast<long>(tail)}, edits);
  for (size_t i = a.size() - tail; i < a.size() && i < a.size() - tail + contextLines; ++i)
    edits.push_back({' ', a[i]});
  return printEdits(edits);
}

} // namespace bycc
