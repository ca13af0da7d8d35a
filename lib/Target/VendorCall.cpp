// The handler may only use what is safe in a signal: a text made before the call.

#include "bycc/Target/VendorCall.h"

#include "bycc/Support/Error.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <sys/time.h>
#include <unistd.h>

namespace bycc {
namespace {

double limitSeconds = 0; // 0: no watch
volatile sig_atomic_t isCalling = 0;
struct sigaction before[NSIG]; // what was there to handle a signal
char whose[256]; // "vendor 'v', asked about nn.relu, "

void put(const char *text) { (void)!::write(STDERR_FILENO, text, std::strlen(text)); }

void onSignal(int signal, siginfo_t *info, void *) {
  if (!isCalling) { // is for whoever was there before; a fault happens again by itself
    ::sigaction(signal, &before[signal], nullptr);
    if (info->si_code <= 0)
      ::raise(signal);
    return;
  }
  put("error[INTERNAL]: ");
  put(whose);
  if (signal == SIGALRM) {
    put("does not answer\n");
  } else {
    char number[] = {static_cast<char>('0' + signal / 10), static_cast<char>('0' + signal % 10), 0};
    put("crashed: signal ");
    put(number[0] == '0' ? number + 1 : number);
    put("\n");
  }
  put("note: this is a fault of the vendor's code; without it in --annotate bycc goes on\n");
  ::_exit(exitCode(Status::Internal));
}

void setTimer(double seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(seconds);
  timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - static_cast<double>(timer.it_value.tv_sec)) * 1e6);
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

// The time in which a vendor is called.
class Watch {
public:
  Watch(std::string_view vendor, std::string_view doing) {
    if (limitSeconds <= 0)
      return;
    std::string text = "vendor '" + escaped(vendor, 64) + "', " + escaped(doing, 128) + ", ";
    std::strncpy(whose, text.c_str(), sizeof whose - 1);
    isCalling = 1;
    setTimer(limitSeconds);
  }
  Watch(const Watch &) = delete;
  ~Watch() {
    if (limitSeconds <= 0)
      return;
    setTimer(0);
    isCalling = 0;
  }
};

} // namespace

void watchVendorCalls(double timeoutSeconds) {
  static char stack[1 << 16]; // a stack that has overflowed is of no use
  stack_t alternative{};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof stack;
  ::sigaltstack(&alternative, nullptr);
  struct sigaction action {};
  action.sa_sigaction = onSignal;
  action.sa_flags = SA_ONSTACK | SA_SIGINFO;
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGALRM})
    ::sigaction(signal, &action, &before[signal]);
  limitSeconds = timeoutSeconds;
}

int32_t callVendor(std::string_view vendor, std::string_view doing, int32_t failure,
                   std::string &thrown, const std::function<int32_t()> &call) {
  Watch watch(vendor, doing);
  try {
    return call();
  } catch (const std::exception &exception) {
    thrown = "it threw an exception: " + escaped(exception.what(), 512);
  } catch (...) {
    thrown = "it threw an exception";
  }
  return failure;
}

} // namespace bycc
