// --tune=FILE: what vendors found out about regions, kept between builds. The form
// of the file is share/schema/tuning.schema.json.
#pragma once

#include "bycc/Compiler/InputFiles.h"
#include "bycc/Support/Error.h"
#include "bycc/Target/TargetInfo.h"
#include "bycc/Target/Vendor.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace bycc {

// Target and number of threads, as far as what vendors make depends on them.
std::string machineText(const TargetInfo &target);

class TuningRecords {
public:
  using Record = std::vector<uint8_t>;
  using RegionHash = std::array<uint8_t, 16>;

  // A file that is not there holds no records. INPUT errors for one that is wrong.
  static Expected<TuningRecords> read(const std::string &file, InputFiles &files);

  // Null when there is none for this region, version of the vendor and target.
  const Record *find(const Vendor &vendor, const TargetInfo &target,
                     const RegionHash &region) const;
  void add(const Vendor &vendor, const TargetInfo &target, const RegionHash &region, Record record);

  bool isChanged() const { return isChanged_; } // since it was read
  std::string text() const;                     // sorted: the same records, the same text

private:
  using Key = std::tuple<std::string, std::string, std::string,
                         std::string>; // vendor, version, target, region
  static Key keyOf(const Vendor &vendor, const TargetInfo &target, const RegionHash &region);

  std::map<Key, Record> records_;
  bool isChanged_ = false;
};

} // namespace bycc
