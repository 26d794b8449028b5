#include "cli/page_facts.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "cli/files.h"
#include "estimate/hardware.h"
#include "isa/target.h"
#include "judge/floor.h"

namespace ptxlab::cli {
namespace {

// What `ptxlab doctor --gpu --json` measured: bytes copied, and fp32 multiply-adds.
base::Result<std::vector<report::Ceiling>> read_ceilings(const std::string& file) {
  auto content = base::read_file(file, size_t{16} << 20);
  if (!content) return content.findings();
  std::vector<report::Ceiling> made;
  try {
    const auto json = nlohmann::json::parse(*content);
    if (json.at("schema") != "ptxlab.gpu/1") throw std::invalid_argument("schema");
    for (const auto& gpu : json.at("gpus")) {
      report::Ceiling ceiling;
      ceiling.device = gpu.value("device", "");
      ceiling.measured = true;
      for (const auto& one : gpu.value("ceilings", nlohmann::json::array())) {
        if (one.at("name") == "copy") ceiling.gbs = one.value("rate", 0.0) / 1e9;
        if (one.at("name") == "fp32 FFMA") ceiling.gflops = one.value("rate", 0.0) / 1e9;
      }
      if (ceiling.gbs > 0 && ceiling.gflops > 0) made.push_back(ceiling);
    }
  } catch (const std::exception&) {
    made.clear();
  }
  if (made.empty())
    return base::error_in(file, "CLI0101", "holds no ceilings of a GPU",
                          "'ptxlab doctor --gpu --json' on the machine of the GPU prints them");
  return made;
}

// "m=2048 n=8192"
task::Sizes sizes_of(const std::string& text) {
  task::Sizes sizes;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const size_t at = word.find('=');
    if (at != std::string::npos) sizes[word.substr(0, at)] = std::strtoll(word.c_str() + at + 1, nullptr, 10);
  }
  return sizes;
}

}  // namespace

base::Result<PageFacts> PageFacts::read(const std::string& target, const std::string& ceilings) {
  PageFacts facts;
  if (!ceilings.empty()) {
    auto measured = read_ceilings(ceilings);
    if (!measured) return measured.findings();
    facts.ceilings_ = std::move(*measured);
  }
  if (auto named = isa::target_named(target)) {
    const auto& sheet = estimate::hardware_of(*named);
    report::Ceiling ceiling;
    ceiling.device = sheet.device;
    ceiling.gbs = sheet.dram_gbs;
    ceiling.gflops = sheet.sms * sheet.clock_ghz * 2 * sheet.fp32;  // a multiply-add is two
    facts.ceilings_.push_back(ceiling);
  }
  return facts;
}

const task::Task* PageFacts::known(const report::TaskInfo& info) {
  auto [at, fresh] = tasks_.emplace(info.name, std::nullopt);
  if (fresh) {
    // By name only: a path in somebody's archive is nothing to follow.
    auto found = task::find_task(info.name, root() / "tasks");
    if (found && found->name == info.name && found->version == info.version) at->second = std::move(*found);
  }
  return at->second ? &*at->second : nullptr;
}

report::PageTask PageFacts::task(const report::TaskInfo& info) {
  const task::Task* task = known(info);
  return task ? report::PageTask{task->origin, task->objective} : report::PageTask{};
}

std::optional<report::Work> PageFacts::work(const report::TaskInfo& info, const std::string& size) {
  const task::Task* task = known(info);
  if (!task || task->time.empty()) return std::nullopt;
  const task::Sizes sizes = size.empty() ? task->time.front().sizes : sizes_of(size);
  report::Work work{judge::floor_value(task->floor_bytes, *task, sizes),
                    judge::floor_value(task->floor_flops, *task, sizes)};
  return work.bytes > 0 ? std::optional(work) : std::nullopt;
}

}  // namespace ptxlab::cli
