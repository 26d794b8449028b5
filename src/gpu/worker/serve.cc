#include "gpu/worker/serve.h"

#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "gpu/contest.h"
#include "gpu/protocol.h"
#include "gpu/wire.h"
#include "gpu/worker/canary.h"
#include "gpu/worker/session.h"
#include "gpu/worker/stopwatch.h"

namespace ptxlab::gpu {
namespace {

bool write_all(int out, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t sent = ::write(out, bytes.data(), bytes.size());
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

template <class Answer>
bool send(int out, Kind kind, const Answer& answer) {
  for (const auto& piece : framed(kind, answer)) {
    if (!write_all(out, piece.own) || !write_all(out, piece.named)) return false;
  }
  return true;
}

// The pipe as the source of a message.
class PipeSource : public Source {
 public:
  explicit PipeSource(int in) : in_(in) {}
  size_t read(char* into, size_t most) override {
    ssize_t got = ::read(in_, into, most);
    return got > 0 ? static_cast<size_t>(got) : 0;
  }

 private:
  int in_;
};

// Answers one frame after the other until the other side is gone.
class Worker {
 public:
  Worker(Device& device, int in, int out) : device_(device), in_(in), out_(out) {}

  int serve() {
    PipeSource pipe(in_);
    while (true) {
      std::string bytes(kFrameHeader, '\0');
      for (size_t at = 0; at < bytes.size();) {
        size_t got = pipe.read(bytes.data() + at, bytes.size() - at);
        if (got == 0) return 0;
        at += got;
      }
      auto header = decode_header(bytes);
      if (!header) return none("a frame");
      Reader in(pipe, header->bytes);
      bool known = false, lost = false;
      switch (header->kind) {
        case Kind::job:
          known = answer<Job>(
              in, Kind::done, [&](Job& job) { return run(job); }, lost);
          break;
        case Kind::contest:
          known = answer<Contest>(
              in, Kind::opened, [&](Contest& contest) { return open(contest); }, lost);
          break;
        case Kind::measure:
          known = answer<MeasureRequest>(
              in, Kind::measured, [&](MeasureRequest& request) { return measure(request); }, lost);
          break;
        case Kind::hello:
        case Kind::done:
        case Kind::opened:
        case Kind::measured: break;
      }
      if (!known) return none("a request");
      if (lost) _exit(0);  // the context is gone, and tearing it down may hang
    }
  }

 private:
  static int none(const char* what) {
    std::fprintf(stderr, "ptxlab-gpu: %s that is none\n", what);
    return 2;
  }

  template <class Request, class Serve>
  bool answer(Reader& in, Kind kind, const Serve& serve, bool& lost) {
    Request request;
    if (!read(in, request)) return false;
    auto answered = serve(request);
    lost = !send(out_, kind, answered) || answered.end == Done::End::faulted || answered.end == Done::End::lost;
    return true;
  }

  // Between candidates.
  template <class Answer>
  bool sings(Answer& answer) {
    auto why = run_canary(device_);
    if (!why) return true;
    answer.end = Done::End::lost;
    answer.message = *why;
    return false;
  }

  Done run(Job& job) {
    stopwatch_.reset();
    Done done;
    const bool other = job.code != loaded_;  // another candidate
    if (other && !sings(done)) return done;
    job.keep_module = job.keep_module && !other;
    done = execute(device_, arena_, job);
    loaded_ = done.end == Done::End::refused ? "" : std::move(job.code);
    return done;
  }
  Opened open(Contest& contest) {
    stopwatch_.reset();
    arena_.release();  // a contest may want all there is
    loaded_.clear();
    if (Opened lost; !sings(lost)) return lost;
    stopwatch_.emplace(device_, std::move(contest));
    Opened opened = stopwatch_->open();
    if (opened.end != Done::End::executed && opened.end != Done::End::faulted) stopwatch_.reset();
    return opened;
  }
  Measured measure(const MeasureRequest& request) {
    if (stopwatch_) return stopwatch_->measure(request);
    Measured nothing;
    nothing.message = "no contest is open";
    return nothing;
  }

  Device& device_;
  int in_, out_;
  Arena arena_{device_};
  std::optional<Stopwatch> stopwatch_;
  std::string loaded_;  // the code of the module that the last job left; empty: none
};

}  // namespace

int serve(std::unique_ptr<Device> device, const std::string& why_none, int in, int out) {
  Hello hello;
  if (device) hello = device->hello();
  hello.trouble = why_none;
  if (!send(out, Kind::hello, hello) || !device) return device ? 1 : 3;
  return Worker(*device, in, out).serve();
}

}  // namespace ptxlab::gpu
