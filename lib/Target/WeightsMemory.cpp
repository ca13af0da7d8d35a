// A file without a name (memfd). Pages are reserved when memory is taken, so that a
// lack of it is an answer and no signal at the first write; the file cannot be made
// shorter, so what is mapped stays readable.

#include "WeightsMemory.h"

#include "FreeMemory.h"
#include "HighDescriptor.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace bycc {
namespace {

uint64_t pageBytes() { return static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)); }
uint64_t wholePages(uint64_t bytes) {
  return (bytes + pageBytes() - 1) / pageBytes() * pageBytes();
}

class MappedWeights : public Storage {
public:
  MappedWeights(const void *data, uint64_t size) {
    data_ = static_cast<const uint8_t *>(data);
    size_ = size;
  }
  MappedWeights(const MappedWeights &) = delete;
  ~MappedWeights() override { ::munmap(const_cast<uint8_t *>(data_), size_); }
};

} // namespace

WeightsMemory WeightsMemory::make() {
  WeightsMemory memory;
  if (int low = ::memfd_create("bycc weights", MFD_CLOEXEC | MFD_ALLOW_SEALING); low >= 0)
    memory.file_ = highDescriptor(low);
  if (memory.file_ >= 0)
    ::fcntl(memory.file_, F_ADD_SEALS, F_SEAL_SHRINK);
  return memory;
}

WeightsMemory WeightsMemory::ofDescriptor(int file) {
  WeightsMemory memory;
  memory.file_ = file;
  return memory;
}

WeightsMemory::WeightsMemory(WeightsMemory &&other) noexcept { *this = std::move(other); }

WeightsMemory &WeightsMemory::operator=(WeightsMemory &&other) noexcept {
  std::swap(file_, other.file_);
  std::swap(end_, other.end_);
  std::swap(isAsked_, other.isAsked_);
  std::swap(open_, other.open_);
  std::swap(place_, other.place_);
  return *this;
}

WeightsMemory::~WeightsMemory() {
  finish(true);
  if (file_ >= 0)
    ::close(file_);
}

// All pages at once, since a fault for each takes as long as filling it.
bool WeightsMemory::reserve(void *memory, off_t offset, off_t size) {
  if (::madvise(memory, static_cast<size_t>(size), MADV_POPULATE_WRITE) == 0)
    return true;
  return errno == EINVAL && ::posix_fallocate(file_, offset, size) == 0; // before Linux 5.14
}

void WeightsMemory::giveBack(off_t offset, off_t size) {
  ::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, size);
}

void *WeightsMemory::take(uint64_t bytes) {
  if (file_ < 0 || std::exchange(isAsked_, true) || bytes == 0 || bytes > freeMemory() / 2)
    return nullptr;
  auto offset = static_cast<off_t>(end_), size = static_cast<off_t>(wholePages(bytes));
  if (::ftruncate(file_, offset + size) != 0)
    return nullptr;
  void *memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, offset);
  if (memory == MAP_FAILED)
    return nullptr;
  if (!reserve(memory, offset, size)) {
    ::munmap(memory, bytes);
    giveBack(offset, size);
    return nullptr;
  }
  place_ = {end_, bytes};
  end_ += wholePages(bytes);
  return open_ = memory;
}

WeightsPlace WeightsMemory::finish(bool isKept) {
  isAsked_ = false;
  if (!open_)
    return {};
  ::munmap(open_, place_.bytes);
  open_ = nullptr;
  if (isKept)
    return std::exchange(place_, {});
  giveBack(static_cast<off_t>(place_.offset), static_cast<off_t>(wholePages(place_.bytes)));
  place_ = {};
  return {};
}

std::shared_ptr<const Storage> WeightsMemory::map(const WeightsPlace &place) const {
  struct stat info{};
  if (file_ < 0 || ::fstat(file_, &info) != 0)
    return nullptr;
  auto size = static_cast<uint64_t>(info.st_size);
  if (place.bytes == 0 || place.offset % pageBytes() != 0 || place.offset > size ||
      place.bytes > size - place.offset)
    return nullptr;
  void *data =
      ::mmap(nullptr, place.bytes, PROT_READ, MAP_SHARED, file_, static_cast<off_t>(place.offset));
  return data == MAP_FAILED ? nullptr : std::make_shared<MappedWeights>(data, place.bytes);
}

} // namespace bycc
