// ptxlab calibrate: measures how far apart identical kernels look on this GPU, and writes it down for the time gate.
#include "judge/calibrate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/gpu_option.h"
#include "cli/output.h"
#include "judge/judge.h"

namespace ptxlab::cli {
namespace {

struct Request {
  std::string classes = "5,20,100,1000", pool, label = "hot", out, gpu;
  uint64_t seconds = 0, comparisons = 1500, seed = 1;
  bool selftest = false;
};

std::optional<std::vector<double>> parse_classes(std::string_view text) {
  std::vector<double> sizes;
  while (!text.empty()) {
    double size = 0;
    auto end = std::from_chars(text.data(), text.data() + text.size(), size);
    if (end.ec != std::errc() || !(size >= 1 && size <= 100'000)) return std::nullopt;
    sizes.push_back(size);
    text.remove_prefix(static_cast<size_t>(end.ptr - text.data()));
    if (text.empty()) break;
    if (text.front() != ',') return std::nullopt;
    text.remove_prefix(1);
  }
  if (sizes.empty()) return std::nullopt;
  return sizes;
}

std::optional<int> parse(Request& request, Words words) {
  Options options("calibrate", "Measures on this GPU how far apart identical kernels look, for the time gate.",
                  "ptxlab calibrate\n"
                  "ptxlab calibrate --seconds 240 --classes 5,20 --label cold --out calibration.json\n"
                  "ptxlab calibrate --label later --pool calibration.json --out calibration.json");
  options.value("--classes", "US[,US]", request.classes, "Sizes of kernels in microseconds (5,20,100,1000)");
  options.value("--comparisons", "N", request.comparisons, "Comparisons of identical kernels in each class (1500)");
  options.value("--seconds", "N", request.seconds, "Stop after so long, whatever is done by then (no limit)");
  options.value("--label", "cold|hot|later", request.label,
                "What state the GPU is in: the groups are kept apart, and must agree (hot)");
  options.value("--pool", "FILE", request.pool, "Add to what an earlier run has written");
  options.value("--out", "FILE", request.out, "Where to write (calibration-GPU.json in ptxlab's data folder)");
  options.value("--gpu", "WHERE", request.gpu, kGpuHelp);
  options.value("--seed", "N", request.seed, "Draws orders and buffers");
  options.flag("--selftest", request.selftest, "A few comparisons of each class; nothing is written");
  return options.parse(words);
}

void show(const std::string& line) {
  std::fputs((line + "\n").c_str(), stderr);
  std::fflush(stderr);
}

std::string selftest_text(const judge::Calibration& calibration) {
  std::string text;
  for (const auto& one : calibration.classes)
    for (const auto& run : one.runs)
      text += fmt::format(
          "{:g} us, {}: {:.2f} us, {} pairs an epoch, batches of {}, events cost {:.2f} us, {} of {} epochs dropped\n",
          one.size_us, run.kernel, run.us, run.pairs, run.batch, run.event_overhead, run.dropped, run.epochs);
  return text;
}

}  // namespace

int calibrate(Words words) {
  Request request;
  if (auto code = parse(request, words)) return *code;
  judge::CalibrateOptions options;
  auto classes = parse_classes(request.classes);
  if (!classes)
    return refuse("CLI0070", fmt::format("--classes {}: sizes between 1 and 100000 microseconds", request.classes),
                  "such as --classes 5,20,100,1000");
  if (request.label != "cold" && request.label != "hot" && request.label != "later")
    return refuse("CLI0071", fmt::format("--label {}: cold, hot or later", request.label), "");
  if (request.comparisons == 0) return refuse("CLI0072", "--comparisons 0 asks for nothing", "");
  options.sizes_us = std::move(*classes);
  options.label = request.label;
  options.comparisons = request.selftest ? 8 : request.comparisons;
  options.seconds = static_cast<double>(request.seconds);
  options.seed = request.seed;
  options.progress = show;
  judge::Calibration pooled;
  if (!request.pool.empty()) {
    auto read = judge::read_calibration(request.pool);
    if (!read) return refuse(read.findings());
    pooled = std::move(*read);
  }
  auto parts = judge::installed_parts();
  auto gpus = choose_gpus(request.gpu);
  if (!gpus) return refuse_gpu(gpus.findings());
  if (gpus->size() != 1)
    return refuse("CLI0074", fmt::format("--gpu {}: one GPU is calibrated at a time", request.gpu),
                  "such as --gpu 0; --gpu none leaves nothing to calibrate");
  auto runner = gpus->front()();
  if (!runner) return refuse(runner.findings(), kExitInfrastructure);
  if (!pooled.gpu.empty() && pooled.gpu != (*runner)->hello().device)
    return refuse("CLI0073",
                  fmt::format("{} is of {}, and this is {}", request.pool, pooled.gpu, (*runner)->hello().device),
                  "runs of one GPU are pooled, never of two");
  auto made = judge::calibrate(**runner, parts.assemblers, options);
  if (!made) return refuse(made.findings(), kExitInfrastructure);
  print_findings(made->findings, "");
  int code = base::has_error(made->findings) ? kExitInfrastructure : kExitDone;
  if (request.selftest) {
    print(selftest_text(made->calibration));
    return code;
  }
  judge::pool(pooled, made->calibration);
  print(judge::table(pooled));
  auto file = request.out.empty() ? base::data_home() / judge::calibration_file_name(pooled.gpu)
                                  : std::filesystem::path(request.out);
  std::error_code error;
  if (request.out.empty()) std::filesystem::create_directories(file.parent_path(), error);
  if (auto wrong = base::write_file(file, judge::print(pooled)); !wrong.empty())
    return refuse(wrong, kExitInfrastructure);
  print(fmt::format("wrote {}\n", file.string()));
  return code;
}

}  // namespace ptxlab::cli
