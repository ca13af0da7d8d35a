#include "bycc/Support/OptionInfo.h"

#include "bycc/Support/Text.h"

#include <algorithm>

namespace bycc {
namespace {

constexpr std::string_view kinds[] = {"file", "folder", "pass", "vendor", "op"};

bool isWords(std::string_view text) {
  return text.find('|') != std::string_view::npos && std::ranges::all_of(text, [](char c) {
           return c == '|' || c == '-' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
         });
}

} // namespace

std::vector<std::string> OptionInfo::allNames() const { return split(names, '|'); }

std::string OptionInfo::name() const { return std::string(names.substr(0, names.find('|'))); }

bool OptionInfo::isCalled(std::string_view name) const {
  for (size_t at = 0; at <= names.size();) {
    size_t end = std::min(names.find('|', at), names.size());
    if (names.substr(at, end - at) == name)
      return true;
    at = end + 1;
  }
  return false;
}

std::string OptionInfo::spelt(std::string_view name) const {
  return (name.size() == 1 || has(option_traits::OneDash) ? "-" : "--") + std::string(name);
}

std::string OptionInfo::speltWithValue() const {
  std::string text = spelt(), taken(value);
  if (form == OptionForm::Value)
    return text + (name().size() == 1 ? " " : "=") + taken;
  return form == OptionForm::Optional ? text + "[=" + taken + "]" : text;
}

std::vector<std::string> OptionInfo::words() const {
  std::string_view text = completes.empty() && isWords(value) ? value : completes;
  if (text.starts_with(','))
    text.remove_prefix(1);
  if (text.empty() || std::ranges::find(kinds, text) != std::end(kinds))
    return {};
  return split(text, '|');
}

} // namespace bycc
