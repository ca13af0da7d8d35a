#include "ProgressLine.h"

#include <cstdio>
#include <sys/ioctl.h>
#include <unistd.h>

namespace bycc {
namespace {

constexpr double quietSeconds = 0.5, betweenSeconds = 0.1;
constexpr const char *phaseNames[] = {"start",   "vendors",   "load",  "passes",
                                      "regions", "host code", "finish"};

size_t columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

double since(std::chrono::steady_clock::time_point begin,
             std::chrono::steady_clock::time_point now) {
  return std::chrono::duration<double>(now - begin).count();
}

// Names of nodes and files may hold anything.
std::string printable(std::string text) {
  for (char &c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = '?';
  return text;
}

} // namespace

void ProgressLine::hear(const Progress &progress) {
  Clock::time_point now = Clock::now();
  if (progress.phase != phase_) {
    seconds_[static_cast<size_t>(phase_)] += since(phaseBegin_, now);
    phase_ = progress.phase;
    phaseBegin_ = now;
  }
  if (!isShown_ || since(begin_, now) < quietSeconds ||
      (isThere_ && since(lastShown_, now) < betweenSeconds))
    return;
  lastShown_ = now;
  show(progress, since(begin_, now));
}

void ProgressLine::show(const Progress &progress, double seconds) {
  std::string text = "[" + std::to_string(static_cast<int>(progress.phase) + 1) + "/7] " +
                     phaseNames[static_cast<size_t>(progress.phase)];
  if (!progress.item.empty())
    text += ": " + printable(progress.item);
  if (progress.count > 0)
    text += " " + std::to_string(progress.index + 1) + "/" + std::to_string(progress.count);
  char time[32];
  std::snprintf(time, sizeof time, ", %.1f s", seconds);
  size_t width = columns() - 1, rest = std::char_traits<char>::length(time);
  text.resize(std::min(text.size(), width > rest ? width - rest : 0));
  std::fprintf(stderr, "\r%s%s\x1b[K", text.c_str(), time);
  std::fflush(stderr);
  isThere_ = true;
}

void ProgressLine::clear() {
  if (!isThere_)
    return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  isThere_ = false;
}

std::string ProgressLine::times() {
  std::array<double, 7> seconds = seconds_;
  seconds[static_cast<size_t>(phase_)] += since(phaseBegin_, Clock::now());
  std::string text;
  for (size_t i = 0; i < seconds.size(); ++i)
    if (seconds[i] >= 0.001) {
      char part[64];
      std::snprintf(part, sizeof part, "%s%s %.3f s", text.empty() ? "" : ", ", phaseNames[i],
                    seconds[i]);
      text += part;
    }
  return text;
}

} // namespace bycc
