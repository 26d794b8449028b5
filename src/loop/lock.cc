#include "loop/lock.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/finding_json.h"
#include "base/hash.h"
#include "judge/judge.h"
#include "task/files.h"

namespace ptxlab::loop {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string family_of(const task::Task& task) {
  size_t slash = task.name.find('/');
  return slash == task.name.npos ? "" : task.name.substr(0, slash);
}

// --- which tasks ---------------------------------------------------------------------------------------------------------

class Chooser {
 public:
  Chooser(const Spec& spec, const fs::path& root) : spec_(spec), root_(root) {}

  base::Result<std::vector<task::Task>> choose() {
    for (size_t i = 0; i < spec_.tasks.size(); ++i) {
      std::string_view word = spec_.tasks[i];
      bool without = word.starts_with("!");
      if (without) word.remove_prefix(1);
      if (auto trouble = add(word, without, spec_.task_places[i]); !trouble.empty()) return trouble;
    }
    std::vector<task::Task> tasks;
    for (auto& [name, task] : chosen_) tasks.push_back(std::move(task));
    if (tasks.empty()) return base::error("BENCH0005", "the spec chooses no task", "", spec_.task_places.front());
    return tasks;
  }

 private:
  base::Findings add(std::string_view word, bool without, const base::Place& place) {
    size_t colon = word.find(':');
    bool pattern = word == "all" || word.find_first_of("*?[") != word.npos;
    if (!pattern && colon == word.npos) return one(word, without, place);
    if (auto trouble = read_all(); !trouble.empty()) return trouble;
    std::string_view key = pattern ? "name" : word.substr(0, colon);
    std::string value(pattern ? word == "all" ? "*" : word : word.substr(colon + 1));
    if (key != "name" && key != "family" && key != "level" && key != "split" && key != "tag")
      return {base::error("BENCH0005", fmt::format("tasks are not chosen by `{}`", key),
                          "by name, family:, level:, split: or tag:", place)};
    size_t found = 0;
    for (const auto& task : all_) {
      if (!fits(task, key, value)) continue;
      ++found;
      without ? (void)chosen_.erase(task.name) : (void)chosen_.emplace(task.name, task);
    }
    if (found > 0) return {};
    return {base::error("BENCH0005", fmt::format("`{}` fits no task", word), "`ptxlab tasks list` shows them", place)};
  }

  static bool fits(const task::Task& task, std::string_view key, const std::string& value) {
    if (key == "name") return fnmatch(value.c_str(), task.name.c_str(), 0) == 0;
    if (key == "family") return family_of(task) == value;
    if (key == "level") return fmt::format("{}", task.level) == value;
    if (key == "split") return task.split == value;
    return std::find(task.tags.begin(), task.tags.end(), value) != task.tags.end();
  }

  base::Findings one(std::string_view word, bool without, const base::Place& place) {
    // A file is found from the spec's folder and from nowhere else; a name is a name, whatever lies where one stands.
    fs::path beside = fs::path(spec_.file).parent_path() / word;
    std::error_code ignored;
    bool named = fs::is_regular_file(root_ / word / "task.toml", ignored);
    bool file = !named && (word.ends_with(".toml") || fs::exists(beside, ignored));
    if (named) beside = root_ / word;
    auto task = task::find_task(named || file ? beside.string() : std::string(word), root_);
    if (!task) {
      auto findings = task.findings();
      if (findings.front().code == "TASK0007") findings.front().code = "BENCH0005", findings.front().place = place;
      return findings;
    }
    if (!named && !file)
      return {base::error("BENCH0005", fmt::format("`{}` lies here, and not beside the spec", word),
                          "files and folders are found from the spec's folder", place)};
    if (without) {
      if (chosen_.erase(task->name) == 0)
        return {base::error("BENCH0005", fmt::format("`{}` is not among the tasks chosen before it", word), "", place)};
      return {};
    }
    auto [known, fresh] = chosen_.emplace(task->name, *task);
    if (!fresh && known->second.file != task->file)
      return {base::error("BENCH0005", fmt::format("two tasks are called `{}`", task->name),
                          "figures are told by the task's name", place)};
    return {};
  }

  base::Findings read_all() {
    if (!all_.empty()) return {};
    for (const auto& name : task::list_tasks(root_)) {
      auto task = task::find_task(name, root_);
      if (!task) return task.findings();
      all_.push_back(*std::move(task));
    }
    return {};
  }

  const Spec& spec_;
  const fs::path& root_;
  std::vector<task::Task> all_;
  std::map<std::string, task::Task> chosen_;
};

// --- arms ----------------------------------------------------------------------------------------------------------------

// "files:DIR" and "replay:DIR": the folder is read from the spec's own, and what is in it belongs to the lock. The part before
// the first {...} is what all questions share.
std::optional<fs::path> folder_of(const ArmSpec& arm) {
  for (std::string_view kind : {"files:", "replay:"}) {
    if (!std::string_view(arm.proposer).starts_with(kind)) continue;
    std::string path = arm.proposer.substr(kind.size());
    size_t brace = path.find('{');
    return brace == path.npos ? fs::path(path) : fs::path(path.substr(0, brace)).parent_path();
  }
  return std::nullopt;
}

base::Result<json> arm_json(const ArmSpec& arm, const Spec& spec, const LockParts& parts) {
  if (arm.language == record::Language::cuda && arm.proposer == "rules")
    return base::error("BENCH0006", fmt::format("arm `{}`: rules rewrite PTX and cannot write CUDA C", arm.name), "",
                       arm.place);
  json made = {{"proposer", arm.proposer},        {"language", record::name_of(arm.language)},
               {"job", record::name_of(arm.job)}, {"without", arm.without},
               {"settings", arm.settings},        {"budget", arm.budget}};
  const fs::path here = fs::path(spec.file).parent_path();
  if (auto folder = folder_of(arm)) {
    auto files = hashes_below(here / *folder);
    if (!files) {
      auto findings = files.findings();
      for (auto& finding : findings) {
        finding.message = fmt::format("arm `{}`: {}: {}", arm.name, finding.place.file, finding.message);
        if (finding.code == "FILE0001") finding.code = "BENCH0006";
        finding.place = arm.place;
      }
      return findings;
    }
    made["files"] = *std::move(files);
  }
  if (parts.arm) {
    auto more = parts.arm(arm);
    if (!more) {
      auto findings = more.findings();
      for (auto& finding : findings) {
        finding.message = fmt::format("arm `{}`: {}", arm.name, finding.message);
        if (finding.place.line == 0 && finding.place.file.empty()) finding.place = arm.place;
      }
      return findings;
    }
    made.update(*more);
  }
  return made;
}

json spec_json(const Spec& spec) {
  json limits = json::object();
  const auto put = [&](const char* key, const std::optional<int>& value) {
    if (value) limits[key] = *value;
  };
  put("max_registers", spec.constraints.max_registers);
  put("max_shared_bytes", spec.constraints.max_shared_bytes);
  put("max_block_threads", spec.constraints.max_block_threads);
  put("vector_bytes", spec.constraints.vector_bytes);
  return {{"k", spec.k},
          {"turns", spec.turns},
          {"stop", spec.stop == Stop::right ? "right" : "turns"},
          {"seed", spec.seed},
          {"target", spec.target ? spec.target->name() : ""},
          {"until", record::name_of(spec.until)},
          {"constraints", std::move(limits)},
          {"tasks", spec.tasks}};
}

base::Result<json> task_json(const LockedTask& locked, const LockParts& parts) {
  const auto& task = locked.task;
  auto files = task::file_hashes(task);
  if (!files) return files.findings();
  auto baseline = parts.baseline(task, locked.target);
  if (!baseline) return baseline.findings();
  std::string all;
  for (const auto& [name, hash] : *files) all += name + "\n" + hash + "\n";
  return json{{"version", task.version},
              {"family", family_of(task)},
              {"level", task.level},
              {"split", task.split},
              {"tags", task.tags},
              {"facts", code_facts(**baseline)},
              {"target", locked.target.name()},
              {"files", *files},
              {"baseline", base::sha256((*baseline)->ptx + (*baseline)->plan_text)},
              {"sha256", base::sha256(all)}};
}

void differ(const json& then, const json& now, const std::string& place, std::vector<std::string>& out) {
  const auto shown = [](const json& value) {
    std::string text = value.is_string() ? value.get<std::string>() : base::print_json(value, -1);
    if (text.size() == 64 && text.find_first_not_of("0123456789abcdef") == text.npos) return text.substr(0, 8) + "...";
    return text.size() > 80 ? text.substr(0, 77) + "..." : text.empty() ? std::string("nothing") : text;
  };
  if (then.is_object() && now.is_object()) {
    std::set<std::string> keys;
    for (const auto& [key, value] : then.items()) keys.insert(key);
    for (const auto& [key, value] : now.items()) keys.insert(key);
    for (const auto& key : keys) {
      std::string below = place.empty() ? key : place + "." + key;
      if (!then.contains(key)) {
        out.push_back(below + " is new");
      } else if (!now.contains(key)) {
        out.push_back(below + " is gone");
      } else {
        differ(then[key], now[key], below, out);
      }
    }
  } else if (then != now) {
    out.push_back(fmt::format("{}: {} is now {}", place, shown(then), shown(now)));
  }
}

}  // namespace

base::Result<json> hashes_below(const fs::path& folder) {
  auto files = task::files_below(folder);
  if (!files) return files.findings();
  auto made = task::hashes(*files);
  if (!made) return made.findings();
  return json(*made);
}

std::string Lock::text() const { return base::print_json(json, 1) + "\n"; }

int64_t Lock::questions() const {
  return static_cast<int64_t>(tasks.size()) * static_cast<int64_t>(spec.arms.size()) * spec.k * spec.turns;
}

base::Result<Lock> make_lock(Spec spec, const LockParts& parts) {
  auto tasks = Chooser(spec, parts.tasks).choose();
  if (!tasks) return tasks.findings();
  Lock lock;
  json arms = json::object(), order = json::array(), locked = json::object(), tools = json::object();
  for (const auto& arm : spec.arms) {
    auto made = arm_json(arm, spec, parts);
    if (!made) return made.findings();
    arms[arm.name] = *std::move(made);
    order.push_back(arm.name);
  }
  for (auto& task : *tasks) {
    auto wanted = spec.target;
    if (!wanted && parts.gpu_target) wanted = parts.gpu_target(task);
    auto target = judge::judged_target(task, wanted);
    if (!target) return target.findings();
    LockedTask one{std::move(task), *target};
    auto made = task_json(one, parts);
    if (!made) return made.findings();
    locked[one.task.name] = *std::move(made);
    lock.tasks.push_back(std::move(one));
  }
  for (const auto& [tool, version] : parts.toolchain) tools[tool] = version;
  lock.json = {{"schema", "ptxlab.lock/1"},
               {"name", spec.name},
               {"spec", spec_json(spec)},
               {"spec_text", spec.text},
               {"arms", std::move(arms)},
               {"arm_order", std::move(order)},
               {"tasks", std::move(locked)},
               {"toolchain", std::move(tools)},
               {"device", parts.device},
               {"driver", parts.driver},
               {"program", {{"version", parts.program}, {"build", parts.build}}}};
  lock.spec = std::move(spec);
  if (lock.questions() > kMostQuestions)
    return base::error_in(lock.spec.file, "BENCH0007", fmt::format("{} questions", lock.questions()),
                          fmt::format("a run has at most {}: fewer tasks, arms, samples or turns", kMostQuestions));
  return lock;
}

namespace {

// What of a lock two runs must share to be the same experiment.
json experiment(json lock) {
  // What is said of the spec's text is said by what was read of it, and of its words for tasks by the tasks that they chose. Nor
  // does it matter in which order arms stand.
  lock.erase("spec_text");
  lock.erase("arm_order");
  if (auto spec = lock.find("spec"); spec != lock.end() && spec->is_object()) spec->erase("tasks");
  if (auto arms = lock.find("arms"); arms != lock.end() && arms->is_object()) {
    for (auto& arm : *arms) {
      if (arm.is_object()) arm.erase("budget");
    }
  }
  return lock;
}

}  // namespace

std::vector<std::string> differences(const json& then, const json& now) {
  std::vector<std::string> out;
  differ(experiment(then), experiment(now), "", out);
  return out;
}

std::vector<std::string> differences_but_program(const json& then, const json& now) {
  json before = experiment(then), after = experiment(now);
  before.erase("program");
  after.erase("program");
  std::vector<std::string> out;
  differ(before, after, "", out);
  return out;
}

base::Result<Spec> spec_of_lock(const json& lock) {
  if (!lock.is_object() || !lock.contains("spec_text") || !lock["spec_text"].is_string())
    return base::error("BENCH0010", "this is no lock of a bench run", "");
  return read_spec(lock["spec_text"].get<std::string>(), "spec.toml");
}

}  // namespace ptxlab::loop
