#include "judge/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "judge/judge_finding.h"
#include "stats/proportion.h"
#include "stats/summary.h"

namespace ptxlab::judge {
namespace {

using nlohmann::json;

constexpr double kUnit = 1e-6;
constexpr size_t kBlock = 8;         // neighbours that go to the same half
constexpr uint64_t kFewest = 8;      // comparisons below which a class says nothing
constexpr double kFarBelow = 3;      // times below the smallest class: no delta is known
constexpr double kFarAbove = 4;      // times above the largest, unless that is long already
constexpr double kLongEnough = 500;  // microseconds: above, delta only shrinks

int32_t millionths(double value) {
  double scaled = std::nearbyint(value / kUnit);
  return static_cast<int32_t>(std::clamp(std::isfinite(scaled) ? scaled : 0, -1e9, 1e9));
}

// |estimate| at the first look; nothing where that could not be taken.
std::optional<double> distance(const Comparison& comparison) {
  if (comparison.empty() || comparison.front().half < 0) return std::nullopt;
  return std::fabs(comparison.front().center * kUnit);
}

size_t half_of(size_t index) { return index / kBlock % 2; }

// Of few, the largest is no 99th percentile yet: of ten from a normal distribution it is two thirds of it.
double percentile_99(const std::vector<double>& sample) {
  if (sample.empty()) return 0;
  const auto n = static_cast<double>(sample.size());
  return stats::quantile(sample, 0.99) * (n < 100 ? 1 + 5 / n : 1);
}

// delta of each half: over the kernels, the largest 99th percentile.
std::array<double, 2> deltas(const CalibrationClass& one) {
  std::map<std::string, std::array<std::vector<double>, 2>> by_kernel;
  for (const auto& run : one.runs)
    for (size_t i = 0; i < run.even.size(); ++i)
      if (auto d = distance(run.even[i])) by_kernel[run.kernel][half_of(i)].push_back(*d);
  std::array<double, 2> made{};
  for (const auto& [kernel, halves] : by_kernel)
    for (size_t h = 0; h < 2; ++h) made[h] = std::max(made[h], percentile_99(halves[h]));
  return made;
}

bool false_positive(const Comparison& comparison, double delta) {
  auto call = call_of(comparison, delta);
  return call == stats::Call::faster || call == stats::Call::slower;
}

ClassFigures::Group group_of(const CalibrationClass& one, const std::string& label, double delta) {
  ClassFigures::Group group;
  group.label = label;
  std::map<std::string, std::vector<double>> by_kernel;
  std::vector<double> centers;
  for (const auto& run : one.runs) {
    if (run.label != label) continue;
    for (const auto& comparison : run.even) {
      ++group.comparisons;
      group.false_positives += false_positive(comparison, delta);
      auto d = distance(comparison);
      if (!d) continue;
      group.beyond += *d > delta;
      by_kernel[run.kernel].push_back(*d);
      centers.push_back(comparison.front().center * kUnit);
    }
  }
  for (const auto& [kernel, sample] : by_kernel) group.delta = std::max(group.delta, percentile_99(sample));
  if (!centers.empty()) group.median = stats::median(centers);
  group.agrees = stats::wilson_interval(group.beyond, group.comparisons, 0.01).low <= 0.01;
  return group;
}

// --- JSON -----------------------------------------------------------------------------------------------------------------
json to_json(const std::vector<Comparison>& comparisons) {
  json list = json::array();
  for (const auto& one : comparisons) {
    json flat = json::array();
    for (const auto& look : one) flat.push_back(look.center), flat.push_back(look.half);
    list.push_back(std::move(flat));
  }
  return list;
}

json to_json(const CalibrationRun& run) {
  json planted = json::array();
  for (const auto& one : run.planted)
    planted.push_back({{"percent", one.percent}, {"actual", one.actual}, {"comparisons", to_json(one.comparisons)}});
  return {{"label", run.label},     {"kernel", run.kernel},
          {"made", run.made},       {"driver", run.driver},
          {"us", run.us},           {"pairs", run.pairs},
          {"batch", run.batch},     {"event_overhead_us", run.event_overhead},
          {"epochs", run.epochs},   {"dropped", run.dropped},
          {"seconds", run.seconds}, {"even", to_json(run.even)},
          {"planted", planted}};
}

json to_json(const ClassFigures& figures, double size_us) {
  json power = json::object(), power_of = json::object(), groups = json::array();
  for (const auto& [percent, one] : figures.power) {
    power[std::to_string(percent)] = one.share();
    power_of[std::to_string(percent)] = one.of;
  }
  for (const auto& group : figures.groups)
    groups.push_back({{"label", group.label},
                      {"comparisons", group.comparisons},
                      {"delta", group.delta},
                      {"median", group.median},
                      {"beyond", group.beyond},
                      {"false_positives", group.false_positives},
                      {"agrees", group.agrees}});
  return {{"size_us", size_us},
          {"pairs", figures.comparisons},
          {"delta", figures.delta},
          {"false_positives", figures.false_positives},
          {"false_positive_upper", figures.false_positive_upper},
          {"power", power},
          {"power_of", power_of},
          {"seconds_a_comparison", figures.seconds},
          {"dropped", figures.dropped},
          {"groups", groups}};
}

std::vector<Comparison> comparisons_from(const json& list) {
  std::vector<Comparison> made;
  for (const auto& flat : list) {
    Comparison one;
    for (size_t i = 0; i + 1 < flat.size(); i += 2)
      one.push_back({flat.at(i).get<int32_t>(), flat.at(i + 1).get<int32_t>()});
    made.push_back(std::move(one));
  }
  return made;
}

CalibrationRun run_from(const json& value) {
  CalibrationRun run;
  run.label = value.at("label").get<std::string>();
  run.kernel = value.at("kernel").get<std::string>();
  run.made = value.at("made").get<std::string>();
  run.driver = value.at("driver").get<std::string>();
  run.us = value.at("us").get<double>();
  run.pairs = value.at("pairs").get<uint32_t>();
  run.batch = value.at("batch").get<uint32_t>();
  run.event_overhead = value.at("event_overhead_us").get<double>();
  run.epochs = value.at("epochs").get<uint64_t>();
  run.dropped = value.at("dropped").get<uint64_t>();
  run.seconds = value.at("seconds").get<double>();
  run.even = comparisons_from(value.at("even"));
  for (const auto& one : value.at("planted"))
    run.planted.push_back(
        {one.at("percent").get<double>(), one.at("actual").get<double>(), comparisons_from(one.at("comparisons"))});
  return run;
}

base::Finding unreadable(std::string_view file, std::string why) {
  return judge_finding("JDG0040", base::Severity::error, fmt::format("{} is no calibration: {}", file, why),
                       "'ptxlab calibrate' makes one");
}

// "3,024"
std::string grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

}  // namespace

CalibrationLook kept(const stats::Decision& decision) {
  const auto& interval = decision.interval;
  if (!decision.trouble.empty() || !std::isfinite(interval.high)) return {0, -1};
  return {millionths(interval.center), millionths(interval.high - interval.center)};
}

stats::Call call_of(const Comparison& comparison, double delta) {
  for (const auto& look : comparison) {
    if (look.half < 0) continue;
    double center = look.center * kUnit, half = look.half * kUnit;
    auto call = stats::call_of({center - half, center + half, center}, {.delta = delta});
    if (call != stats::Call::unstable) return call;
  }
  return stats::Call::unstable;
}

ClassFigures figures_of(const CalibrationClass& one) {
  ClassFigures figures;
  auto by_half = deltas(one);
  figures.delta = std::max(by_half[0], by_half[1]);
  std::vector<std::string> labels;
  uint64_t epochs = 0, dropped = 0;
  double seconds = 0;
  uint64_t timed = 0;
  for (const auto& run : one.runs) {
    if (std::find(labels.begin(), labels.end(), run.label) == labels.end()) labels.push_back(run.label);
    epochs += run.epochs;
    dropped += run.dropped;
    seconds += run.seconds;
    timed += run.even.size();
    figures.comparisons += run.even.size();
    for (size_t i = 0; i < run.even.size(); ++i)
      figures.false_positives += false_positive(run.even[i], by_half[1 - half_of(i)]);
    for (const auto& planted : run.planted) {
      auto& power = figures.power[static_cast<int>(std::lround(std::fabs(planted.percent)))];
      auto wanted = planted.percent > 0 ? stats::Call::faster : stats::Call::slower;
      timed += planted.comparisons.size();
      for (const auto& comparison : planted.comparisons) {
        ++power.of;
        power.seen += call_of(comparison, figures.delta) == wanted;
      }
    }
  }
  figures.false_positive_upper = stats::wilson_interval(figures.false_positives, figures.comparisons).high;
  for (const auto& label : labels) figures.groups.push_back(group_of(one, label, figures.delta));
  if (timed > 0) figures.seconds = seconds / static_cast<double>(timed);
  if (epochs > 0) figures.dropped = static_cast<double>(dropped) / static_cast<double>(epochs);
  return figures;
}

void pool(Calibration& to, const Calibration& more) {
  if (to.gpu.empty()) to.gpu = more.gpu;
  if (!more.driver.empty()) to.driver = more.driver;
  for (const auto& one : more.classes) {
    auto at = std::find_if(to.classes.begin(), to.classes.end(),
                           [&](const CalibrationClass& known) { return known.size_us == one.size_us; });
    if (at == to.classes.end()) at = to.classes.insert(at, {one.size_us, {}});
    at->runs.insert(at->runs.end(), one.runs.begin(), one.runs.end());
  }
  std::sort(to.classes.begin(), to.classes.end(),
            [](const CalibrationClass& a, const CalibrationClass& b) { return a.size_us < b.size_us; });
}

std::string print(const Calibration& calibration) {
  // One line a run: there are thousands of estimates, and nobody reads them one by one.
  std::string classes;
  for (const auto& one : calibration.classes) {
    std::string text = to_json(figures_of(one), one.size_us).dump();
    text.pop_back();
    text += ",\"runs\":[";
    for (size_t i = 0; i < one.runs.size(); ++i)
      text += fmt::format("{}\n   {}", i ? "," : "", to_json(one.runs[i]).dump());
    classes += fmt::format("{}\n  {}\n  ]}}", classes.empty() ? "" : ",", text);
  }
  return fmt::format(
      "{{\"schema\":\"ptxlab.calibration/1\",\n \"gpu\":{},\n \"driver\":{},\n \"unit\":1e-06,\n \"classes\":[{}\n "
      "]}}\n",
      json(calibration.gpu).dump(), json(calibration.driver).dump(), classes);
}

base::Result<Calibration> read_calibration_text(std::string_view text, std::string_view file) {
  json value = json::parse(text, nullptr, false);
  if (value.is_discarded()) return unreadable(file, "not JSON");
  try {
    if (value.at("schema") != "ptxlab.calibration/1")
      return unreadable(file, fmt::format("its schema is {}", value.at("schema").dump()));
    Calibration made;
    made.gpu = value.at("gpu").get<std::string>();
    made.driver = value.at("driver").get<std::string>();
    for (const auto& one : value.at("classes")) {
      CalibrationClass read;
      read.size_us = one.at("size_us").get<double>();
      if (!(read.size_us > 0)) return unreadable(file, "a class without a size");
      for (const auto& run : one.at("runs")) read.runs.push_back(run_from(run));
      made.classes.push_back(std::move(read));
    }
    return made;
  } catch (const json::exception& error) {
    return unreadable(file, error.what());
  }
}

base::Result<Calibration> read_calibration(const std::filesystem::path& file) {
  auto text = base::read_file(file);
  if (!text) return text.findings();
  return read_calibration_text(*text, file.string());
}

std::string calibration_file_name(std::string_view gpu) {
  if (gpu.substr(0, 7) == "NVIDIA ") gpu.remove_prefix(7);
  std::string word;
  for (char c : gpu) {
    auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte)) {
      word += static_cast<char>(std::tolower(byte));
    } else if (!word.empty() && word.back() != '-') {
      word += '-';
    }
  }
  while (!word.empty() && word.back() == '-') word.pop_back();
  return fmt::format("calibration-{}.json", word.empty() ? "gpu" : word);
}

Calibrations Calibrations::find(const std::string& gpu, const std::vector<std::filesystem::path>& folders,
                                base::Findings& findings) {
  Calibrations made;
  made.gpu_ = gpu;
  if (!folders.empty()) made.own_ = folders.front() / calibration_file_name(gpu);
  for (const auto& folder : folders) {
    auto file = folder / calibration_file_name(gpu);
    std::error_code error;
    if (!std::filesystem::exists(file, error)) continue;
    auto read = read_calibration(file);
    if (read && read->gpu == gpu) {
      made.know(*read, file.filename().string());
      continue;
    }
    base::Finding finding =
        read ? judge_finding("JDG0041", base::Severity::warning,
                             fmt::format("{} is of another GPU: {}", file.string(), read->gpu), "it is not used")
             : read.findings().front();
    finding.severity = base::Severity::warning;
    findings.push_back(std::move(finding));
  }
  return made;
}

void Calibrations::know(const Calibration& calibration, const std::string& file) {
  for (const auto& one : calibration.classes) {
    auto figures = figures_of(one);
    if (figures.comparisons >= kFewest) known_.push_back({one.size_us, figures.delta, figures.comparisons, file});
  }
  std::stable_sort(known_.begin(), known_.end(), [](const Known& a, const Known& b) { return a.size_us < b.size_us; });
}

std::optional<Delta> Calibrations::delta_at(double us) const {
  std::lock_guard lock(*mutex_);
  if (known_.empty() || !(us > 0)) return std::nullopt;
  auto above = std::find_if(known_.begin(), known_.end(), [&](const Known& one) { return one.size_us >= us; });
  auto describe = [](const Known& one) {
    return fmt::format("{}, {:g} us, {} comparisons", one.file, one.size_us, grouped(one.comparisons));
  };
  if (above == known_.begin()) {
    // What makes short kernels look different does not grow with them: below the smallest class it weighs more.
    if (us * kFarBelow < above->size_us) return std::nullopt;
    return Delta{above->delta * above->size_us / us, describe(*above)};
  }
  const Known& below = *(above - 1);
  if (above == known_.end()) {
    if (us > kFarAbove * below.size_us && below.size_us < kLongEnough) return std::nullopt;
    return Delta{below.delta, describe(below)};
  }
  const Known& taken = below.delta > above->delta ? below : *above;
  return Delta{taken.delta, describe(taken)};
}

base::Findings Calibrations::add(const CalibrationClass& one, const std::string& driver) {
  std::lock_guard lock(*mutex_);
  Calibration more{gpu_, driver, {one}}, all;
  know(more, own_.empty() ? "this run" : own_.filename().string());
  if (own_.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(own_.parent_path(), error);
  if (std::filesystem::exists(own_, error))
    if (auto read = read_calibration(own_); read && read->gpu == gpu_) all = std::move(*read);
  pool(all, more);
  auto findings = base::write_file(own_, print(all));
  for (auto& finding : findings) finding.severity = base::Severity::warning;
  return findings;
}

}  // namespace ptxlab::judge
