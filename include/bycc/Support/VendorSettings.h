// The options that one half of a vendor describes (bycc_vendor_option) and what they are set to
// (--vendor-option V.NAME=VALUE), for the compiler and for the runtime.
#pragma once

#include "bycc/Support/Error.h"
#include "bycc/vendor.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace bycc {

// "NAME", "VALUE" of --vendor-option V.NAME=VALUE.
struct VendorSetting {
  std::string vendor, name, value;
  // USAGE for text that has no such form. The value may hold any characters.
  static Expected<VendorSetting> parse(std::string_view text);
};

class VendorSettings {
public:
  struct Option {
    std::string name, value, choices, help; // `value`: what it is set to, normalised
    std::string defaultValue;
    int32_t kind = 0; // bycc_attr_kind
    bool isPath = false;
    bool isGiven = false;
    // "bool", "integer", "number", "text", "path", or its choices.
    std::string type() const;
  };

  VendorSettings(); // no options
  // The defaults. LOAD errors say what is wrong with the table.
  static Expected<VendorSettings> describedBy(const std::string &vendor, uint64_t count,
                                              const void *options);
  // USAGE errors say which options and values there are; `half` is where, for them.
  Expected<> set(const VendorSetting &setting, std::string_view half);

  const std::vector<Option> &options() const;
  bool has(std::string_view name) const;
  // As vendors get them; valid while this object, or a copy, lives and is not changed.
  const void *attrs() const;
  uint32_t count() const;
  // All names and values, equal for equal settings.
  std::string text() const;

private:
  struct Values;
  std::shared_ptr<const Values> values_; // shared by copies
  std::string vendor_;
};

} // namespace bycc
