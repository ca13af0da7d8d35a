// Finds and loads the run halves of vendors, and opens their contexts.
#pragma once

#include "bycc/Support/Error.h"
#include "bycc/Support/VendorSettings.h"

#include "bycc/vendor.h"

#include <memory>
#include <string>
#include <vector>

namespace bycc::runtime {

// A run half with a context that is open, and closed with this.
class OpenVendor {
public:
  static Expected<std::shared_ptr<const OpenVendor>> open(const bycc_vendor_runtime &table,
                                                          VendorSettings settings);
  OpenVendor(const OpenVendor &) = delete;
  ~OpenVendor();
  const bycc_vendor_runtime &table() const { return table_; }
  const bycc_vendor_context &context() const { return context_; }
  // LOAD when the blob of the region is of a compile half that this run half does not read.
  Expected<> checkReads(const bycc_region_info &region) const;

private:
  OpenVendor(const bycc_vendor_runtime &table, VendorSettings settings);
  const bycc_vendor_runtime &table_;
  VendorSettings settings_;
  bycc_vendor_context context_;
  bool isOpen_ = false;
};

// The one that is open with these settings, else a new one. The newest variant that loads,
// unless a setting "library" wants another. LOAD says where it was looked for or what is wrong
// with it, USAGE is for options that the run half does not have.
Expected<std::shared_ptr<const OpenVendor>> openVendor(const std::string &vendor,
                                                       const std::vector<VendorSetting> &settings);

} // namespace bycc::runtime
