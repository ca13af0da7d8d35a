// Statuses and the text of diagnostics as cli.md spells them. Text from files is
// made safe here once more, so that a message that was built without care
// cannot drive a terminal.
#include "bycc/Support/Error.h"

#include "bycc/Support/FaultHandler.h"
#include "bycc/Support/Text.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace bycc {

std::string_view name(Status status) {
  switch (status) {
  case Status::Input:
    return "INPUT";
  case Status::Unsup:
    return "UNSUP";
  case Status::Limit:
    return "LIMIT";
  case Status::Io:
    return "IO";
  case Status::CodeGen:
    return "CODEGEN";
  case Status::Load:
    return "LOAD";
  case Status::Arg:
    return "ARG";
  case Status::Usage:
    return "USAGE";
  case Status::Policy:
    return "POLICY";
  case Status::Differs:
    return "DIFFERS";
  case Status::Cancelled:
    return "CANCELLED";
  case Status::Internal:
    return "INTERNAL";
  }
  return "INTERNAL";
}

int exitCode(Status status) {
  switch (status) {
  case Status::Usage:
    return 2;
  case Status::Policy:
    return 3;
  case Status::Differs:
    return 4;
  case Status::Internal:
    return 70;
  default:
    return 1;
  }
}

std::string text(MessageId id) {
  char number[16] = "";
  if (id != MessageId{})
    std::snprintf(number, sizeof number, "BY%04u", static_cast<unsigned>(id));
  return number;
}

// `text` line by line through escaped(): line ends and tabs stay.
static std::string safeText(std::string_view text, size_t maxBytes) {
  std::string out;
  size_t begin = 0;
  while (begin < text.size() && out.size() < maxBytes) {
    size_t end = text.find_first_of("\n\t", begin);
    if (end == std::string_view::npos)
      end = text.size();
    out += escaped(text.substr(begin, end - begin), maxBytes - out.size());
    if (end < text.size())
      out += text[end];
    begin = end + 1;
  }
  return out;
}

std::string Diagnostic::str() const {
  constexpr size_t maxBytes = 4096, maxMessage = 2048;
  std::string out = location.str();
  if (!out.empty())
    out += ": ";
  out += "error[" + std::string(name(status)) + "]: " + safeText(message, maxMessage);
  if (std::string number = text(id); !number.empty())
    out += " [" + number + "]";
  out += '\n';
  auto append = [&](const std::string &text) {
    if (out.size() + text.size() + 1 > maxBytes)
      return;
    out += text;
    if (out.back() != '\n')
      out += '\n';
  };
  if (!excerpt.empty())
    append(safeText(excerpt, 1024));
  for (const Note &note : notes) {
    std::string place = note.location.str();
    append((place.empty() ? "" : place + ": ") + "note: " + safeText(note.text, 1024));
  }
  return out;
}

Error::Error(Diagnostic first) : list_(new std::vector<Diagnostic>) {
  list_->push_back(std::move(first));
}
Error::Error(std::vector<Diagnostic> all) : list_(new std::vector<Diagnostic>(std::move(all))) {}
Error::Error(const Error &other) : list_(new std::vector<Diagnostic>(*other.list_)) {}
void Error::destroy() { delete list_; }

ErrorBuilder::ErrorBuilder(Status status) : ErrorBuilder(status, {}) {}
ErrorBuilder::ErrorBuilder(Status status, SourceLocation location)
    : error_(Diagnostic{status, std::move(location), {}, {}, {}, {}}) {}
ErrorBuilder &&ErrorBuilder::as(MessageId id) && {
  error_.list_->front().id = id;
  return std::move(*this);
}
ErrorBuilder &&ErrorBuilder::note(std::string text) && {
  error_.list_->front().notes.push_back({{}, std::move(text)});
  return std::move(*this);
}
void ErrorBuilder::append(std::string_view text) { error_.list_->front().message += text; }
void ErrorBuilder::append(double value) {
  char text[32];
  append(
      std::string_view(text, static_cast<size_t>(std::snprintf(text, sizeof text, "%g", value))));
}
void ErrorBuilder::append(uint64_t value) { append(std::string_view(std::to_string(value))); }
void ErrorBuilder::append(int64_t value) { append(std::string_view(std::to_string(value))); }

ErrorBuilder error(Status status, SourceLocation location) {
  return ErrorBuilder(status, std::move(location));
}
Error cancelledError() { return error(Status::Cancelled) << "stopped by the caller"; }
void wrongHalfOfExpected() {
  internalError(__FILE__, __LINE__, "hasValue_", "an Expected is asked for what it does not hold");
}

std::string Error::str() const {
  std::string out;
  for (const Diagnostic &diagnostic : *list_)
    out += diagnostic.str();
  return out;
}

static std::atomic<void (*)()> faultHandler{nullptr};
static thread_local bool throwsFaults = false;

void setFaultHandler(void (*handler)()) { faultHandler = handler; }

ThrowFaults::ThrowFaults() : before_(std::exchange(throwsFaults, true)) {}
ThrowFaults::~ThrowFaults() { throwsFaults = before_; }

const char *const faultNote =
    "this is a fault of bycc; please report it with the command line, the input "
    "and the output of --version";

void internalError(const char *file, int line, const char *condition, const std::string &text) {
  if (auto *handler = faultHandler.load())
    handler();
  std::string whole = text + " (" + file + ":" + std::to_string(line) + ": " + condition + ")";
  if (throwsFaults)
    throw Fault{std::move(whole)};
  std::fprintf(stderr, "error[INTERNAL]: %s\nnote: %s\n", whole.c_str(), faultNote);
  std::fflush(stderr);
  std::_Exit(exitCode(Status::Internal));
}

} // namespace bycc
