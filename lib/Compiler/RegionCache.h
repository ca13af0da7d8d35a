// --cache-dir=DIR: what vendors made of regions, kept between builds: a file for each, named after
// all that its bytes depend on. Builds may share a folder at the same time: a file appears whole or
// not at all, and one that is damaged counts as missing.
#pragma once

#include "bycc/Target/RegionCompiler.h"

#include <map>
#include <optional>
#include <string>

namespace bycc {

class RegionCache {
public:
  // "": there is none.
  explicit RegionCache(std::string folder) : folder_(std::move(folder)) {}
  // Of this vendor's regions: its code has a version and a file that tell whether it is the same.
  bool keeps(const Vendor &vendor) const { return !folder_.empty() && !vendor.runsHere; }

  // The name of a region's file. `seen` as compile() gets it; `content` has the hashes of constants
  // in place of their offsets.
  std::string nameOf(const Vendor &vendor, const TargetInfo &target, const RegionView &seen,
                     const RegionView &content);
  std::optional<RegionOutcome> find(const std::string &name) const;
  // Why it could not be written; the build is as good without.
  Expected<> add(const std::string &name, const RegionOutcome &outcome) const;

private:
  const std::string &identityOf(const Vendor &vendor);
  std::string folder_;
  std::map<std::string, std::string> identities_; // by vendor
};

} // namespace bycc
