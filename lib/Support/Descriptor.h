// An open file, closed with its owner.
#pragma once

#include <cerrno>
#include <unistd.h>
#include <utility>

namespace bycc {

class Descriptor {
public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0)
      ::close(fd_);
  }
  int get() const { return fd_; }
  // Sooner than by its owner, who cannot say that it failed: 0 or an error number.
  int close() { return ::close(std::exchange(fd_, -1)) != 0 && errno != EINTR ? errno : 0; }
  explicit operator bool() const { return fd_ >= 0; }

private:
  int fd_;
};

} // namespace bycc
