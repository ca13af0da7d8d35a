// Questions that are under way stand in a queue. When the program ends, the first of them
// is to blame: it is refused, now and when it is put again (programs are partitioned more
// than once), and the others are put to the next program. What supports() said is kept
// likewise: passes ask about the same nodes, and an answer is the wait for two processes.

#include "bycc/Target/VendorProcess.h"

#include "VendorReply.h"
#include "WorkerConnection.h"
#include "bycc/Support/Hash.h"
#include "bycc/Support/Program.h"

#include <algorithm>
#include <deque>
#include <poll.h>
#include <tuple>

namespace bycc {

using Clock = std::chrono::steady_clock;

namespace {

WorkerAnswer refusal(std::string reason) {
  WorkerAnswer answer;
  answer.reason = std::move(reason);
  return answer;
}

} // namespace

struct VendorProcess::Impl {
  struct Put {
    const Vendor *vendor;
    Question question;
    std::string about;
    const bycc_target *target;
    std::string region; // encoded
    bool isSent = false;
    std::optional<WorkerAnswer> known = {}; // from the last time
  };
  // Vendor; question and region; target.
  using Hash = std::array<uint8_t, 16>;
  using Key = std::tuple<std::string, Hash, Hash>;
  static Key keyOf(const Put &put) {
    std::string target = textOf(*put.target);
    return {put.vendor->name(),
            hash128(put.region.data(), put.region.size(), static_cast<uint64_t>(put.question)),
            hash128(target.data(), target.size())};
  }

  // Less than a socket holds: neither side waits for the other one to read.
  static constexpr size_t maxBytesUnderWay = 64 << 10;

  Impl(double timeoutSeconds, bool isSilent)
      : timeoutSeconds(timeoutSeconds), isSilent(isSilent), worker(constants, isSilent) {}

  double timeoutSeconds;
  bool isSilent;
  SharedConstants constants;
  WorkerConnection worker;
  std::deque<Put> underWay;
  size_t bytesUnderWay = 0;          // of those that are sent
  Clock::time_point deadline;        // for the first under way
  std::map<std::string, int> faults; // by vendor
  std::map<Key, WorkerAnswer> known; // of supports(), and of questions that ended the program
  std::vector<VendorFault> told;

  bool isGivenUp(const Vendor *vendor) { return faults[vendor->name()] >= maxFaults; }

  void restartClock() { deadline = deadlineAfter(timeoutSeconds); }

  void send() {
    for (Put &put : underWay)
      if (!put.isSent && !put.known && !isGivenUp(put.vendor)) {
        if (bytesUnderWay > 0 && bytesUnderWay + put.region.size() > maxBytesUnderWay)
          break;
        if (bytesUnderWay == 0)
          restartClock();
        worker.ask(*put.vendor, put.question, *put.target, put.region, false);
        put.isSent = true;
        bytesUnderWay += cost(put);
      }
  }
  // A message takes more in a socket than its bytes.
  static size_t cost(const Put &put) { return put.region.size() + 512; }

  // The answer to the first question under way.
  WorkerAnswer answerFirst() {
    while (true) {
      Put &first = underWay.front();
      if (first.known && !(first.known->isYes && isGivenUp(first.vendor)))
        return finish(std::move(*first.known));
      if (isGivenUp(first.vendor))
        return finish(refusal("it crashed or hung " + std::to_string(maxFaults) +
                              " times before, it is not asked any more"));
      if (!worker.isRunning())
        if (Expected<> started = restart(); !started)
          return finish(refusal(started.error().message()));
      send();
      worker.flush();
      if (!worker.isReady()) {
        if (!worker.waitReady())
          return fail(worker.kill(), "");
        restartClock();
      }
      bool isBroken = false;
      if (std::optional<WorkerAnswer> answer = worker.next(isBroken)) {
        restartClock();
        if (first.question == Question::Supports)
          known.emplace(keyOf(first), *answer);
        return finish(std::move(*answer));
      }
      if (isBroken)
        return fail(worker.kill(), "sent bytes that are no answer");
      auto wait = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
      pollfd poll{worker.descriptor(), POLLIN, 0};
      ::poll(&poll, 1, static_cast<int>(std::clamp<int64_t>(wait, 0, 60000)));
      if (poll.revents && !worker.receive())
        return fail(worker.waitUntil(deadline), "");
      if (!poll.revents && Clock::now() >= deadline)
        return fail(worker.kill(), "did not answer within " + formatDouble(timeoutSeconds) + " s");
    }
  }

  Expected<> restart() {
    for (Put &put : underWay)
      put.isSent = false;
    bytesUnderWay = 0;
    return worker.start();
  }

  WorkerAnswer finish(WorkerAnswer answer) {
    if (underWay.front().isSent)
      bytesUnderWay -= cost(underWay.front());
    underWay.pop_front();
    return answer;
  }

  WorkerAnswer fail(int status, std::string what) {
    if (what.empty())
      what = endText(status, "its");
    const Put &first = underWay.front();
    int count = ++faults[first.vendor->name()];
    told.push_back({first.vendor->name(), first.about, what, count == maxFaults});
    std::string reason = "when it was " + first.about + ", it " + what;
    known[keyOf(first)] = refusal(reason);
    return finish(refusal(reason));
  }
};

VendorProcess::VendorProcess(double timeoutSeconds, bool isSilent)
    : impl_(std::make_unique<Impl>(timeoutSeconds, isSilent)) {}
VendorProcess::~VendorProcess() = default;

Expected<> VendorProcess::start() { return impl_->worker.start(); }
bool VendorProcess::isSilent() const { return impl_->isSilent; }
SharedConstants &VendorProcess::constants() { return impl_->constants; }
void VendorProcess::dismiss() { impl_->worker.dismiss(); }
WorkerConnection &VendorProcess::connection() { return impl_->worker; }

void VendorProcess::put(const Vendor &vendor, Question question, std::string about,
                        const bycc_target &target, const RegionView &view) {
  Impl &impl = *impl_;
  std::string region = encodeRegion(view.region(), [&](const void *data, uint64_t bytes) {
    return impl.constants.place(data, bytes);
  });
  Impl::Put &put = impl.underWay.emplace_back(
      Impl::Put{&vendor, question, std::move(about), &target, std::move(region)});
  if (auto known = impl.known.find(Impl::keyOf(put)); known != impl.known.end())
    put.known = known->second;
  if (impl.worker.isRunning())
    impl.send();
}

WorkerAnswer VendorProcess::next() { return impl_->answerFirst(); }

std::vector<VendorFault> VendorProcess::takeFaults() { return std::exchange(impl_->told, {}); }

} // namespace bycc
