#include "cli/gpu_option.h"

#include <fmt/format.h>

#include <cstdlib>

#include "cli/output.h"

namespace ptxlab::cli {
namespace {

base::Finding none(std::string_view who) {
  base::Finding finding;
  finding.code = "GPU0002";
  finding.message = fmt::format("{}: no GPU is used", who);
  finding.hint = "all but execute and time works without one";
  return finding;
}

// What is wanted by name, and who says so; empty: nobody says anything.
struct Wish {
  std::string words, who;
};
Wish wish_of(const std::string& word) {
  if (!word.empty()) return {word, "--gpu " + word};
  const char* set = std::getenv("PTXLAB_GPU");
  return set && *set ? Wish{set, fmt::format("PTXLAB_GPU={}", set)} : Wish{};
}

base::Findings at(const gpu::Place& place, base::Findings findings) {
  for (auto& finding : findings) finding.message = fmt::format("--gpu {}: {}", place.name, finding.message);
  return findings;
}

judge::GpuResult start_when_needed() {
  auto worker = gpu::Worker::start({});
  if (!worker) return worker.findings();
  return std::unique_ptr<gpu::Runner>(std::move(*worker));
}

}  // namespace

const std::string kGpuHelp = std::string("GPUs to use: ") + gpu::kPlaceHelp + "; else the first one of this machine";

base::Result<std::vector<judge::StartGpu>> choose_gpus(const std::string& word) {
  Wish wish = wish_of(word);
  if (wish.words.empty()) return std::vector<judge::StartGpu>{start_when_needed};
  auto places = gpu::places_named(wish.words);
  if (!places) return places.findings();
  if (places->empty()) {
    base::Finding finding = none(wish.who);
    return std::vector<judge::StartGpu>{[finding]() -> judge::GpuResult { return finding; }};
  }
  std::vector<judge::StartGpu> starts;
  for (const auto& place : *places) {
    auto worker = gpu::Worker::start({place.command});
    if (!worker) return at(place, worker.findings());
    // Handed over once; std::function wants what can be copied.
    auto held = std::make_shared<std::unique_ptr<gpu::Worker>>(std::move(*worker));
    starts.emplace_back([held]() -> judge::GpuResult { return std::unique_ptr<gpu::Runner>(std::move(*held)); });
  }
  return starts;
}

base::Result<std::unique_ptr<gpu::Worker>> choose_gpu(const std::string& word) {
  Wish wish = wish_of(word);
  if (wish.words.empty()) return gpu::Worker::start({});
  auto places = gpu::places_named(wish.words);
  if (!places) return places.findings();
  if (places->empty()) return none(wish.who);
  auto worker = gpu::Worker::start({places->front().command});
  if (!worker) return at(places->front(), worker.findings());
  return worker;
}

judge::CountJob counting_on(const std::string& word) {
  Wish wish = wish_of(word);
  auto places = wish.words.empty() ? gpu::usual_places() : gpu::places_named(wish.words);
  if (!places) return {};
  for (const auto& place : *places) {
    if (place.command.front() == "ssh") continue;  // ncu is this machine's
    return [command = place.command](const gpu::Job& job) { return gpu::count(job, {{}, command}); };
  }
  return {};
}

int refuse_gpu(const base::Findings& findings) {
  return refuse(findings, findings.front().code == "GPU0020" ? kExitWrongUse : kExitInfrastructure);
}

}  // namespace ptxlab::cli
