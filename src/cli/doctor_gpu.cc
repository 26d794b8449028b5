#include "cli/doctor_gpu.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "cli/gpu_option.h"
#include "cli/output.h"
#include "gpu/probe.h"

namespace ptxlab::cli {
namespace {

// "4.25 TB/s", "61.3 TFLOP/s"
std::string rate_text(const gpu::Ceiling& ceiling) {
  if (ceiling.rate == 0) return "not measured: " + ceiling.trouble;
  double rate = ceiling.rate;
  const char* prefix = "";
  for (const char* next : {"k", "M", "G", "T", "P"}) {
    if (rate < 1000) break;
    rate /= 1000;
    prefix = next;
  }
  return fmt::format("{:.{}f} {}{}", rate, rate < 10 ? 2 : rate < 100 ? 1 : 0, prefix, ceiling.unit);
}

std::string driver_text(const gpu::Hello& hello) {
  std::string text = hello.driver_version.empty() ? "driver" : "driver " + hello.driver_version;
  return text + fmt::format(", supports CUDA {}.{}", hello.driver / 1000, hello.driver % 1000 / 10);
}

std::string sensors_text(const gpu::Sensors& sensors) {
  std::vector<std::string> parts;
  if (sensors.sm_mhz) parts.push_back(fmt::format("SM {} MHz", *sensors.sm_mhz));
  if (sensors.memory_mhz) parts.push_back(fmt::format("memory {} MHz", *sensors.memory_mhz));
  if (sensors.celsius) parts.push_back(fmt::format("{} C", *sensors.celsius));
  if (sensors.watts) parts.push_back(fmt::format("{} W", *sensors.watts));
  if (sensors.ecc_errors) parts.push_back(fmt::format("{} uncorrected ECC errors", *sensors.ecc_errors));
  if (sensors.throttle && (*sensors.throttle & gpu::kThrottling))
    parts.emplace_back("THROTTLED: times mean little now");
  return parts.empty() ? "clocks, temperature and ECC are not readable" : fmt::format("{}", fmt::join(parts, ", "));
}

void tell(const gpu::Hello& hello, const gpu::Probe& probe) {
  std::string text = fmt::format("{} (sm_{}", hello.device, hello.sm);
  if (hello.sms) text += fmt::format(", {} SMs", hello.sms);
  text += fmt::format(", {:.1f} GiB), {}\n", static_cast<double>(hello.memory) / (1 << 30), driver_text(hello));
  for (const auto& warning : hello.warnings) text += fmt::format("  warning: {}\n", warning);
  for (const auto& step : probe.canaries)
    text += fmt::format("  {} {:<24} {}\n", step.ok ? "ok  " : "FAIL", step.name, step.said);
  for (const auto& ceiling : probe.ceilings) text += fmt::format("  {:<29} {}\n", ceiling.name, rate_text(ceiling));
  if (probe.sensors) text += "  now: " + sensors_text(*probe.sensors) + "\n";
  if (!probe.ok())
    text += "this GPU is not to be trusted: no ceilings were measured, and no verdict on it should be believed\n";
  print(text);
}

template <class T>
void set(nlohmann::json& into, const char* key, const std::optional<T>& value) {
  if (value) into[key] = *value;
}

nlohmann::json as_json(const gpu::Hello& hello, const gpu::Probe& probe) {
  nlohmann::json canaries = nlohmann::json::array(), ceilings = nlohmann::json::array(), now;
  for (const auto& step : probe.canaries)
    canaries.push_back({{"name", step.name}, {"ok", step.ok}, {"said", step.said}});
  for (const auto& one : probe.ceilings) {
    nlohmann::json made = {{"name", one.name}, {"unit", one.unit}};
    if (one.rate > 0) {
      made["rate"] = one.rate;
      made["milliseconds"] = one.milliseconds;
    } else {
      made["trouble"] = one.trouble;
    }
    ceilings.push_back(std::move(made));
  }
  if (probe.sensors) {
    set(now, "sm_mhz", probe.sensors->sm_mhz);
    set(now, "memory_mhz", probe.sensors->memory_mhz);
    set(now, "celsius", probe.sensors->celsius);
    set(now, "watts", probe.sensors->watts);
    set(now, "throttle", probe.sensors->throttle);
    set(now, "ecc_errors", probe.sensors->ecc_errors);
  }
  return {{"device", hello.device},
          {"sm", hello.sm},
          {"sms", hello.sms},
          {"memory", hello.memory},
          {"l2", hello.l2_bytes},
          {"driver", hello.driver_version},
          {"cuda", hello.driver},
          {"ok", probe.ok()},
          {"warnings", hello.warnings},
          {"canaries", std::move(canaries)},
          {"ceilings", std::move(ceilings)},
          {"now", std::move(now)}};
}

}  // namespace

int doctor_gpu(const std::string& word, bool json) {
  auto places = word.empty() ? gpu::usual_places() : gpu::places_named(word);
  if (!places) return refuse_gpu(places.findings());
  if (places->empty()) {
    auto none = choose_gpu(word);
    return refuse_gpu(none.findings());
  }
  nlohmann::json all = nlohmann::json::array();
  bool ok = true;
  for (const auto& place : *places) {
    auto worker = gpu::Worker::start({place.command});
    if (!worker) {
      ok = false;
      if (!json) refuse_gpu(worker.findings());
      all.push_back({{"place", place.name}, {"ok", false}, {"trouble", worker.findings().front().message}});
      continue;
    }
    gpu::Hello hello = (*worker)->hello();
    gpu::Probe probe = gpu::probe(**worker, {});
    ok = ok && probe.ok();
    auto made = as_json(hello, probe);
    made["place"] = place.name;
    all.push_back(std::move(made));
    if (!json) tell(hello, probe);
  }
  if (json) print_json({{"schema", "ptxlab.gpu/1"}, {"gpus", std::move(all)}});
  return ok ? kExitDone : kExitInfrastructure;
}

}  // namespace ptxlab::cli
