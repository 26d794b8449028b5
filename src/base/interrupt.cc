#include "base/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <string_view>

#include "base/subprocess.h"

namespace ptxlab::base {
namespace {

std::atomic<bool> noted = false;

void end_by(int signal) {
  ::signal(signal, SIG_DFL);
  raise(signal);
}

void note(int signal) {
  if (noted.exchange(true)) {
    end_running_groups();
    end_by(signal);
    return;
  }
  constexpr std::string_view kSaid =
      "\nptxlab: interrupted: what is being judged comes to its end, nothing new begins; Ctrl-C again ends at once\n";
  [[maybe_unused]] ssize_t n = write(STDERR_FILENO, kSaid.data(), kSaid.size());
}

}  // namespace

void note_interrupts() {
  struct sigaction now {};
  if (sigaction(SIGINT, nullptr, &now) != 0 || now.sa_handler == SIG_IGN) return;
  now = {};
  now.sa_handler = note;
  now.sa_flags = SA_RESTART;
  sigaction(SIGINT, &now, nullptr);
}

bool interrupted() { return noted; }

void end_as_interrupted() {
  if (noted) end_by(SIGINT);
}

}  // namespace ptxlab::base
