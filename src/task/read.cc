// task.toml to Task. One pass notes every mistake; what is read is then checked as a whole (sizes against params and
// `where`, tolerances against outputs, files against the folder).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/file.h"
#include "base/nearest.h"
#include "isa/target.h"
#include "task/read_context.h"
#include "task/task.h"

namespace ptxlab::task {
namespace {

namespace fs = std::filesystem;
using launch::Expression;
using launch::TomlReader;

constexpr std::string_view kSchema = "ptxlab.task/1";
constexpr int64_t kMaxSize = int64_t{1} << 40;

class TaskReader {
 public:
  explicit TaskReader(const fs::path& file)
      : context_{TomlReader(file.string(), {"TASK0001", "TASK0002", "TASK0003", "TASK0004", "TASK0005"}), {}},
        toml_(context_.toml),
        task_(context_.task) {
    task_.file = file;
    task_.folder = file.parent_path().empty() ? fs::path(".") : file.parent_path();
    task_.user = file.filename() != "task.toml";
  }

  base::Result<Task> read(std::string_view text) {
    auto root = toml_.parse(text);
    if (!root) return std::move(toml_.findings);
    toml_.keys(*root, "task",
               {"schema", "name", "version", "split", "level", "tags", "objective", "origin", "targets", "allow",
                "params", "where", "arg", "sizes", "tolerance", "mutants", "floor", "baseline", "compile"});
    if (auto schema = toml_.string(*root, "schema", "task", true); schema && *schema != kSchema)
      toml_.wrong(*root->get("schema"), fmt::format("schema `{}` is not known", *schema),
                  fmt::format("this version reads \"{}\"", kSchema));
    header(*root);
    params(*root);
    read_arguments(context_, *root);
    where(*root);
    sizes(*root);
    read_tolerances(context_, *root);
    mutants(*root);
    floor(*root);
    baselines(*root);
    compile(*root);
    files(*root);
    if (!toml_.findings.empty()) return std::move(toml_.findings);
    return std::move(task_);
  }

 private:
  bool one_of(const std::string& word, const std::vector<std::string>& known, const toml::node& node,
              std::string_view what) {
    return context_.one_of(word, known, node, what);
  }
  std::optional<Expression> expression(const toml::node& node, const std::string& what) {
    return context_.expression(node, what);
  }
  bool is_param(std::string_view name) const { return context_.is_param(name); }

  void header(const toml::table& root) {
    const std::string stem = task_.file.filename().string();
    task_.name = toml_.string(root, "name", "task", !task_.user).value_or(stem.substr(0, stem.find('.')));
    task_.version = static_cast<int>(toml_.integer(root, "version", "task", false).value_or(1));
    task_.level = static_cast<int>(toml_.integer(root, "level", "task", false).value_or(0));
    task_.split = toml_.string(root, "split", "task", false).value_or("train");
    task_.objective = toml_.string(root, "objective", "task", false).value_or("throughput");
    task_.origin = toml_.string(root, "origin", "task", false).value_or("");
    task_.tags = toml_.strings(root, "tags", "task");
    task_.targets = toml_.strings(root, "targets", "task");
    task_.allow = toml_.strings(root, "allow", "task");
    if (root.get("split")) one_of(task_.split, {"train", "held_out"}, *root.get("split"), "split");
    if (root.get("objective")) one_of(task_.objective, {"throughput", "latency"}, *root.get("objective"), "objective");
    for (const std::string& word : task_.allow)
      one_of(word, {"approx", "clock", "griddepcontrol", "state"}, *root.get("allow"), "allow");
    for (const std::string& word : task_.targets) {
      if (isa::target_named(word)) continue;
      toml_.wrong(*root.get("targets"), fmt::format("targets: `{}` is no target", word), "such as sm_80, sm_90a");
    }
    if (task_.targets.empty()) task_.targets = {"sm_80"};
  }

  void params(const toml::table& root) {
    for (const std::string& name : toml_.strings(root, "params", "task")) {
      if (!toml_.identifier(name, *root.get("params"), "params")) continue;
      if (is_param(name)) {
        toml_.wrong(*root.get("params"), fmt::format("params: `{}` twice", name));
        continue;
      }
      task_.params.push_back(name);
    }
    if (!root.get("params")) toml_.missing(root, "params", "task");
  }

  void where(const toml::table& root) {
    const toml::array* list = toml_.array(root, "where", "task", false);
    if (!list) return;
    for (const toml::node& node : *list)
      if (auto value = expression(node, "where")) task_.where.push_back(std::move(*value));
  }

  std::optional<Sizes> size(const toml::node& node, const std::string& what, bool weighted) {
    const toml::table* table = node.as_table();
    if (!table) return toml_.wrong(node, what + ": a size is not a table", "write { m = 1, n = 1 }"), std::nullopt;
    std::vector<std::string> known = task_.params;
    if (weighted) known.emplace_back("weight");
    toml_.keys(*table, what, known);
    Sizes sizes;
    for (const std::string& name : task_.params) {
      auto value = toml_.integer(*table, name, what, true);
      if (!value) return std::nullopt;
      if (*value < 0 || *value > kMaxSize)
        return toml_.wrong(*table->get(name), fmt::format("{}: {} = {}", what, name, *value),
                           "a size is between 0 and 2^40"),
               std::nullopt;
      sizes[name] = *value;
    }
    for (const Expression& condition : task_.where) {
      auto holds = condition.evaluate([&](std::string_view name) -> std::optional<int64_t> {
        const auto it = sizes.find(std::string(name));
        return it == sizes.end() ? std::nullopt : std::optional<int64_t>(it->second);
      });
      if (!holds) {
        for (const base::Finding& finding : holds.findings()) toml_.findings.push_back(finding);
        return std::nullopt;
      }
      if (*holds == 0) toml_.wrong(node, fmt::format("{}: the size breaks `where`: {}", what, condition.text()));
    }
    return sizes;
  }

  void sizes(const toml::table& root) {
    const toml::table* table = toml_.subtable(root, "sizes", "task", true);
    if (!table) return;
    toml_.keys(*table, "sizes", {"emulate", "time", "random"});
    if (const toml::array* list = toml_.array(*table, "emulate", "sizes", true)) {
      for (const toml::node& node : *list)
        if (auto value = size(node, "sizes, emulate", false)) task_.emulate.push_back(std::move(*value));
      if (list->empty()) toml_.wrong(*list, "sizes: `emulate` is empty", "without a size nothing is checked");
    }
    if (const toml::array* list = toml_.array(*table, "time", "sizes", false)) {
      for (const toml::node& node : *list) {
        auto value = size(node, "sizes, time", true);
        if (!value) continue;
        const double weight = toml_.number(*node.as_table(), "weight", "sizes, time", false).value_or(1);
        if (!(weight > 0)) toml_.wrong(node, "sizes, time: `weight` must be positive");
        task_.time.push_back({std::move(*value), weight});
      }
    }
    if (const toml::table* random = toml_.subtable(*table, "random", "sizes", false)) random_sizes(*random);
  }

  void random_sizes(const toml::table& table) {
    std::vector<std::string> known = task_.params;
    known.emplace_back("count");
    toml_.keys(table, "sizes, random", known);
    const int64_t count = toml_.integer(table, "count", "sizes, random", true).value_or(0);
    if (count < 0 || count > 1000)
      toml_.wrong(*table.get("count"), fmt::format("sizes, random: count = {}", count), "between 0 and 1000");
    task_.random_count = static_cast<int>(count);
    for (const std::string& name : task_.params) {
      const toml::array* range = toml_.array(table, name, "sizes, random", true);
      if (!range) continue;
      if (range->size() != 2) {
        toml_.wrong(*range, fmt::format("sizes, random: `{}` is not a lowest and a highest value", name),
                    "write n = [1, 5000]");
        continue;
      }
      auto low = toml_.expression(*range->get(0), "sizes, random"),
           high = toml_.expression(*range->get(1), "sizes, random");
      if (low && high) task_.random_ranges.emplace(name, std::pair(std::move(*low), std::move(*high)));
    }
  }

  void mutants(const toml::table& root) {
    const toml::table* table = toml_.subtable(root, "mutants", "task", false);
    if (!table) return;
    toml_.keys(*table, "mutants", {"skip"});
    const toml::table* skip = toml_.subtable(*table, "skip", "mutants", false);
    if (!skip) return;
    for (const auto& [key, node] : *skip) {
      const auto* reason = node.as_string();
      if (reason && !reason->get().empty()) {
        task_.mutant_skips[std::string(key.str())] = reason->get();
      } else {
        toml_.wrong(node, fmt::format("mutants: `{}` is left out without a reason", key.str()),
                    "write skip = { NAME = \"reason\" }");
      }
    }
  }

  void floor(const toml::table& root) {
    const toml::table* table = toml_.subtable(root, "floor", "task", false);
    if (!table) return;
    toml_.keys(*table, "floor", {"bytes", "flops"});
    if (const toml::node* node = table->get("bytes")) task_.floor_bytes = expression(*node, "floor, bytes");
    if (const toml::node* node = table->get("flops")) task_.floor_flops = expression(*node, "floor, flops");
  }

  void baselines(const toml::table& root) {
    const toml::array* list = toml_.array(root, "baseline", "task", false);
    if (!list) return;
    for (const toml::node& node : *list) {
      const toml::table* table = node.as_table();
      if (!table) {
        toml_.wrong(node, "`baseline` is not a list of tables", "each baseline starts with [[baseline]]");
        continue;
      }
      Baseline result;
      toml_.keys(*table, "baseline", {"kind", "file", "plan", "seen"});
      result.kind = toml_.string(*table, "kind", "baseline", true).value_or("");
      if (result.kind == "cubin" || result.kind == "cublaslt" || result.kind == "cudnn" || result.kind == "helper") {
        toml_.waits(*table->get("kind"), fmt::format("baseline: kind = \"{}\" is not read yet", result.kind));
        continue;
      }
      if (table->get("kind")) one_of(result.kind, {"ptx"}, *table->get("kind"), "baseline, kind");
      for (auto [key, value] : {std::pair("file", &result.file), std::pair("plan", &result.plan)}) {
        *value = toml_.string(*table, key, "baseline", true).value_or("");
        if (!value->empty() && !fs::is_regular_file(task_.folder / *value))
          toml_.add("TASK0006", toml_.place(table->get(key)->source()),
                    fmt::format("baseline: there is no file `{}`", (task_.folder / *value).string()));
      }
      task_.baselines.push_back(std::move(result));
    }
  }

  void compile(const toml::table& root) {
    const toml::table* table = toml_.subtable(root, "compile", "task", false);
    if (!table) return;
    toml_.keys(*table, "compile", {"flags", "include", "instantiate"});
    if (!task_.user)
      toml_.wrong(*table, "a task of the repository has no [compile]", "its baseline.ptx is what counts");
    task_.compile.flags = toml_.strings(*table, "flags", "compile");
    for (const std::string& flag : task_.compile.flags) {
      if (!flag.empty() && (flag[0] == '-' || flag.find('=') == std::string::npos) &&
          flag.find('\n') == std::string::npos)
        continue;
      toml_.wrong(*table->get("flags"), fmt::format("compile: `{}` is no flag of nvcc", flag), "such as \"-DN=4\"");
    }
    for (const std::string& folder : toml_.strings(*table, "include", "compile")) {
      const fs::path path = task_.folder / folder;
      if (!fs::is_directory(path))
        toml_.add("TASK0006", toml_.place(table->get("include")->source()),
                  fmt::format("compile: there is no folder `{}`", path.string()),
                  "as found from the task's own folder");
      task_.compile.include.push_back(path);
    }
    task_.compile.instantiate = toml_.strings(*table, "instantiate", "compile");
  }

  // A file that the task cannot do without.
  void need(const fs::path& path, const toml::table& root, std::string hint) {
    if (fs::is_regular_file(path)) return;
    base::Place place = toml_.place(root.source());
    place.length = 0;
    toml_.add("TASK0006", place, fmt::format("there is no file `{}`", path.string()), std::move(hint));
  }

  void files(const toml::table& root) {
    if (task_.user) {
      user_files(root);
    } else {
      task_.kernel = task_.folder / "kernel.cu";
      task_.reference = task_.folder / "reference.cc";
      task_.ptx = task_.folder / (task_.baselines.empty() ? "baseline.ptx" : task_.baselines[0].file);
      task_.plan = task_.folder / (task_.baselines.empty() ? "baseline.plan.toml" : task_.baselines[0].plan);
      need(*task_.ptx, root, "what nvcc makes of kernel.cu");
    }
    need(task_.kernel, root, "the kernel's source stands beside the task");
    need(task_.plan, root,
         task_.user ? "the launches of a user's kernel stand in the .plan.toml beside its task"
                    : "the baseline's launches stand beside its PTX");
    if (task_.reference && !fs::is_regular_file(*task_.reference)) task_.reference.reset();
    if (task_.reference) {
      for (const auto& [name, tolerance] : task_.tolerances) {
        if (!tolerance.without_terms) continue;
        toml_.add("TASK0004", tolerance.place, fmt::format("tolerance of `{}`: the key `terms` is missing", name),
                  "how many terms the longest sum has: with it the reference's value gets its bound");
      }
      return;
    }
    for (const auto& [name, tolerance] : task_.tolerances) {
      if (tolerance.kind != Tolerance::Kind::floating || task_.user) continue;
      toml_.add("TASK0005", tolerance.place,
                fmt::format("tolerance of `{}`: kind = \"float\" needs a reference, and the task has none", name),
                "write reference.cc; only a user's own kernel may be its own oracle");
    }
  }

  void user_files(const toml::table& root) {
    const std::string name = task_.file.filename().string();
    const std::string stem = name.substr(0, name.size() - std::string_view(".task.toml").size());
    task_.kernel = task_.folder / (stem + ".cu");
    task_.plan = task_.folder / (stem + ".plan.toml");
    if (const fs::path ptx = task_.folder / (stem + ".ptx");
        !fs::is_regular_file(task_.kernel) && fs::is_regular_file(ptx)) {
      task_.kernel = ptx;
      task_.ptx = ptx;
    }
    if (!task_.baselines.empty())
      toml_.wrong(*root.get("baseline"), "a user's task has no [[baseline]]",
                  "the baseline is the kernel itself, compiled");
    task_.reference = task_.folder / (stem + ".reference.cc");
    // A plain reference.cc can only mean this task where the folder has no other.
    if (!fs::is_regular_file(*task_.reference) && only_task_of_folder())
      task_.reference = task_.folder / "reference.cc";
  }

  bool only_task_of_folder() const {
    int count = 0;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(task_.folder, ignored)) {
      const std::string name = entry.path().filename().string();
      count += name.size() > 10 && name.substr(name.size() - 10) == ".task.toml";
    }
    return count <= 1;
  }

  ReadContext context_;
  TomlReader& toml_;
  Task& task_;
};

}  // namespace

const Argument* Task::argument(std::string_view argument_name) const {
  for (const Argument& candidate : arguments)
    if (candidate.name == argument_name) return &candidate;
  return nullptr;
}

base::Result<Task> read_task_text(std::string_view text, const fs::path& file) { return TaskReader(file).read(text); }

base::Result<Task> read_task(const fs::path& file) {
  auto text = base::read_file(file, size_t{16} << 20);
  if (!text) return text.findings();
  return read_task_text(*text, file);
}

}  // namespace ptxlab::task
