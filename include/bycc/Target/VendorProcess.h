// Asks vendors' code in a program of its own (libexec/bycc/bycc-worker): one that
// crashes, hangs or exits ends that program, and what it was asked is refused with the
// reason. The next question starts the program again. A vendor that does so three times
// is given up: everything it would be asked from then on is refused.
//
// Questions are answered in the order in which they were put, and many may be under way.
#pragma once

#include "bycc/Support/Error.h"
#include "bycc/Target/RegionView.h"
#include "bycc/Target/Vendor.h"

#include <memory>
#include <string>
#include <vector>

namespace bycc {

class SharedConstants;
class WorkerConnection;
enum class Question : uint32_t;
struct WorkerAnswer;

// A question that ended the program.
struct VendorFault {
  std::string vendor, question; // "asked about nn.relu"
  std::string what;             // "crashed: signal 11 (Segmentation fault)"
  bool isLast = false;          // the vendor is given up
};

class VendorProcess {
public:
  static constexpr int maxFaults = 3; // of a vendor

  // The time is for one question. `isSilent`: what vendors print goes nowhere, else
  // to this process's standard error.
  explicit VendorProcess(double timeoutSeconds, bool isSilent = false);
  ~VendorProcess();
  // Starts the program, so that it is ready when the first question comes.
  Expected<> start();

  void put(const Vendor &vendor, Question question, std::string about, const bycc_target &target,
           const RegionView &view);
  // The answer to the oldest question under way.
  WorkerAnswer next();
  // Those since the last call.
  std::vector<VendorFault> takeFaults();

  // No question is under way, and none is expected: the program ends while this process
  // goes on. Another question would start it again.
  void dismiss();

  bool isSilent() const;

  // The running program, for regions to be compiled in while no question is under way,
  // and what it knows of constants.
  WorkerConnection &connection();
  SharedConstants &constants();

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace bycc
