#include "bycc/Support/VendorSettings.h"

#include "bycc/Support/Phrases.h"
#include "bycc/Support/Sized.h"
#include "bycc/Support/Text.h"

#include <algorithm>

namespace bycc {

struct VendorSettings::Values {
  std::vector<Option> options; // by name
  std::vector<bycc_attr> attrs;

  explicit Values(std::vector<Option> all) : options(std::move(all)) {
    for (const Option &option : options) {
      auto attr = sized<bycc_attr>();
      attr.name = option.name.c_str();
      attr.kind = option.kind;
      if (option.kind == BYCC_ATTR_BOOL)
        attr.i = option.value == "true";
      else if (option.kind == BYCC_ATTR_INT)
        attr.i = *parseInt(option.value);
      else if (option.kind == BYCC_ATTR_FLOAT)
        attr.f = *parseDouble(option.value);
      else
        attr.s = option.value.c_str();
      attrs.push_back(attr);
    }
  }
};

namespace {

bool isOptionName(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

// The value in its one spelling; none: it is not one of the option's.
std::optional<std::string> normalised(const VendorSettings::Option &option,
                                      const std::string &value) {
  if (option.kind == BYCC_ATTR_BOOL)
    return value == "true" || value == "1"    ? std::optional<std::string>("true")
           : value == "false" || value == "0" ? std::optional<std::string>("false")
                                              : std::nullopt;
  if (option.kind == BYCC_ATTR_INT) {
    std::optional<int64_t> number = parseInt(value);
    return number ? std::optional(std::to_string(*number)) : std::nullopt;
  }
  if (option.kind == BYCC_ATTR_FLOAT) {
    std::optional<double> number = parseDouble(value);
    return number ? std::optional(formatDouble(*number)) : std::nullopt;
  }
  std::vector<std::string> choices = split(option.choices, '|');
  bool isOne = option.choices.empty() || std::ranges::find(choices, value) != choices.end();
  return isOne ? std::optional(value) : std::nullopt;
}

std::string described(const VendorSettings::Option &option) {
  return option.name + "=" + option.defaultValue + " (" + option.type() + "): " + option.help;
}

Expected<VendorSettings::Option> readOption(const std::string &vendor,
                                            const bycc_vendor_option &from) {
  VendorSettings::Option option;
  option.name = from.name ? from.name : "";
  auto wrong = [&](const std::string &what) -> Error {
    return error(Status::Load) << "vendor '" << vendor << "': its option '"
                               << escaped(option.name, 64) << "' " << what;
  };
  if (!isOptionName(option.name))
    return wrong("has no name of lower-case letters, digits, '-' and '_'");
  option.kind = from.kind;
  if (from.kind < BYCC_ATTR_BOOL || from.kind > BYCC_ATTR_STRING)
    return wrong("has kind " + std::to_string(from.kind) +
                 ", wanted one of a bool, an integer, a "
                 "number or text");
  option.choices = escaped(from.choices ? from.choices : "", 512);
  option.help = escaped(from.help ? from.help : "", 512);
  option.isPath = (from.flags & BYCC_VENDOR_OPTION_PATH) != 0;
  std::optional<std::string> value = normalised(option, from.value ? from.value : "");
  if (!value)
    return wrong("has the default '" + escaped(from.value ? from.value : "") + "', wanted " +
                 option.type());
  option.value = option.defaultValue = *value;
  return option;
}

} // namespace

std::string VendorSettings::Option::type() const {
  if (kind == BYCC_ATTR_BOOL)
    return "true|false";
  if (kind == BYCC_ATTR_INT)
    return "integer";
  if (kind == BYCC_ATTR_FLOAT)
    return "number";
  return !choices.empty() ? choices : isPath ? "path" : "text";
}

Expected<VendorSetting> VendorSetting::parse(std::string_view text) {
  size_t equals = text.find('='), dot = text.substr(0, equals).find('.');
  if (equals == std::string_view::npos || dot == std::string_view::npos || dot == 0 ||
      dot + 1 == equals)
    return error(Status::Usage) << "--vendor-option: wanted V.NAME=VALUE, given '" << escaped(text)
                                << "'";
  return VendorSetting{std::string(text.substr(0, dot)),
                       std::string(text.substr(dot + 1, equals - dot - 1)),
                       std::string(text.substr(equals + 1))};
}

VendorSettings::VendorSettings() : values_(std::make_shared<const Values>(std::vector<Option>())) {}

Expected<VendorSettings> VendorSettings::describedBy(const std::string &vendor, uint64_t count,
                                                     const void *options) {
  VendorSettings settings;
  settings.vendor_ = vendor;
  std::vector<Option> all;
  if (count > 1000 || (count > 0 && !options))
    return error(Status::Load) << "vendor '" << vendor << "' says that it has " << count
                               << " options, there are " << (options ? "at most 1000" : "none");
  for (uint32_t i = 0; i < count; ++i) {
    // What an older header lacks is null.
    const bycc_vendor_option &given = *bycc_vendor_option_at(options, i);
    auto known = bycc_vendor_option();
    memcpy(&known, &given, std::min<size_t>(given.size, sizeof known));
    all.push_back(BYCC_TRY(readOption(vendor, known)));
  }
  std::ranges::sort(all, {}, &Option::name);
  if (auto twice = std::ranges::adjacent_find(all, {}, &Option::name); twice != all.end())
    return error(Status::Load) << "vendor '" << vendor << "' describes its option '" << twice->name
                               << "' twice";
  settings.values_ = std::make_shared<const Values>(std::move(all));
  return settings;
}

Expected<> VendorSettings::set(const VendorSetting &setting, std::string_view half) {
  std::string where = "--vendor-option " + escaped(setting.vendor) + "." + escaped(setting.name);
  std::vector<Option> all = values_->options;
  auto option = std::ranges::find(all, setting.name, &Option::name);
  if (option == all.end()) {
    std::vector<std::string> names;
    for (const Option &each : all)
      names.push_back(each.name);
    Error problem = error(Status::Usage) << where << ": vendor '" << vendor_ << "' has no "
                                         << (all.empty() ? "options " : "such option ") << half
                                         << didYouMean(setting.name, names);
    for (const Option &each : all)
      problem.diagnostics().front().notes.push_back({{}, described(each)});
    return problem;
  }
  std::optional<std::string> value = normalised(*option, setting.value);
  if (!value)
    return error(Status::Usage) << where << ": wanted " << option->type() << ", given '"
                                << escaped(setting.value) << "'";
  option->value = *value;
  option->isGiven = true;
  values_ = std::make_shared<const Values>(std::move(all));
  return {};
}

const std::vector<VendorSettings::Option> &VendorSettings::options() const {
  return values_->options;
}
bool VendorSettings::has(std::string_view name) const {
  return std::ranges::find(options(), name, &Option::name) != options().end();
}
const void *VendorSettings::attrs() const { return values_->attrs.data(); }
uint32_t VendorSettings::count() const { return static_cast<uint32_t>(values_->attrs.size()); }

std::string VendorSettings::text() const {
  std::string all;
  for (const Option &option : options())
    all += option.name + "=" + option.value + '\0';
  return all;
}

} // namespace bycc
