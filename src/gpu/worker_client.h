// The parent's side of the worker: starts it, hands it jobs, and survives whatever it does. A worker that crashed, hangs, or
// reported a fault of its device is replaced before the next job.
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/child.h"
#include "base/result.h"
#include "gpu/place.h"
#include "gpu/protocol.h"
#include "gpu/runner.h"

namespace ptxlab::gpu {

struct Piece;  // wire.h

// This machine's worker: ptxlab-gpu beside this executable.
std::string worker_program();

// The places that words name (place.h), seen from this machine; those of PTXLAB_GPU, and where it is not set the first GPU here.
// Error: GPU0020.
base::Result<std::vector<Place>> places_named(std::string_view words);
base::Result<std::vector<Place>> usual_places();

struct WorkerOptions {
  std::vector<std::string> command;  // a Place's; empty: the first of usual_places()
  std::chrono::milliseconds start{60'000};
};

class Worker : public Runner {
 public:
  // Errors: GPU0001 the worker does not start, GPU0002 there is no GPU to work with (PTXLAB_GPU=none: there shall be none), GPU0003 it speaks another protocol or none.
  static base::Result<std::unique_ptr<Worker>> start(const WorkerOptions& options);

  const Hello& hello() const override { return hello_; }

  // Errors: GPU0004, GPU0005 (runner.h), and those of start() where a new process is needed.
  base::Result<Done> run(const Job& job, std::chrono::milliseconds limit) override;
  base::Result<Opened> open(const Contest& contest, std::chrono::milliseconds limit) override;
  base::Result<Measured> measure(const MeasureRequest& request, std::chrono::milliseconds limit) override;

 private:
  explicit Worker(WorkerOptions options) : options_(std::move(options)) {}
  base::Findings greet();  // starts a process and reads its greeting
  // Sends one frame and reads its answer; the worker is gone afterwards where this is an error, or the answer a fault. A
  // worker whose canary fails has been broken by an earlier job: a fresh one is asked. Error: GPU0007, its canary fails too.
  template <class Answer, class Request>
  base::Result<Answer> ask(Kind kind, const Request& request, Kind answer_kind, std::chrono::milliseconds limit);
  template <class Answer>
  base::Result<Answer> ask_once(const std::vector<Piece>& message, Kind answer_kind, std::chrono::milliseconds limit);

  WorkerOptions options_;
  std::unique_ptr<base::Child> child_;  // null: to be started
  Hello hello_;
  bool contest_ = false;  // one is open in this worker
};

}  // namespace ptxlab::gpu
