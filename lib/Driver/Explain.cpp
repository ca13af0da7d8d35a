// bycc explain: what stands behind the number of a message, or behind a status.

#include "bycc/Driver/Driver.h"
#include "bycc/Support/Json.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cstdio>

namespace bycc {
namespace {

struct ExplainedMessage {
  MessageId id;
  const char *title, *why, *example, *advice;
};
constexpr ExplainedMessage messages[] = {
#define BYCC_MESSAGE(number, name, title, why, example, advice)                                    \
  {MessageId::name, title, why, example, advice},
#include "bycc/Support/Messages.def"
#undef BYCC_MESSAGE
};

struct ExplainedStatus {
  Status status;
  const char *why;
};
constexpr ExplainedStatus statuses[] = {
    {Status::Input, "A model, or a file given with it, breaks the rules of its format or language: "
                    "wherever it is compiled, it is wrong."},
    {Status::Unsup, "The input is right as far as can be seen, and bycc does not do this (yet)."},
    {Status::Limit, "Something is larger than bycc or this machine allows: memory, processes, "
                    "sizes of tensors, depth of nesting."},
    {Status::Io, "The system refused to read or write a file; its reason stands in the message."},
    {Status::CodeGen, "Host code or a region could not be made. Please report it."},
    {Status::Load, "A compiled model, a plugin or a vendor's library cannot be loaded as it is: "
                   "files of different builds, another processor, another version."},
    {Status::Arg, "A name or value does not fit the model: an input, a dimension, a node, a "
                  "parameter."},
    {Status::Usage, "The command line is wrong: an option, a value, a pass or a vendor."},
    {Status::Policy, "What was asked for with --strict, --min-offload or --expect-regions does not "
                     "hold. Nothing was written."},
    {Status::Differs, "Results differ from those expected, or a NaN is made (--check-nan)."},
    {Status::Cancelled, "The program that uses the library stopped the compilation."},
    {Status::Internal, "A fault of bycc. Please report it with the command line and the input."},
};

// Lines moved in by four columns.
std::string indented(std::string_view text) {
  std::string result;
  for (const std::string &line : split(text, '\n'))
    result += (line.empty() ? "" : "    " + line) + "\n";
  return result;
}

std::string explained(const ExplainedMessage &message) {
  std::string result = text(message.id) + ": " + message.title + "\n\n" + message.why + "\n";
  if (*message.example)
    result += "\nAn example:\n\n" + indented(message.example);
  return result + "\nWhat to do:\n\n" + indented(message.advice);
}

std::string explained(const ExplainedStatus &status) {
  std::string result = "error[" + std::string(name(status.status)) + "], exit code " +
                       std::to_string(exitCode(status.status)) + "\n\n" + status.why + "\n";
  return result + "\nMessages with a number have an explanation of their own: bycc explain lists "
                  "them.\n";
}

std::string listOfMessages() {
  std::string result;
  for (const ExplainedMessage &message : messages)
    result += text(message.id) + "  " + message.title + "\n";
  return result;
}

std::string jsonOf(const std::vector<const ExplainedMessage *> &chosen) {
  JsonWriter json;
  json.beginArray();
  for (const ExplainedMessage *message : chosen) {
    json.beginObject().key("id").value(text(message->id)).key("title").value(message->title);
    json.key("why").value(message->why).key("example").value(message->example);
    json.key("advice").value(message->advice).endObject();
  }
  return json.endArray().take() + "\n";
}

// BY0123 in any case, also as 123.
const ExplainedMessage *findMessage(std::string_view word) {
  std::string upper;
  for (char c : word)
    upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  auto number = parseInt(upper.starts_with("BY") ? upper.substr(2) : upper);
  auto found = std::ranges::find_if(messages, [&](const ExplainedMessage &message) {
    return number && static_cast<int64_t>(message.id) == *number;
  });
  return found == std::end(messages) ? nullptr : found;
}

Expected<std::string> explanation(const Options &options) {
  std::vector<const ExplainedMessage *> chosen;
  std::string result;
  for (const std::string &word : options.explained) {
    auto status = std::ranges::find_if(
        statuses, [&](const ExplainedStatus &each) { return name(each.status) == word; });
    const ExplainedMessage *message = findMessage(word);
    if (!message && status == std::end(statuses))
      return (error(Status::Usage) << "there is no message '" << escaped(word) << "'")
          .note("bycc explain lists them");
    result += (result.empty() ? "" : "\n") + (message ? explained(*message) : explained(*status));
    if (message)
      chosen.push_back(message);
  }
  if (options.explained.empty())
    for (const ExplainedMessage &message : messages)
      chosen.push_back(&message);
  return options.json ? jsonOf(chosen) : options.explained.empty() ? listOfMessages() : result;
}

} // namespace

int explainCommand(const Options &options) {
  Expected<std::string> text = explanation(options);
  if (!text)
    return refuseLine("bycc", text.error(), options.diagnosticsFormat);
  std::fputs(text->c_str(), stdout);
  return 0;
}

} // namespace bycc
