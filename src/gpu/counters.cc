// Metric names are those of Volta and later (Nsight Compute's "Metrics Structure"). ncu's default page for --metrics is a table with one
// line for each launch and metric; columns are found by their titles, since versions add some.
#include "gpu/counters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <set>

#include "base/file.h"
#include "base/subprocess.h"
#include "gpu/wire.h"

namespace ptxlab::gpu {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStalls[] = {"long_scoreboard",
                                   "short_scoreboard",
                                   "barrier",
                                   "membar",
                                   "wait",
                                   "math_pipe_throttle",
                                   "mio_throttle",
                                   "lg_throttle",
                                   "tex_throttle",
                                   "branch_resolving",
                                   "dispatch_stall",
                                   "drain",
                                   "imc_miss",
                                   "no_instruction",
                                   "not_selected",
                                   "sleeping",
                                   "gmma"};
constexpr const char* kTime = "gpu__time_duration.sum";

base::Finding finding(const char* code, std::string message, std::string hint) {
  base::Finding made;
  made.code = code;
  made.message = std::move(message);
  made.hint = std::move(hint);
  return made;
}

base::Finding not_permitted() {
  return finding("GPU0031", "the driver does not let this user read counters (ERR_NVGPUCTRPERM)",
                 "an administrator allows it: options nvidia NVreg_RestrictProfilingToAdminUsers=0, or CAP_SYS_ADMIN "
                 "for a container");
}

// One line of CSV: fields between commas, quoted where they hold any, "" for a quote.
std::vector<std::string> fields(std::string_view line) {
  std::vector<std::string> all(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      all.back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      all.emplace_back();
    } else if (c != '\r') {
      all.back() += c;
    }
  }
  return all;
}

// "1,048,576", "12.50", "n/a", "(!) nan".
std::optional<double> number(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ','), text.end());
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || !(value == value))
    return std::nullopt;
  return value;
}

// Units that ncu chooses by size where it was not told to keep to base units.
double factor_of(std::string_view unit) {
  constexpr std::pair<std::string_view, double> kFactors[] = {
      {"Kbyte", 1e3}, {"Mbyte", 1e6},   {"Gbyte", 1e9},   {"Tbyte", 1e12}, {"usecond", 1e3},
      {"us", 1e3},    {"msecond", 1e6}, {"ms", 1e6},      {"second", 1e9}, {"s", 1e9},
      {"Kinst", 1e3}, {"Minst", 1e6},   {"Ksector", 1e3}, {"Msector", 1e6}};
  for (const auto& [name, factor] : kFactors) {
    if (unit == name) return factor;
  }
  return 1;
}

struct Columns {
  std::optional<size_t> id, kernel, metric, unit, value;
  bool all() const { return id && kernel && metric && unit && value; }
};

Columns columns_of(const std::vector<std::string>& titles) {
  Columns columns;
  for (size_t i = 0; i < titles.size(); ++i) {
    if (titles[i] == "ID") columns.id = i;
    if (titles[i] == "Kernel Name") columns.kernel = i;
    if (titles[i] == "Metric Name") columns.metric = i;
    if (titles[i] == "Metric Unit") columns.unit = i;
    if (titles[i] == "Metric Value") columns.value = i;
  }
  return columns;
}

// ncu's last complaint.
std::string complaint(std::string_view text) {
  std::string said;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.rfind("==ERROR==", 0) == 0 || line.rfind("==WARNING== No ", 0) == 0) said = line;
  }
  return said;
}

std::vector<std::string> metric_names() {
  std::vector<std::string> names{kTime};
  for (const Metric& metric : counted_metrics()) names.emplace_back(metric.name);
  for (const char* stall : kStalls) names.push_back(fmt::format("{}{}{}", kStallPrefix, stall, kStallSuffix));
  return names;
}

// Takes out what ncu says it does not know: a GPU has not every metric, and one unknown name is enough for ncu to refuse all.
bool drop_unknown(std::vector<std::string>& names, std::string_view said) {
  std::string unknown;
  for (std::string_view rest = said; !rest.empty();) {
    size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.find("Failed to find metric") != std::string_view::npos) unknown.append(line).append("\n");
  }
  return std::erase_if(names, [&](const std::string& name) { return unknown.find(name) != std::string::npos; }) > 0;
}

// Exactly the plan's entries: not the worker's own canary, and each launch once.
std::string kernel_filter(const launch::ResolvedPlan& plan) {
  std::set<std::string> names;
  for (const auto& launch : plan.launches) names.insert(launch.entry);
  std::string pattern;
  for (const auto& name : names) {
    if (!pattern.empty()) pattern += '|';
    for (char c : name) pattern += c == '$' ? std::string("\\$") : std::string(1, c);
  }
  return "regex:^(" + pattern + ")$";
}

}  // namespace

const std::vector<Metric>& counted_metrics() {
  static const std::vector<Metric> metrics = {
      {"smsp__inst_executed.sum", "warp instructions", "", Joined::sum},
      {"dram__bytes_read.sum", "DRAM bytes read", "B", Joined::sum},
      {"dram__bytes_write.sum", "DRAM bytes written", "B", Joined::sum},
      {"lts__t_sectors.sum", "L2 sectors", "", Joined::sum},
      {"lts__t_sector_hit_rate.pct", "L2 hits", "%", Joined::mean},
      {"l1tex__t_sectors.sum", "L1 sectors", "", Joined::sum},
      {"l1tex__t_sector_hit_rate.pct", "L1 hits", "%", Joined::mean},
      {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "shared-memory bank conflicts", "", Joined::sum},
      {"sm__inst_executed_pipe_tensor.sum", "tensor-pipe instructions", "", Joined::sum},
      {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "tensor pipe busy", "%", Joined::mean},
      {"sm__warps_active.avg.pct_of_peak_sustained_active", "warps resident", "%", Joined::mean},
  };
  return metrics;
}

base::Result<std::vector<CountedLaunch>> read_ncu_csv(std::string_view text) {
  if (text.find("ERR_NVGPUCTRPERM") != std::string_view::npos) return not_permitted();
  std::vector<CountedLaunch> launches;
  std::string last_id;
  std::optional<Columns> columns;
  std::string said = complaint(text);
  for (std::string_view rest = text; !rest.empty();) {
    size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.empty() || line.front() != '"') continue;
    auto all = fields(line);
    if (!columns) {
      auto found = columns_of(all);
      if (found.all()) columns = found;
      continue;
    }
    size_t most = std::max({*columns->id, *columns->kernel, *columns->metric, *columns->unit, *columns->value});
    if (all.size() <= most) return finding("GPU0032", "ncu's table ends in the middle of a line", "run it again");
    if (launches.empty() || all[*columns->id] != last_id) {
      launches.push_back({all[*columns->kernel], {}});
      last_id = all[*columns->id];
    }
    if (auto value = number(all[*columns->value]))
      launches.back().values[all[*columns->metric]] = *value * factor_of(all[*columns->unit]);
  }
  if (!columns || launches.empty())
    return finding("GPU0032", said.empty() ? "ncu counted no launch" : "ncu counted no launch: " + said, "");
  return launches;
}

std::map<std::string, double> joined(const std::vector<CountedLaunch>& launches) {
  std::map<std::string, double> all;
  auto add = [&](const std::string& name, Joined how) {
    double sum = 0, weight = 0;
    bool any = false;
    for (const auto& launch : launches) {
      auto value = launch.values.find(name);
      if (value == launch.values.end()) continue;
      any = true;
      auto time = launch.values.find(kTime);
      double share = how == Joined::sum ? 1 : time == launch.values.end() ? 1 : time->second;
      sum += share * value->second;
      weight += share;
    }
    if (!any) return;
    all[name] = how == Joined::sum ? sum : weight > 0 ? sum / weight : 0;
  };
  for (const Metric& metric : counted_metrics()) add(metric.name, metric.joined);
  for (const char* stall : kStalls) add(fmt::format("{}{}{}", kStallPrefix, stall, kStallSuffix), Joined::mean);
  return all;
}

fs::path find_ncu() {
  std::vector<fs::path> folders;
  const char* value = std::getenv("PATH");
  for (std::string_view rest = value ? value : ""; !rest.empty();) {
    size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) folders.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  folders.emplace_back("/usr/local/cuda/bin");
  for (const auto& folder : folders) {
    if (access((folder / "ncu").c_str(), X_OK) == 0) return folder / "ncu";
  }
  return {};
}

namespace {

// ncu once, with these metrics: what it and its log say.
struct Said {
  std::string text;
  base::Outcome outcome;
};
Said ask_ncu(const fs::path& ncu, const fs::path& request, const Job& job, const std::vector<std::string>& metrics,
             const CountOptions& options) {
  base::TemporaryFolder folder("ptxlab-ncu-log");
  fs::path log = folder.path() / "log";
  base::Command command;
  // From a file: a pipe that ends tells the worker that nobody is there any more, and ncu takes its time.
  command.argv = {"sh", "-c", "exec \"$@\" <\"$0\" >/dev/null", request.string(), ncu.string()};
  std::vector<std::string> arguments = {"--csv", "--log-file", log.string(), "--print-units", "base", "--metrics",
                                        fmt::format("{}", fmt::join(metrics, ",")), "--kernel-name-base", "mangled",
                                        "--kernel-name", kernel_filter(job.plan), "--launch-count",
                                        std::to_string(job.plan.launches.size()),
                                        // Clocks stay as they are: others work on this GPU too.
                                        "--clock-control", "none", "--target-processes", "all"};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.argv.insert(command.argv.end(), options.worker.begin(), options.worker.end());
  command.limits.wall = options.wall;
  command.limits.file_size = uint64_t{64} << 30;
  Said said;
  said.outcome = base::run(command);
  auto text = base::read_file(log);
  said.text = (text ? *text : "") + "\n" + said.outcome.errors;
  return said;
}

}  // namespace

base::Result<std::vector<CountedLaunch>> count(const Job& job, const CountOptions& options) {
  fs::path ncu = options.ncu.empty() ? find_ncu() : options.ncu;
  if (ncu.empty())
    return finding("GPU0030", "there is no ncu on this machine", "Nsight Compute has it; it comes with CUDA's toolkit");
  base::TemporaryFolder folder("ptxlab-ncu");
  fs::path request = folder.path() / "job";
  if (auto failed = base::write_file(request, joined(framed(Kind::job, job))); !failed.empty()) return failed;
  std::vector<std::string> metrics = metric_names();
  for (;;) {
    Said said = ask_ncu(ncu, request, job, metrics, options);
    auto launches = read_ncu_csv(said.text);
    if (launches || launches.findings().front().code != "GPU0032") return launches;
    if (drop_unknown(metrics, said.text) && !metrics.empty()) continue;
    if (said.outcome.ok()) return launches;
    std::string why = complaint(said.text);
    if (why.empty()) why = said.outcome.errors.substr(0, 300);
    return finding("GPU0032", fmt::format("ncu {}: {}", base::describe(said.outcome), why),
                   said.outcome.end == base::Outcome::End::timed_out ? "a shorter timed size, or fewer launches" : "");
  }
}

}  // namespace ptxlab::gpu
