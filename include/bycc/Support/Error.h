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

#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace bycc {

// Statuses of cli.md. All but Usage (2), Policy (3), Differs (4) and Internal
// (70) exit with 1. Cancelled: the caller of the library said stop.
enum class Status : uint8_t { Input, Unsup, Limit, Io, CodeGen, Load, Arg, Usage, Policy, Differs, Cancelled, Internal };
std::string_view name(Status status); // "INPUT", "UNSUP", ...
int exitCode(Status status);

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

  // "FILE:L:C: error[INPUT]: message\n" + excerpt + notes, at most 4 KiB, control
  // characters of untrusted text escaped.
  std::string str() const;
};

class [[nodiscard]] Error {
public:
  explicit Error(Diagnostic first) { list_.push_back(std::move(first)); }
  explicit Error(std::vector<Diagnostic> all) : list_(std::move(all)) {}
  const std::vector<Diagnostic> &diagnostics() const { return list_; }
  std::vector<Diagnostic> &diagnostics() { return list_; }
  Status status() const { return list_.front().status; }
  const std::string &message() const { return list_.front().message; }
  // All diagnostics, one after the other.
  std::string str() const;

private:
  std::vector<Diagnostic> list_; // never empty
};

// Success or an Error.
template <typename T = void> class [[nodiscard]] Expected;

template <typename T> class [[nodiscard]] Expected {
public:
  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Expected(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  explicit operator bool() const { return state_.index() == 0; }
  T &operator*() & { return std::get<0>(state_); }
  const T &operator*() const & { return std::get<0>(state_); }
  T &&operator*() && { return std::get<0>(std::move(state_)); }
  T *operator->() { return &std::get<0>(state_); }
  const T *operator->() const { return &std::get<0>(state_); }
  const Error &error() const { return std::get<1>(state_); }
  Error takeError() { return std::get<1>(std::move(state_)); }
  T takeValue() { return std::get<0>(std::move(state_)); }

private:
  std::variant<T, Error> state_;
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

// Builds an Error with <<; converts to any Expected.
class ErrorBuilder {
public:
  ErrorBuilder(Status status, SourceLocation location) {
    diagnostic_.status = status;
    diagnostic_.location = std::move(location);
  }
  template <typename T> ErrorBuilder &&operator<<(const T &value) && {
    stream_ << value;
    return std::move(*this);
  }
  // `note: text` under the message: what to try.
  ErrorBuilder &&note(std::string text) && {
    diagnostic_.notes.push_back({{}, std::move(text)});
    return std::move(*this);
  }
  operator Error() && {
    diagnostic_.message = std::move(stream_).str();
    return Error(std::move(diagnostic_));
  }
  template <typename T> operator Expected<T>() && {
    diagnostic_.message = std::move(stream_).str();
    return Expected<T>(Error(std::move(diagnostic_)));
  }

private:
  Diagnostic diagnostic_;
  std::ostringstream stream_;
};

inline ErrorBuilder error(Status status, SourceLocation location = {}) {
  return ErrorBuilder(status, std::move(location));
}

// What work ends with whose caller said stop.
inline Error cancelledError() { return error(Status::Cancelled) << "stopped by the caller"; }

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
