// Vendors and files are kept by number as they were sent; a vendor that cannot be loaded
// refuses everything.

#include "bycc/Target/VendorWorker.h"

#include "CallVendor.h"
#include "FreeMemory.h"
#include "Plugin.h"
#include "RegionWire.h"
#include "WorkerProtocol.h"
#include "bycc/Support/Sized.h"
#include "bycc/Support/Text.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <deque>
#include <dlfcn.h>
#include <fcntl.h>
#include <fstream>
#include <map>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bycc {
namespace {

// The socket, with the descriptors that come along.
class Input {
public:
  bool read(void *data, size_t size) {
    char *to = static_cast<char *>(data);
    while (size > 0) {
      if (begin_ == end_ && !fill())
        return false;
      size_t part = std::min(size, end_ - begin_);
      std::memcpy(to, buffer_ + begin_, part);
      begin_ += part;
      to += part;
      size -= part;
    }
    return true;
  }
  int takeFile() {
    if (files_.empty())
      return -1;
    int file = files_.front();
    files_.pop_front();
    return file;
  }

private:
  bool fill() {
    iovec part{buffer_, sizeof buffer_};
    alignas(cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t got = 0;
    do
      got = ::recvmsg(workerSocket, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got <= 0)
      return false;
    for (cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c))
      for (size_t at = 0; c->cmsg_type == SCM_RIGHTS && CMSG_LEN(at + sizeof(int)) <= c->cmsg_len;
           at += sizeof(int)) {
        int file = -1;
        std::memcpy(&file, CMSG_DATA(c) + at, sizeof file);
        files_.push_back(file);
      }
    begin_ = 0;
    end_ = static_cast<size_t>(got);
    return true;
  }

  char buffer_[1 << 16];
  size_t begin_ = 0, end_ = 0;
  std::deque<int> files_;
};

// A file of the parent's: constants are mapped where they are first asked for.
class ConstantFile {
public:
  explicit ConstantFile(int file) : file_(file) {}

  const void *at(uint64_t offset, uint64_t bytes) {
    uint64_t page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)), begin = offset / page * page;
    Mapping &mapping = mappings_[offset];
    if (mapping.bytes < bytes) {
      void *data = ::mmap(nullptr, bytes + (offset - begin), PROT_READ, MAP_SHARED, file_,
                          static_cast<off_t>(begin));
      if (data == MAP_FAILED)
        return nullptr;
      mapping = {static_cast<const char *>(data) + (offset - begin), bytes};
    }
    return mapping.data;
  }

private:
  struct Mapping {
    const char *data = nullptr;
    uint64_t bytes = 0;
  };
  int file_;
  std::map<uint64_t, Mapping> mappings_;
};

// Standard output and error go nowhere while it lives.
class Silence {
public:
  Silence() {
    int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    for (int &saved : saved_) {
      int stream = saved;
      saved = ::fcntl(stream, F_DUPFD_CLOEXEC, workerWeights + 1);
      ::dup2(null, stream);
    }
    ::close(null);
  }
  Silence(const Silence &) = delete;
  ~Silence() {
    std::fflush(nullptr);
    for (int i = 0; i < 2; ++i)
      if (saved_[i] >= 0) {
        ::dup2(saved_[i], STDOUT_FILENO + i);
        ::close(saved_[i]);
      }
  }

private:
  int saved_[2] = {STDOUT_FILENO, STDERR_FILENO};
};

class RunningWorker {
public:
  explicit RunningWorker(const std::vector<const bycc_vendor_compiler *> &builtin)
      : builtin_(builtin) {}

  int run() {
    send({}); // it is there
    WorkerHead head;
    while (input_.read(&head, sizeof head)) {
      auto bytes = std::make_unique_for_overwrite<char[]>(head.bytes + 1);
      if (!input_.read(bytes.get(), head.bytes))
        return 0;
      bytes[head.bytes] = 0;
      switch (head.kind) {
      case ToWorker::File:
        files_.emplace_back(input_.takeFile());
        break;
      case ToWorker::Vendor:
        addVendor({bytes.get(), head.bytes});
        break;
      case ToWorker::Target:
        setTarget(bytes.get());
        break;
      case ToWorker::Ask:
        if (!send(answer(head, bytes.get())))
          return 0;
      }
    }
    return 0;
  }

private:
  struct Known {
    bycc_vendor_compiler table{};
    VendorSettings settings;
    std::string problem; // "": none
  };

  // "dnnl", or a path, which has a slash; then name and value of each option that is set.
  void addVendor(std::string_view bytes) {
    Known &known = vendors_.emplace_back();
    std::vector<std::string> texts = split(bytes, '\0');
    const std::string &name = texts[0];
    const bycc_vendor_compiler *table = nullptr;
    for (const bycc_vendor_compiler *each : builtin_)
      if (name == each->name)
        table = each;
    if (!table) {
      Expected<PluginEntries> loaded = loadPluginFile(name);
      if (!loaded || !loaded->vendor) {
        known.problem = loaded ? "there is no vendor in it any more" : loaded.error().message();
        return;
      }
      table = loaded->vendor;
    }
    std::memcpy(&known.table, table, std::min<size_t>(table->size, sizeof known.table));
    Expected<VendorSettings> settings =
        VendorSettings::describedBy(table->name, known.table.num_options, known.table.options);
    Expected<> isSet = settings ? Expected<>() : settings.takeError();
    for (size_t i = 1; isSet && i + 1 < texts.size(); i += 2)
      isSet = settings->set({table->name, texts[i], texts[i + 1]}, "");
    if (isSet)
      known.settings = settings.takeValue();
    else
      known.problem = isSet.error().message();
  }

  // triple, CPU, features, threads, NaN
  void setTarget(const char *texts) {
    for (std::string &text : targetTexts_) {
      text = texts;
      texts += text.size() + 1;
    }
    target_.triple = targetTexts_[0].c_str();
    target_.cpu = targetTexts_[1].c_str();
    target_.features = targetTexts_[2].c_str();
    target_.threads = std::atoi(targetTexts_[3].c_str());
    target_.nan = std::atoi(targetTexts_[4].c_str());
  }

  WorkerAnswer answer(const WorkerHead &head, const char *bytes) {
    const Known &known = vendors_[head.vendor];
    WorkerAnswer answer;
    if (!known.problem.empty()) {
      answer.reason = known.problem;
      return answer;
    }
    bool isConstantLost = false;
    DecodedRegion region(bytes, [&](const ConstantPlace &place, uint64_t size) {
      const void *data = files_[place.file].at(place.offset, size);
      isConstantLost |= !data;
      return data;
    });
    if (isConstantLost) {
      answer.reason = "there is not enough memory for its constants";
      return answer;
    }
    std::optional<Silence> silence;
    if (head.isQuiet)
      silence.emplace();
    return callVendor(known.table, head.question, target_, known.settings, region.region(),
                      maxBlobBytes, &weights_);
  }

  static bool send(const WorkerAnswer &answer) {
    std::string bytes = answer.encode();
    AnswerHead head;
    head.bytes = bytes.size();
    bytes.insert(0, reinterpret_cast<const char *>(&head), sizeof head);
    for (size_t at = 0; at < bytes.size();) {
      ssize_t sent = ::send(workerSocket, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR)
        continue;
      if (sent <= 0)
        return false;
      at += static_cast<size_t>(sent);
    }
    return true;
  }

  static constexpr uint64_t maxBlobBytes = uint64_t{512} << 20;
  const std::vector<const bycc_vendor_compiler *> &builtin_;
  Input input_;
  std::deque<ConstantFile> files_;
  std::deque<Known> vendors_;
  std::string targetTexts_[5];
  bycc_target target_ = sized<bycc_target>();
  WeightsMemory weights_ = WeightsMemory::ofDescriptor(workerWeights);
};

// Vendors may take half of the memory that is free, then their allocations fail; should
// the system run short all the same, it ends this process and not its parent.
void limitMemory() {
#ifndef BYCC_ADDRESS_SANITIZER // whose shadow counts as well
  uint64_t used = procValue("/proc/self/status", "VmData:");
  uint64_t free = freeMemory();
  rlimit limit{};
  if (used && free != UINT64_MAX && ::getrlimit(RLIMIT_DATA, &limit) == 0) {
    limit.rlim_cur = std::min<uint64_t>(limit.rlim_cur, used + free / 2);
    ::setrlimit(RLIMIT_DATA, &limit);
  }
#endif
  std::ofstream("/proc/self/oom_score_adj") << 1000;
}

// Several of these may run side by side.
void useOneThread() {
  if (auto set = reinterpret_cast<void (*)(int)>(::dlsym(RTLD_DEFAULT, "omp_set_num_threads")))
    set(1);
}

} // namespace

int serveVendors(const std::vector<const bycc_vendor_compiler *> &builtin, int parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent)
    return 0;
  rlimit noCore{0, 0};
  ::setrlimit(RLIMIT_CORE, &noCore);
  limitMemory();
  useOneThread();
  for (int descriptor : {workerSocket, workerWeights}) // not for what vendors start
    ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return std::make_unique<RunningWorker>(builtin)->run();
}

} // namespace bycc
