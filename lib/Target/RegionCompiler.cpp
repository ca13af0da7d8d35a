// There are up to `jobs` workers, each with every jobs-th region and asked about one at a
// time; the first is the one that is asked questions as well, where there is one:
//
//   worker 0:  region 0 | region 2 | region 4 ...
//   worker 1:  region 1 | region 3 ...
//
// A worker that ends, hangs or sends something else than an answer fails the region it
// was at, and is started again for the next one. Weights that a vendor makes lie in memory
// that both processes see.

#include "bycc/Target/RegionCompiler.h"

#include "CallVendor.h"
#include "WorkerConnection.h"
#include "bycc/Support/Program.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/VendorProcess.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <poll.h>

namespace bycc {
namespace {

using Clock = std::chrono::steady_clock;

RegionOutcome failed(RegionOutcome::Kind kind, std::string reason) {
  RegionOutcome outcome;
  outcome.kind = kind;
  outcome.reason = std::move(reason);
  return outcome;
}

RegionOutcome refused(std::string reason) {
  return failed(RegionOutcome::Kind::Refused, std::move(reason));
}
RegionOutcome crashed(std::string reason) {
  return failed(RegionOutcome::Kind::Crashed, std::move(reason));
}

RegionOutcome ended(int status) { return crashed("its compile half " + endText(status)); }

// What an answer comes to, but for its weights.
RegionOutcome outcomeOf(WorkerAnswer answer, uint64_t maxBlobBytes) {
  if (!answer.isYes) {
    RegionOutcome outcome = refused(std::move(answer.reason));
    outcome.blamed = answer.blamed;
    return outcome;
  }
  if (answer.isBlobTooLarge || answer.blob.size() > maxBlobBytes)
    return refused("its code takes more than " + std::to_string(maxBlobBytes >> 20) + " MiB");
  if (answer.blob.empty())
    return refused("it gives no code");
  RegionOutcome outcome;
  outcome.kind = RegionOutcome::Kind::Done;
  outcome.blob = std::move(answer.blob);
  return outcome;
}

// A node that the region does not have is not to blame.
void checkBlame(RegionOutcome &outcome, uint32_t numNodes) {
  if (outcome.blamed >= numNodes)
    outcome.blamed = UINT32_MAX;
}

// A process and the jobs it has yet to answer.
struct Worker {
  std::vector<uint32_t> jobs; // the next one last
  std::unique_ptr<WorkerConnection> own;
  WorkerConnection *connection = nullptr;
  uint32_t numNodes = 0; // of the region it is at
  bool isAsked = false;
  Clock::time_point begin, deadline; // of the job it is at
};

class RegionCompiler {
public:
  RegionCompiler(std::span<const RegionJob> jobs, const TargetInfo &target,
                 const RegionCompilerOptions &options)
      : jobs_(jobs), target_(target), options_(options), outcomes_(jobs.size()) {}

  std::vector<RegionOutcome> run() {
    if (jobs_.empty())
      return {};
    VendorProcess *process = jobs_[0].vendor->process;
    std::unique_ptr<SharedConstants> own;
    if (!process)
      own = std::make_unique<SharedConstants>();
    constants_ = process ? &process->constants() : own.get();
    size_t count = std::min(static_cast<size_t>(std::max(1, options_.jobs)), jobs_.size());
    workers_.resize(count);
    for (size_t i = 0; i < count; ++i)
      if (i == 0 && process)
        workers_[i].connection = &process->connection();
      else
        workers_[i].connection = (workers_[i].own = std::make_unique<WorkerConnection>(
                                      *constants_, process && process->isSilent()))
                                     .get();
    for (size_t job = jobs_.size(); job-- > 0;)
      workers_[job % count].jobs.push_back(static_cast<uint32_t>(job));
    for (Worker &worker : workers_) // side by side; ask() tells of what fails
      if (!worker.connection->isRunning() && !worker.connection->start())
        continue;
    for (Worker &worker : workers_)
      ask(worker);
    while (std::ranges::any_of(workers_, &Worker::isAsked)) {
      if (options_.proceed && !options_.proceed(numDone_))
        return stop();
      serve();
    }
    dropAfterHangs();
    return std::move(outcomes_);
  }

private:
  std::vector<RegionOutcome> stop() {
    for (Worker &worker : workers_) {
      if (worker.isAsked)
        worker.connection->kill();
      for (uint32_t job : worker.jobs)
        outcomes_[job] = refused("the compilation was stopped");
    }
    return std::move(outcomes_);
  }

  // About its next job.
  void ask(Worker &worker) {
    while (!worker.jobs.empty() && !worker.isAsked) {
      const RegionJob &job = jobs_[worker.jobs.back()];
      worker.begin = Clock::now();
      if (isGivenUp(job.vendor)) {
        conclude(worker, notAsked());
        continue;
      }
      if (!worker.connection->isRunning())
        if (Expected<> started = worker.connection->start(); !started) {
          conclude(worker, refused(started.error().message()));
          continue;
        }
      if (!worker.connection->waitReady()) {
        conclude(worker, ended(worker.connection->kill()));
        continue;
      }
      RegionView view = job.view();
      worker.numNodes = view.region().num_nodes;
      std::string region = encodeRegion(view.region(), [&](const void *data, uint64_t bytes) {
        return constants_->place(data, bytes);
      });
      worker.connection->ask(*job.vendor, job.isTuning ? Question::Tune : Question::Compile,
                             target_, region, !options_.showOutput);
      worker.connection->flush();
      worker.isAsked = true;
      worker.deadline = deadlineAfter(options_.timeoutSeconds);
    }
  }

  bool isGivenUp(const Vendor *vendor) { return hangs_[vendor] >= options_.maxHangs; }
  RegionOutcome notAsked() const {
    return failed(RegionOutcome::Kind::Hung,
                  "its compile half hung " + std::to_string(options_.maxHangs) + " times before");
  }

  // What a faster worker did after the last hang that is put up with does not count:
  // the outcome is the same for any number of them.
  void dropAfterHangs() {
    std::map<const Vendor *, int> seen;
    for (size_t i = 0; i < jobs_.size(); ++i) {
      int &hangs = seen[jobs_[i].vendor];
      if (hangs >= options_.maxHangs)
        outcomes_[i] = notAsked();
      hangs += outcomes_[i].kind == RegionOutcome::Kind::Hung;
    }
  }

  // Waits for the next thing to happen and deals with it.
  void serve() {
    std::vector<pollfd> polls;
    std::vector<Worker *> asked;
    Clock::time_point next = Clock::time_point::max();
    for (Worker &worker : workers_)
      if (worker.isAsked) {
        polls.push_back({worker.connection->descriptor(), POLLIN, 0});
        asked.push_back(&worker);
        next = std::min(next, worker.deadline);
      }
    auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
    int64_t most = options_.proceed ? 100 : 60000; // milliseconds
    ::poll(polls.data(), polls.size(), static_cast<int>(std::clamp<int64_t>(wait, 0, most)));
    for (size_t i = 0; i < polls.size(); ++i)
      if (polls[i].revents)
        receive(*asked[i]);
      else if (Clock::now() >= asked[i]->deadline)
        hang(*asked[i]);
    for (Worker *worker : asked)
      ask(*worker);
  }

  void hang(Worker &worker) {
    ++hangs_[jobs_[worker.jobs.back()].vendor];
    worker.connection->kill();
    conclude(worker,
             failed(RegionOutcome::Kind::Hung, "its compile half did not answer within " +
                                                   formatDouble(options_.timeoutSeconds) + " s"));
  }

  void receive(Worker &worker) {
    WorkerConnection &connection = *worker.connection;
    if (!connection.receive())
      return conclude(worker, ended(connection.waitUntil(worker.deadline)));
    bool isBroken = false;
    std::optional<WorkerAnswer> answer = connection.next(isBroken);
    if (isBroken) {
      connection.kill();
      return conclude(worker, crashed("its process sent bytes that are no answer"));
    }
    if (!answer)
      return;
    WeightsPlace place = answer->weights;
    RegionOutcome outcome = outcomeOf(std::move(*answer), options_.maxBlobBytes);
    checkBlame(outcome, worker.numNodes);
    if (outcome.kind == RegionOutcome::Kind::Done && place.bytes &&
        !(outcome.weights = connection.weightsAt(place))) {
      connection.kill();
      outcome = crashed("its process sent weights that are not there");
    }
    conclude(worker, std::move(outcome));
  }

  void conclude(Worker &worker, RegionOutcome outcome) {
    outcome.begin = worker.begin;
    outcome.end = Clock::now();
    outcome.child = static_cast<int>(&worker - workers_.data());
    outcomes_[worker.jobs.back()] = std::move(outcome);
    worker.jobs.pop_back();
    worker.isAsked = false;
    ++numDone_;
  }

  std::span<const RegionJob> jobs_;
  VendorTarget target_;
  const RegionCompilerOptions &options_;
  SharedConstants *constants_ = nullptr;
  std::vector<RegionOutcome> outcomes_;
  std::vector<Worker> workers_;
  size_t numDone_ = 0;
  std::map<const Vendor *, int> hangs_;
};

} // namespace

bool ownsWeights(const Vendor &vendor) {
  return !vendor.isEmulated() && (vendor.compiler()->flags & BYCC_VENDOR_OWN_WEIGHTS);
}

RegionOutcome compileRegion(const Vendor &vendor, const TargetInfo &target, const RegionView &view,
                            uint64_t maxBlobBytes, bool isTuning) {
  BYCC_ASSERT(!vendor.isEmulated(), "only a vendor with a compile half compiles regions");
  WeightsMemory memory = ownsWeights(vendor) ? WeightsMemory::make() : WeightsMemory();
  VendorTarget boundary(target);
  WorkerAnswer answer =
      callVendor(*vendor.compiler(), isTuning ? Question::Tune : Question::Compile, boundary,
                 vendor.settings, view.region(), maxBlobBytes, &memory);
  WeightsPlace place = answer.weights;
  RegionOutcome outcome = outcomeOf(std::move(answer), maxBlobBytes);
  checkBlame(outcome, view.region().num_nodes);
  if (outcome.kind == RegionOutcome::Kind::Done && place.bytes &&
      !(outcome.weights = memory.map(place)))
    return refused("there is no memory for its weights");
  return outcome;
}

std::vector<RegionOutcome> compileRegionsApart(std::span<const RegionJob> jobs,
                                               const TargetInfo &target,
                                               const RegionCompilerOptions &options) {
  std::vector<RegionOutcome> outcomes(jobs.size());
  std::vector<RegionJob> apart;
  std::vector<size_t> places; // of those in `jobs`
  RegionCompilerOptions how = options;
  size_t numDone = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (!jobs[i].vendor->runsHere) {
      apart.push_back(jobs[i]);
      places.push_back(i);
    } else if (!options.proceed || options.proceed(numDone)) {
      Clock::time_point begin = Clock::now();
      outcomes[i] = compileRegion(*jobs[i].vendor, target, jobs[i].view(), options.maxBlobBytes,
                                  jobs[i].isTuning);
      outcomes[i].begin = begin;
      outcomes[i].end = Clock::now();
      ++numDone;
    } else {
      outcomes[i] = refused("the compilation was stopped");
    }
  }
  if (options.proceed)
    how.proceed = [&](size_t done) { return options.proceed(numDone + done); };
  std::vector<RegionOutcome> theirs = RegionCompiler(apart, target, how).run();
  for (size_t i = 0; i < theirs.size(); ++i)
    outcomes[places[i]] = std::move(theirs[i]);
  return outcomes;
}

} // namespace bycc
