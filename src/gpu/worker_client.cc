#include "gpu/worker_client.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "gpu/wire.h"

namespace ptxlab::gpu {
namespace {

using Talk = base::Child::Talk;

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

// A child's output as the source of a message. Nothing is waited for beyond the deadline, however slowly it comes.
class ChildSource : public Source {
 public:
  ChildSource(base::Child& child, base::Child::Deadline deadline) : child_(child), deadline_(deadline) {}
  size_t read(char* into, size_t most) override {
    if (talk_ == Talk::done && std::chrono::steady_clock::now() > deadline_) talk_ = Talk::late;
    size_t got = 0;
    if (talk_ == Talk::done) talk_ = child_.read_some(into, most, got, deadline_);
    return talk_ == Talk::done ? got : 0;
  }
  Talk talk() const { return talk_; }

 private:
  base::Child& child_;
  base::Child::Deadline deadline_;
  Talk talk_ = Talk::done;
};

// The next frame of the given kind. `late` where the deadline passed, `gone` where the stream ended or is none of ours.
template <class Answer>
Talk read_frame(base::Child& child, Kind kind, std::optional<Answer>& answer, base::Child::Deadline deadline) {
  std::string header;
  if (auto talk = child.read(kFrameHeader, header, deadline); talk != Talk::done) return talk;
  auto decoded = decode_header(header);
  if (!decoded || decoded->kind != kind) return Talk::gone;
  ChildSource source(child, deadline);
  Reader in(source, decoded->bytes);
  answer.emplace();
  if (read(in, *answer)) return Talk::done;
  answer.reset();
  return source.talk() == Talk::late ? Talk::late : Talk::gone;
}

Talk write_pieces(base::Child& child, const std::vector<Piece>& pieces, base::Child::Deadline deadline) {
  for (const auto& piece : pieces) {
    for (std::string_view bytes : {std::string_view(piece.own), piece.named}) {
      if (auto talk = child.write(bytes, deadline); talk != Talk::done) return talk;
    }
  }
  return Talk::done;
}

// Of a worker that nobody said a place for.
base::Result<std::vector<std::string>> usual_command() {
  auto places = usual_places();
  if (!places) return places.findings();
  if (places->empty())
    return base::error("GPU0002", "PTXLAB_GPU=none: no GPU is used", "all but execute and time works without one");
  return places->front().command;
}

}  // namespace

// build/release/src/cli/ptxlab has its worker in build/release/src/gpu; a bundle has both in one folder.
std::string worker_program() {
  std::error_code error;
  auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {"ptxlab-gpu", "../gpu/ptxlab-gpu", "../../src/gpu/ptxlab-gpu"}) {
    if (std::filesystem::exists(folder / place, error)) return (folder / place).string();
  }
  return "ptxlab-gpu";
}

base::Result<std::vector<Place>> usual_places() {
  const char* wanted = std::getenv("PTXLAB_GPU");
  if (!wanted || !*wanted) return std::vector<Place>{{"the first GPU", {worker_program()}}};
  return places_named(wanted);
}

base::Result<std::vector<Place>> places_named(std::string_view words) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return read_places(words, worker_program(), visible ? visible : "");
}

base::Result<std::unique_ptr<Worker>> Worker::start(const WorkerOptions& options) {
  std::unique_ptr<Worker> worker(new Worker(options));
  if (worker->options_.command.empty()) {
    auto command = usual_command();
    if (!command) return command.findings();
    worker->options_.command = std::move(*command);
  }
  if (auto failed = worker->greet(); !failed.empty()) return failed;
  return worker;
}

base::Findings Worker::greet() {
  auto started = base::Child::start(options_.command);
  if (!started) {
    return {base::error("GPU0001", "the GPU worker does not start: " + started.findings()[0].message,
                        "it is built beside ptxlab as ptxlab-gpu; behind ssh it is looked for on that side")};
  }
  child_ = std::move(*started);
  std::optional<Hello> hello;
  Talk talk = read_frame(*child_, Kind::hello, hello, std::chrono::steady_clock::now() + options_.start);
  if (!hello || hello->protocol != kProtocol) {
    std::string ended = child_->stop(), errors = trimmed(child_->errors());
    child_.reset();
    if (hello) {
      return {base::error("GPU0003",
                          fmt::format("the worker speaks protocol {}, this ptxlab {}", hello->protocol, kProtocol),
                          "use the worker that came with this ptxlab")};
    }
    return {base::error("GPU0003",
                        fmt::format("the worker did not greet ({}){}", talk == Talk::late ? "late" : ended,
                                    errors.empty() ? "" : ": " + errors),
                        options_.command.front() == "ssh"
                            ? "ssh must get there without a password, and find ptxlab-gpu: --gpu "
                              "ssh:host:/path/to/ptxlab-gpu"
                            : "")};
  }
  if (!hello->trouble.empty()) {
    child_.reset();
    return {
        base::error("GPU0002", "no GPU to work with: " + hello->trouble, "all but execute and time works without one")};
  }
  hello_ = std::move(*hello);
  return {};
}

template <class Answer>
base::Result<Answer> Worker::ask_once(const std::vector<Piece>& message, Kind answer_kind,
                                      std::chrono::milliseconds limit) {
  if (!child_) {
    if (auto failed = greet(); !failed.empty()) return failed;
  }
  auto deadline = std::chrono::steady_clock::now() + limit;
  std::optional<Answer> answer;
  Talk talk = write_pieces(*child_, message, deadline);
  if (talk == Talk::done) talk = read_frame(*child_, answer_kind, answer, deadline);
  if (answer && answer->end != Done::End::faulted && answer->end != Done::End::lost) return std::move(*answer);
  std::string ended = child_->stop(), errors = trimmed(child_->errors());
  child_.reset();  // the next job gets a new one
  contest_ = false;
  if (answer) return std::move(*answer);
  if (talk == Talk::late)
    return base::error("GPU0004", fmt::format("still running after {} ms: stopped", limit.count()),
                       "an endless loop, a dead-lock, or a limit that is too short");
  return base::error(
      "GPU0005",
      fmt::format("the GPU worker ended without an answer ({}){}", ended, errors.empty() ? "" : ": " + errors), "");
}

template <class Answer, class Request>
base::Result<Answer> Worker::ask(Kind kind, const Request& request, Kind answer_kind, std::chrono::milliseconds limit) {
  const std::vector<Piece> message = framed(kind, request);
  auto answer = ask_once<Answer>(message, answer_kind, limit);
  if (answer && answer->end == Done::End::lost) answer = ask_once<Answer>(message, answer_kind, limit);
  if (!answer || answer->end != Done::End::lost) return answer;
  return base::error("GPU0007", "the GPU fails its canary in a fresh worker too: " + answer->message,
                     "the machine needs attention: look at nvidia-smi and dmesg");
}

base::Result<Done> Worker::run(const Job& job, std::chrono::milliseconds limit) {
  contest_ = false;
  return ask<Done>(Kind::job, job, Kind::done, limit);
}

base::Result<Opened> Worker::open(const Contest& contest, std::chrono::milliseconds limit) {
  contest_ = false;
  auto opened = ask<Opened>(Kind::contest, contest, Kind::opened, limit);
  contest_ = opened && opened->end == Done::End::executed;
  return opened;
}

base::Result<Measured> Worker::measure(const MeasureRequest& request, std::chrono::milliseconds limit) {
  if (!contest_)
    return base::error("GPU0006", "no contest is open", "the worker was replaced since it was: open it again");
  return ask<Measured>(Kind::measure, request, Kind::measured, limit);
}

}  // namespace ptxlab::gpu
