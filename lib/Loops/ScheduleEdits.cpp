// See ScheduleEdits.h.
#include "bycc/Loops/ScheduleEdits.h"

#include "bycc/Support/Text.h"

#include <algorithm>

namespace bycc::loops {
namespace {

std::string_view trimmed(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::vector<std::string> wordsOf(std::string_view text) {
  std::vector<std::string> words = split(text, ' ');
  std::erase_if(words, [](const std::string &word) { return word.empty(); });
  return words;
}

bool isFingerprint(const std::string &word) {
  return word.size() == 16 && word.find_first_not_of("0123456789abcdef") == std::string::npos;
}

} // namespace

std::optional<std::string> KernelEdits::word(const std::string &key) {
  auto it = values_.find(key);
  if (it == values_.end())
    return std::nullopt;
  it->second.isRead = true;
  return it->second.text;
}

std::optional<int64_t> KernelEdits::number(const std::string &key) {
  auto text = word(key);
  if (!text)
    return std::nullopt;
  auto value = parseInt(*text);
  if (!value)
    refuse(key, "not a number");
  return value;
}

void KernelEdits::refuse(const std::string &key, const std::string &reason) {
  if (!refused_.empty() || !values_.count(key))
    return;
  refused_ = key;
  reason_ = reason;
}

std::string KernelEdits::said(const std::string &key) const {
  return key.substr(key.rfind(' ') + 1) + "=" + escaped(values_.at(key).text);
}

Expected<> KernelEdits::checkRefused() const {
  if (refused_.empty())
    return {};
  return error(Status::Input, at(values_.at(refused_).line)) << said(refused_) << ": " << reason_;
}

Expected<> KernelEdits::check() const {
  BYCC_TRY(checkRefused());
  for (const auto &[key, value] : values_)
    if (!value.isRead)
      return (error(Status::Input, at(value.line))
              << said(key) << ": nothing of this name is scheduled here")
          .note("--emit=loops shows what is; rests of a tile follow from its size");
  return {};
}

void KernelEdits::restart() {
  for (auto &[key, value] : values_)
    value.isRead = false;
  refused_.clear();
}

// schedule GROUP [NAME] key=value...
Expected<> KernelEdits::addSchedule(const Line &line, const std::string &nest) {
  std::vector<std::string> words = wordsOf(line.text);
  std::string group = nest;
  bool hasValue = false;
  for (size_t w = 1; w < words.size(); ++w) {
    size_t equals = words[w].find('=');
    if (equals == std::string::npos && !hasValue) {
      group += words[w] + " ";
      continue;
    }
    if (equals == std::string::npos || equals == 0)
      return error(Status::Input, at(line.number))
             << "expected NAME=VALUE, found '" << escaped(words[w]) << "'";
    hasValue = true;
    auto [it, isNew] = values_.try_emplace(group + words[w].substr(0, equals),
                                           Value{words[w].substr(equals + 1), line.number, false});
    if (!isNew)
      return error(Status::Input, at(line.number))
             << "'" << escaped(words[w].substr(0, equals)) << "' is said twice, first in line "
             << it->second.line;
  }
  if (!hasValue)
    return error(Status::Input, at(line.number)) << "expected 'schedule GROUP NAME=VALUE...'";
  return {};
}

namespace {

class ScheduleReader {
public:
  explicit ScheduleReader(const std::string &file) { result.name = file; }

  // `line` has words, of which the first is no comment.
  Expected<> addLine(KernelEdits::Line line, const std::vector<std::string> &words) {
    if (words[0] == "kernel")
      return beginKernel(line, words);
    if (words[0] == "strips") {
      result.strips.push_back(std::move(line));
      return {};
    }
    if (!kernel_)
      return error(Status::Input, at(line))
             << "expected 'kernel NAME FINGERPRINT', found '" << escaped(words[0]) << "'";
    if (words[0] == "schedule")
      return kernel_->addSchedule(line, nest_);
    if (words[0] == "nest" && words.size() > 1)
      nest_ = "nest " + words[1] + " ";
    kernel_->others.push_back(std::move(line));
    return {};
  }

  ScheduleFile result;

private:
  SourceLocation at(const KernelEdits::Line &line) const {
    return {result.name, line.number, 0, {}, {}};
  }

  Expected<> beginKernel(const KernelEdits::Line &line, const std::vector<std::string> &words) {
    if (words.size() != 3 || !isFingerprint(words[2]))
      return error(Status::Input, at(line))
             << "expected 'kernel NAME FINGERPRINT', the latter of 16 hexadecimal digits";
    auto [it, isNew] = result.kernels.try_emplace(words[2], result.name);
    if (!isNew)
      return error(Status::Input, at(line))
             << "kernel " << words[2] << " is said twice, first in line " << it->second.firstLine;
    kernel_ = &it->second;
    kernel_->firstLine = line.number;
    nest_.clear();
    return {};
  }

  KernelEdits *kernel_ = nullptr; // the last one
  std::string nest_;              // prefix of its keys
};

} // namespace

Expected<ScheduleFile> ScheduleFile::read(const std::string &file, std::string_view text) {
  ScheduleReader reader(file);
  uint32_t number = 0;
  for (const std::string &raw : split(text, '\n')) {
    KernelEdits::Line line{++number, std::string(trimmed(raw))};
    std::vector<std::string> words = wordsOf(line.text);
    if (!words.empty() && !words[0].starts_with("#"))
      BYCC_TRY(reader.addLine(std::move(line), words));
  }
  return std::move(reader.result);
}

KernelEdits *ScheduleFile::find(const std::string &fingerprint) {
  auto it = kernels.find(fingerprint);
  return it == kernels.end() ? nullptr : &it->second;
}

} // namespace bycc::loops
