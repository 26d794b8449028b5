#include "gpu/worker/serve.h"

#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "gpu/contest.h"
#include "gpu/protocol.h"
#include "gpu/worker/canary.h"
#include "gpu/worker/session.h"
#include "gpu/worker/stopwatch.h"

namespace ptxlab::gpu {
namespace {

bool write_all(int out, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t sent = write(out, bytes.data(), bytes.size());
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

// False: the other side is gone, or speaks something else.
bool read_exactly(int in, size_t bytes, std::string& into) {
  into.resize(bytes);
  for (size_t at = 0; at < bytes;) {
    ssize_t got = read(in, into.data() + at, bytes - at);
    if (got <= 0) return false;
    at += static_cast<size_t>(got);
  }
  return true;
}

// Answers one frame after the other until the other side is gone.
class Worker {
 public:
  Worker(Device& device, int in, int out) : device_(device), in_(in), out_(out) {}

  int serve() {
    std::string bytes;
    while (read_exactly(in_, kFrameHeader, bytes)) {
      auto header = decode_header(bytes);
      if (!header || !read_exactly(in_, header->bytes, bytes)) return none("a frame");
      bool known = false, lost = false;
      switch (header->kind) {
        case Kind::job:
          known = answer(
              decode_job(bytes), Kind::done, [&](Job& job) { return run(job); }, lost);
          break;
        case Kind::contest:
          known = answer(
              decode_contest(bytes), Kind::opened, [&](Contest& contest) { return open(contest); }, lost);
          break;
        case Kind::measure:
          known = answer(
              decode_measure(bytes), Kind::measured, [&](MeasureRequest& request) { return measure(request); }, lost);
          break;
        case Kind::hello:
        case Kind::done:
        case Kind::opened:
        case Kind::measured: break;
      }
      if (!known) return none("a request");
      if (lost) _exit(0);  // the context is gone, and tearing it down may hang
    }
    return 0;
  }

 private:
  static int none(const char* what) {
    std::fprintf(stderr, "ptxlab-gpu: %s that is none\n", what);
    return 2;
  }

  template <class Request, class Serve>
  bool answer(std::optional<Request> request, Kind kind, const Serve& serve, bool& lost) {
    if (!request) return false;
    auto answered = serve(*request);
    lost = !write_all(out_, frame(kind, encode(answered))) || answered.end == Done::End::faulted ||
           answered.end == Done::End::lost;
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
  if (!write_all(out, frame(Kind::hello, encode(hello))) || !device) return device ? 1 : 3;
  return Worker(*device, in, out).serve();
}

}  // namespace ptxlab::gpu
