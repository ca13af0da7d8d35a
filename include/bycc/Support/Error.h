// Errors are values. `Expected<T>` holds a T or an Error; BYCC_TRY unwraps it or
// returns the error. Faults of ours are BYCC_ASSERT, on in every build.
//
//   Expected<Shape> f(...) {
//     Graph g = BYCC_TRY(load(path));
//     if (g.empty()) return error(Status::Input, loc) << "empty graph";
//     ...
//   }
#pragma once

#include "bycc/Support/SourceLocation.h"

#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace bycc {

// Statuses of cli.md. All but Usage (2), Policy (3), Differs (4) and Internal
// (70) exit with 1. Cancelled: the caller of the library said stop.
enum class Status : uint8_t {
  Input,
  Unsup,
  Limit,
  Io,
  CodeGen,
  Load,
  Arg,
  Usage,
  Policy,
  Differs,
  Cancelled,
  Internal
};
std::string_view name(Status status); // "INPUT", "UNSUP", ...
int exitCode(Status status);

// A message that `bycc explain BY0123` explains; bycc/Support/Messages.h has the values. Opaque
// here, so that a new message does not compile everything again. 0: one without a number.
enum class MessageId : uint16_t;
std::string text(MessageId id); // "BY0123", or ""

inline constexpr size_t maxDiagnostics = 20; // of one kind that are said together

struct Note {
  SourceLocation location;
  std::string text;
};

// One problem with its place. Cheap to move; several problems found in one go
// are chained through `more`.
struct Diagnostic {
  Status status = Status::Internal;
  SourceLocation location;
  std::string message;
  std::string excerpt; // source line and caret, or empty
  std::vector<Note> notes;
  MessageId id{};

  // "FILE:L:C: error[INPUT]: message [BY0123]\n" + excerpt + notes, at most 4 KiB, control
  // characters of untrusted text escaped.
  std::string str() const;
};

// What went wrong; one word to move, so that functions that can fail stay small.
class [[nodiscard]] Error {
public:
  explicit Error(Diagnostic first);
  explicit Error(std::vector<Diagnostic> all); // not empty
  Error(Error &&other) noexcept : list_(std::exchange(other.list_, nullptr)) {}
  Error(const Error &other);
  Error &operator=(Error other) noexcept {
    std::swap(list_, other.list_);
    return *this;
  }
  ~Error() {
    if (list_) [[unlikely]]
      destroy();
  }
  // Not of an Error that was moved away.
  const std::vector<Diagnostic> &diagnostics() const { return *list_; }
  std::vector<Diagnostic> &diagnostics() { return *list_; }
  Status status() const { return list_->front().status; }
  const std::string &message() const { return list_->front().message; }
  // All diagnostics, one after the other.
  std::string str() const;

private:
  friend class ErrorBuilder;
  void destroy();
  std::vector<Diagnostic> *list_; // never empty; null: moved away
};

// Success or an Error.
template <typename T = void> class [[nodiscard]] Expected;

[[noreturn]] void wrongHalfOfExpected(); // BYCC_ASSERT, out of line

template <typename T> class [[nodiscard]] Expected {
public:
  Expected(T value) : hasValue_(true) { new (&value_) T(std::move(value)); }
  Expected(Error error) : hasValue_(false) { new (&error_) Error(std::move(error)); }
  Expected(Expected &&other) noexcept(std::is_nothrow_move_constructible_v<T>)
      : hasValue_(other.hasValue_) {
    if (hasValue_)
      new (&value_) T(std::move(other.value_));
    else
      new (&error_) Error(std::move(other.error_));
  }
  Expected(const Expected &other) : hasValue_(other.hasValue_) {
    if (hasValue_)
      new (&value_) T(other.value_);
    else
      new (&error_) Error(other.error_);
  }
  Expected &operator=(Expected other) {
    this->~Expected();
    return *new (this) Expected(std::move(other));
  }
  ~Expected() {
    if (hasValue_)
      value_.~T();
    else
      error_.~Error();
  }
  explicit operator bool() const { return hasValue_; }
  T &operator*() & { return checked().value_; }
  const T &operator*() const & { return checked().value_; }
  T &&operator*() && { return std::move(checked().value_); }
  T *operator->() { return &checked().value_; }
  const T *operator->() const { return &checked().value_; }
  const Error &error() const { return wrong().error_; }
  Error takeError() { return std::move(wrong().error_); }
  T takeValue() { return std::move(checked().value_); }

private:
  Expected &checked() { return hasValue_ ? *this : (wrongHalfOfExpected(), *this); }
  const Expected &checked() const { return hasValue_ ? *this : (wrongHalfOfExpected(), *this); }
  Expected &wrong() { return hasValue_ ? (wrongHalfOfExpected(), *this) : *this; }
  const Expected &wrong() const { return hasValue_ ? (wrongHalfOfExpected(), *this) : *this; }
  union {
    T value_;
    Error error_;
  };
  bool hasValue_;
};

template <> class [[nodiscard]] Expected<void> {
public:
  Expected() = default;
  Expected(Error error) : error_(std::move(error)) {}
  explicit operator bool() const { return !error_.has_value(); }
  const Error &error() const { return *error_; }
  Error takeError() { return std::move(*error_); }
  void takeValue() {}

private:
  std::optional<Error> error_;
};

// Builds an Error with <<: texts, characters, whole numbers and real ones (six digits);
// converts to any Expected.
class ErrorBuilder {
public:
  explicit ErrorBuilder(Status status);
  ErrorBuilder(Status status, SourceLocation location);
  template <typename T> ErrorBuilder &&operator<<(const T &value) && {
    if constexpr (std::is_convertible_v<const T &, std::string_view>)
      append(std::string_view(value));
    else if constexpr (std::is_same_v<T, char>)
      append(std::string_view(&value, 1));
    else if constexpr (std::is_floating_point_v<T>)
      append(static_cast<double>(value));
    else if constexpr (std::is_unsigned_v<T>)
      append(static_cast<uint64_t>(value));
    else
      append(static_cast<int64_t>(value));
    return std::move(*this);
  }
  ErrorBuilder &&as(MessageId id) &&;
  // `note: text` under the message: what to try.
  ErrorBuilder &&note(std::string text) &&;
  operator Error() && { return std::move(error_); }
  template <typename T> operator Expected<T>() && { return std::move(error_); }

private:
  void append(std::string_view text);
  void append(double value);
  void append(uint64_t value);
  void append(int64_t value);
  Error error_;
};

inline ErrorBuilder error(Status status) { return ErrorBuilder(status); }
ErrorBuilder error(Status status, SourceLocation location);

// What work ends with whose caller said stop.
Error cancelledError();

// Unwraps an Expected or returns its error from the enclosing function.
#define BYCC_TRY(expression)                                                                       \
  ({                                                                                               \
    auto byccTryResult = (expression);                                                             \
    if (!byccTryResult) [[unlikely]]                                                               \
      return byccTryResult.takeError();                                                            \
    std::move(byccTryResult).takeValue();                                                          \
  })

// Prints the fault and how to report it, then exits with status 70.
[[noreturn]] void internalError(const char *file, int line, const char *condition,
                                const std::string &text);

#define BYCC_ASSERT(condition, text)                                                               \
  do {                                                                                             \
    if (!(condition)) [[unlikely]]                                                                 \
      ::bycc::internalError(__FILE__, __LINE__, #condition, (text));                               \
  } while (false)

} // namespace bycc
