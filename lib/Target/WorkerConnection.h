// One running bycc-worker: starts it, sends questions, reads answers, tells how it ended.
#pragma once

#include "SharedConstants.h"
#include "WorkerProtocol.h"
#include "bycc/Support/Error.h"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <sys/types.h>

namespace bycc {

// Folders that may be the one with libraries, as they are seen from bycc or libbycc.
std::vector<std::string> libraryFolders();

inline std::chrono::steady_clock::time_point deadlineAfter(double seconds) {
  using Clock = std::chrono::steady_clock;
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// All that a vendor is told of a target, as one text with zeros in it.
std::string textOf(const bycc_target &target);

class WorkerConnection {
public:
  // `constants` are shared by all connections of a compilation. `isSilent`: nothing that
  // the program writes goes to this process's standard error.
  explicit WorkerConnection(SharedConstants &constants, bool isSilent = false)
      : constants_(constants), isSilent_(isSilent) {}
  WorkerConnection(const WorkerConnection &) = delete;
  ~WorkerConnection();

  // LOAD when the program is not there, LIMIT when no process can be had.
  Expected<> start();
  bool isRunning() const { return pid_ > 0; }
  int descriptor() const { return socket_; }
  bool isReady() const { return isReady_; }
  // Waits until it can answer; false when it ends or takes longer than a minute.
  bool waitReady();

  // An encoded region; it is sent when enough has come together, or by flush().
  // `isQuiet`: what the vendor prints goes nowhere, else to stderr.
  void ask(const Vendor &vendor, Question question, const bycc_target &target,
           const std::string &region, bool isQuiet);
  void flush();
  // Reads what has come; false when no more will.
  bool receive();
  // The next answer that is there in full. `isBroken`: what came is none.
  std::optional<WorkerAnswer> next(bool &isBroken);
  std::shared_ptr<const Storage> weightsAt(const WeightsPlace &place) const {
    return weights_.map(place);
  }

  // Ends it, with all that it started, and returns its status. One that is on its way out
  // has until `deadline`.
  int kill();
  int waitUntil(std::chrono::steady_clock::time_point deadline);
  // Ends it without waiting: taking its memory down takes a while.
  void dismiss();

private:
  static int waitFor(pid_t pid);
  void sendFiles();
  void sendText(ToWorker kind, std::string text);
  uint32_t numberOf(const Vendor &vendor);
  void append(const WorkerHead &head, const std::string &bytes);

  SharedConstants &constants_;
  bool isSilent_;
  pid_t pid_ = -1;
  pid_t dismissed_ = -1; // to be waited for
  bool isReady_ = false;
  int socket_ = -1;
  WeightsMemory weights_;
  size_t filesSent_ = 0;
  std::map<std::string, uint32_t> vendors_; // by name
  std::string target_;
  std::string out_, in_;
  size_t inBegin_ = 0;
};

} // namespace bycc
