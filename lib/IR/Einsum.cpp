#include "bycc/IR/Einsum.h"

#include "bycc/Support/Text.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string>

namespace bycc {
namespace {

// A term: its letters, '.' once for an ellipsis.
Expected<std::string> parseTerm(std::string_view text) {
  std::string term;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (text.substr(i, 3) == "...") {
      i += 2;
      c = '.';
    } else if (!std::isalpha(static_cast<unsigned char>(c))) {
      return error(Status::Input) << "equation holds '" << escaped(std::string(1, c)) << "'";
    }
    if (c == '.' && term.find('.') != std::string::npos)
      return error(Status::Input) << "equation has two ellipses in \"" << escaped(text) << "\"";
    term += c;
  }
  return term;
}

class Labels {
public:
  uint32_t letter(char c) { return number({0, c}); }
  // Axes of an ellipsis are counted from its end, where they broadcast.
  uint32_t ellipsis(size_t fromEnd) { return number({1, static_cast<int>(fromEnd)}); }
  const std::vector<bool> &isEllipsis() const { return isEllipsis_; }
  const std::vector<char> &letters() const { return letters_; }
  uint32_t count() const { return static_cast<uint32_t>(isEllipsis_.size()); }

private:
  uint32_t number(std::pair<int, int> key) {
    auto [it, isNew] = numbers_.try_emplace(key, count());
    if (isNew) {
      isEllipsis_.push_back(key.first == 1);
      letters_.push_back(key.first == 1 ? '.' : static_cast<char>(key.second));
    }
    return it->second;
  }
  std::map<std::pair<int, int>, uint32_t> numbers_;
  std::vector<bool> isEllipsis_;
  std::vector<char> letters_;
};

std::vector<uint32_t> labelsOf(const std::string &term, size_t ellipsisRank, Labels &labels) {
  std::vector<uint32_t> result;
  for (char c : term) {
    if (c != '.') {
      result.push_back(labels.letter(c));
      continue;
    }
    for (size_t i = ellipsisRank; i-- > 0;)
      result.push_back(labels.ellipsis(i));
  }
  return result;
}

std::string implicitOutput(const std::vector<std::string> &terms) {
  std::string all = join(terms, ""), output;
  for (char c : all)
    if (c != '.' && std::ranges::count(all, c) == 1)
      output += c;
  std::ranges::sort(output);
  return (all.find('.') == std::string::npos ? "" : ".") + output;
}

} // namespace

Expected<Einsum> parseEinsum(std::string_view equation, std::span<const size_t> ranks) {
  std::string text;
  for (char c : equation)
    if (c != ' ')
      text += c;
  size_t arrow = text.find("->");
  std::vector<std::string> terms;
  for (const std::string &term : split(text.substr(0, arrow), ','))
    terms.push_back(BYCC_TRY(parseTerm(term)));
  if (terms.size() != ranks.size())
    return error(Status::Input) << "equation names " << terms.size() << " inputs, got "
                                << ranks.size();
  Einsum result;
  Labels labels;
  size_t widest = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    bool hasEllipsis = terms[i].find('.') != std::string::npos;
    size_t letters = terms[i].size() - hasEllipsis;
    if (hasEllipsis ? ranks[i] < letters : ranks[i] != letters)
      return error(Status::Input) << "input \"" << terms[i] << "\" has rank " << letters << ", got "
                                  << ranks[i];
    widest = std::max(widest, ranks[i] - letters);
    result.inputs.push_back(labelsOf(terms[i], ranks[i] - letters, labels));
  }
  uint32_t numKnown = labels.count();
  std::string output = arrow == std::string::npos
                           ? implicitOutput(terms)
                           : BYCC_TRY(parseTerm(std::string_view(text).substr(arrow + 2)));
  if (widest > 0 && output.find('.') == std::string::npos)
    return error(Status::Input) << "the result of the equation has no ellipsis, an input has";
  for (size_t i = 0; i < output.size(); ++i)
    if (output.find(output[i]) != i)
      return error(Status::Input) << "the result of the equation names '" << output[i] << "' twice";
  result.output = labelsOf(output, widest, labels);
  if (labels.count() != numKnown)
    return error(Status::Input) << "the result of the equation names a letter that no input does";
  result.numLabels = numKnown;
  result.isEllipsis = labels.isEllipsis();
  result.letters = labels.letters();
  return result;
}

} // namespace bycc
