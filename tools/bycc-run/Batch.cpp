#include "Batch.h"

#include "Npz.h"

#include "bycc/Support/Phrases.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <new>
#include <set>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bycc::run {
namespace {

struct Item {
  std::string input, result; // paths
  std::string part;          // where the result is written
};

Expected<std::vector<std::string>> filesOf(const std::string &folder) {
  std::unique_ptr<DIR, int (*)(DIR *)> open(::opendir(folder.c_str()), ::closedir);
  if (!open)
    return error(Status::Io, {folder}) << "cannot be read: " << std::strerror(errno);
  std::vector<std::string> names;
  while (const dirent *entry = ::readdir(open.get()))
    if (std::string name = entry->d_name;
        name[0] != '.' && (name.ends_with(".npy") || name.ends_with(".npz")))
      names.push_back(name);
  std::ranges::sort(names);
  return names;
}

// In the order of names. One output is a .npy, several are a .npz.
Expected<std::vector<Item>> itemsOf(const Options &options, uint32_t numOutputs) {
  const std::string &in = options.batchFolder, &out = options.outputsFolder;
  std::vector<std::string> names = BYCC_TRY(filesOf(in));
  BYCC_TRY(makeFolder(out));
  if (isSameFile(in, out))
    return error(Status::Usage) << "--batch and --outputs are one folder";
  std::vector<Item> items;
  std::set<std::string> results;
  for (const std::string &name : names) {
    std::string result = name.substr(0, name.size() - 4) + (numOutputs == 1 ? ".npy" : ".npz");
    if (!results.insert(result).second)
      return error(Status::Arg, {in + "/" + name})
             << "has a neighbour whose result would be " << escaped(result) << ", too";
    items.push_back({in + "/" + name, out + "/" + result, out + "/." + result + ".part"});
  }
  return items;
}

// A lock on the file that the result is written to.
class Claim {
public:
  explicit Claim(const Item &item) : item_(item) {}
  Claim(const Claim &) = delete;
  ~Claim() {
    if (file_ < 0)
      return;
    if (!isDone_)
      ::unlink(item_.part.c_str());
    ::close(file_); // and the lock is gone
  }

  // False: the result is there, or another process is at it; with `wait`, the former.
  Expected<bool> take(bool wait) {
    while (!pathExists(item_.result)) {
      int file = ::open(item_.part.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
      if (file < 0)
        return failed("cannot be made");
      if (::flock(file, LOCK_EX | (wait ? 0 : LOCK_NB)) != 0) {
        bool isBusy = errno == EWOULDBLOCK;
        auto problem = failed("cannot be locked");
        ::close(file);
        return isBusy ? Expected<bool>(false) : problem;
      }
      // Who had it before may have given it its name, or removed it, in between.
      bool isOurs = isStillThere(file);
      if (isOurs && !pathExists(item_.result)) {
        file_ = file;
        return true;
      }
      if (isOurs) // made just now, beside a result
        ::unlink(item_.part.c_str());
      ::close(file);
    }
    return false;
  }

  // A result is there: what a process left beside it that died in between goes.
  void clean() {
    int file = ::open(item_.part.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0)
      return;
    if (::flock(file, LOCK_EX | LOCK_NB) == 0 && isStillThere(file) && pathExists(item_.result))
      ::unlink(item_.part.c_str());
    ::close(file);
  }

  Expected<> write(const std::vector<OutputView> &outputs) {
    if (::ftruncate(file_, 0) != 0) // what a process that died has left
      return failed("cannot be written").error();
    if (outputs.size() == 1)
      BYCC_TRY(writeNpy(outputs[0]));
    else
      BYCC_TRY(writeNpz(item_.part, outputs));
    if (::rename(item_.part.c_str(), item_.result.c_str()) != 0)
      return failed("cannot get its name").error();
    isDone_ = true;
    return {};
  }

private:
  Expected<bool> failed(const char *what) const {
    return error(Status::Io, {item_.part}) << what << ": " << std::strerror(errno);
  }

  bool isStillThere(int file) const {
    struct stat mine, named;
    return ::fstat(file, &mine) == 0 && ::stat(item_.part.c_str(), &named) == 0 &&
           mine.st_ino == named.st_ino && mine.st_dev == named.st_dev;
  }

  Expected<> writeNpy(const OutputView &output) {
    std::string header = npyHeader(static_cast<DType>(output.info->dtype), output.shape);
    BYCC_TRY(writeAll(file_, header, item_.part));
    std::string_view data(reinterpret_cast<const char *>(output.data), output.bytes);
    return writeAll(file_, data, item_.part);
  }

  const Item &item_;
  int file_ = -1;
  bool isDone_ = false;
};

class Batch {
public:
  Batch(Session &session, std::vector<uint32_t> free) : session_(session), free_(std::move(free)) {
    for (uint32_t index : free_)
      names_.push_back(session.module().inputs[index].file);
  }

  Expected<> run(const std::vector<Item> &items) {
    std::vector<const Item *> elsewhere;
    for (const Item &item : items)
      if (pathExists(item.result)) {
        Claim(item).clean();
        ++before_;
      } else if (!BYCC_TRY(work(item, false)))
        elsewhere.push_back(&item);
    for (const Item *item : elsewhere) // until they are done there, or their process has died
      if (!BYCC_TRY(work(*item, true)))
        ++others_;
    return {};
  }

  std::string summary() const {
    std::string text = counted(done_, "result");
    if (before_)
      text += ", " + std::to_string(before_) + " there before";
    if (others_)
      text += ", " + std::to_string(others_) + " by other processes";
    if (bad_)
      text += ", " + counted(bad_, "file") + " without one";
    return text;
  }
  // Of the first file that could not be used.
  std::optional<Status> problem() const { return problem_; }

private:
  // False: it is not this process that makes the result.
  Expected<bool> work(const Item &item, bool wait) {
    Claim claim(item);
    if (!BYCC_TRY(claim.take(wait)))
      return false;
    auto computed = compute(item);
    if (!computed) {
      ++bad_;
      std::fputs(computed.error().str().c_str(), stderr);
      if (!problem_)
        problem_ = computed.error().status();
      return true;
    }
    BYCC_TRY(claim.write(BYCC_TRY(session_.outputs())));
    ++done_;
    return true;
  }

  Expected<> compute(const Item &item) try {
    Expected<> ran = bindFile(item.input);
    if (ran)
      ran = session_.run();
    if (ran || !ran.error().diagnostics().front().location.file.empty())
      return ran;
    Error failed = ran.error(); // the library knows no files
    failed.diagnostics().front().location.file = item.input;
    return failed;
  } catch (const std::bad_alloc &) {
    return error(Status::Limit, {item.input}) << "no memory";
  }

  Expected<> bindFile(const std::string &file) {
    if (file.ends_with(".npz"))
      return bindMembers(file, BYCC_TRY(readNpz(file, names_)));
    if (free_.size() != 1)
      return error(Status::Arg, {file})
             << "holds one tensor, " << counted(free_.size(), "input") << " of the model "
             << (free_.size() == 1 ? "wants" : "want") << " data; a .npz can hold them";
    return session_.bind(free_[0], BYCC_TRY(readNpy(file)), file);
  }

  Expected<> bindMembers(const std::string &file, std::map<std::string, NpyArray> members) {
    std::vector<std::string> missing;
    for (size_t i = 0; i < free_.size(); ++i)
      if (auto found = members.find(names_[i]); found != members.end())
        BYCC_TRY(session_.bind(free_[i], std::move(found->second), file));
      else
        missing.push_back("'" + escaped(names_[i]) + "'");
    if (!missing.empty())
      return error(Status::Arg, {file}) << "lacks " << join(missing, ", ");
    return {};
  }

  Session &session_;
  std::vector<uint32_t> free_;     // inputs that each file is to hold
  std::vector<std::string> names_; // as members are called
  size_t done_ = 0, before_ = 0, others_ = 0, bad_ = 0;
  std::optional<Status> problem_;
};

} // namespace

Expected<> runBatch(Session &session, const Options &options) {
  std::vector<Item> items = BYCC_TRY(itemsOf(options, session.module().num_outputs));
  Batch batch(session, BYCC_TRY(session.bindNamed(options)));
  BYCC_TRY(batch.run(items));
  if (!options.quiet)
    std::fprintf(stderr, "%s\n", batch.summary().c_str());
  if (batch.problem())
    return error(*batch.problem())
           << "not all files of " << escaped(options.batchFolder) << " could be used";
  return {};
}

} // namespace bycc::run
