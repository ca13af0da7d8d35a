// The conformance suite of vendors: what vendor.h promises, asked of one vendor,
// built in or plugin. It needs no source tree: the operator cases are data.
//
// Each check runs in a child process with a time limit, so a crash or a hang is
// that check's failure and not the end of the suite.
#pragma once

#include "bycc/Target/Vendor.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace bycc::conformance {

// What a vendor is known to get wrong, each with a reason in its file. Keys are
// "CHECK/ITEM", globs.
struct Gaps {
  std::map<std::string, std::string> items;       // left out -> why
  std::map<std::string, int64_t> units;           // integer results may be off by -> so many
  int64_t unitsOf(const std::string &item) const; // 0: exact
};

struct Setup {
  VendorSet *vendors = nullptr;                 // the vendor alone
  const Vendor *vendor = nullptr;               // it; has a compile half
  const bycc_vendor_runtime *runtime = nullptr; // its run half,
  const bycc_vendor_context *context = nullptr; // open
  TargetInfo target;
  std::string casesFolder; // operator cases, *.json
  Gaps gaps;
  uint32_t seed = 1; // of random regions
  // What failures leave behind (KeptCase.h): where the check that runs has its files, "" for
  // nowhere; where they are kept; and what is to be typed to see it again.
  std::string caseFolder, keepFolder, compileOptions, runEnvironment, command;
};

// Reads {"schema": 1, "vendor": V, "gaps": [{"item": "CHECK/ITEM", "reason": ".."}]}; with
// "units": N in it an item is not left out, but its integers may be off by N.
Expected<Gaps> readGaps(const std::string &file, const std::string &vendor);

enum class Verdict : uint8_t { Pass, Fail, Skip };

// What a check finds. `item` names one case of it: "clip[0]", "seed 7".
class Findings {
public:
  virtual ~Findings() = default;
  // Named when the process dies; call before each step that might.
  virtual void begin(const std::string &item) = 0;
  virtual void fail(const std::string &item, const std::string &why) = 0;
  virtual void skip(const std::string &why) = 0; // the check has nothing to ask
  virtual void note(const std::string &text) = 0;
  // A known gap: the item is left out. Counts what is not.
  virtual bool isGap(const std::string &item) = 0;
  void expect(bool holds, const std::string &item, const std::string &why) {
    if (!holds)
      fail(item, why);
  }
};

struct Check {
  const char *name; // "numeric.operators"
  const char *what; // one line for --list
  void (*run)(const Setup &setup, Findings &findings);
};
const std::vector<Check> &checks();

struct Result {
  std::string check;
  Verdict verdict = Verdict::Pass;
  std::vector<std::string> failures; // "item: why"
  std::string skipped;               // why
  std::vector<std::string> notes;
  uint64_t items = 0, gaps = 0;
  double seconds = 0;
};
Result runCheck(const Check &check, const Setup &setup);

} // namespace bycc::conformance
