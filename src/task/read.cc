// task.toml to Task. One pass notes every mistake; what is read is then checked as a whole (sizes against params and
// `where`, tolerances against outputs, files against the folder).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/file.h"
#include "base/nearest.h"
#include "isa/target.h"
#include "launch/toml.h"
#include "task/formula.h"
#include "task/task.h"

namespace ptxlab::task {
namespace {

namespace fs = std::filesystem;
using launch::Expression;
using launch::TomlReader;

constexpr std::string_view kSchema = "ptxlab.task/1";
constexpr int64_t kMaxSize = int64_t{1} << 40;

template <class T>
std::string words(const T& list) {
  std::string text;
  for (const auto& word : list) text += (text.empty() ? "" : ", ") + std::string(word);
  return text;
}

class TaskReader {
 public:
  explicit TaskReader(const fs::path& file)
      : toml_(file.string(), {"TASK0001", "TASK0002", "TASK0003", "TASK0004", "TASK0005"}) {
    task_.file = file;
    task_.folder = file.parent_path().empty() ? fs::path(".") : file.parent_path();
    task_.user = file.filename() != "task.toml";
  }

  base::Result<Task> read(std::string_view text) {
    auto root = toml_.parse(text);
    if (!root) return std::move(toml_.findings);
    toml_.keys(*root, "task",
               {"schema", "name", "version", "split", "level", "tags", "objective", "origin", "targets", "allow",
                "params", "where", "arg", "sizes", "tolerance", "mutants", "floor", "baseline"},
               {"compile"});
    if (auto schema = toml_.string(*root, "schema", "task", true); schema && *schema != kSchema)
      toml_.wrong(*root->get("schema"), fmt::format("schema `{}` is not known", *schema),
                  fmt::format("this version reads \"{}\"", kSchema));
    header(*root);
    params(*root);
    arguments(*root);
    where(*root);
    sizes(*root);
    tolerances(*root);
    mutants(*root);
    floor(*root);
    baselines(*root);
    files(*root);
    if (!toml_.findings.empty()) return std::move(toml_.findings);
    return std::move(task_);
  }

 private:
  // A word out of a closed list, or a finding with the nearest.
  bool one_of(const std::string& word, const std::vector<std::string>& known, const toml::node& node,
              std::string_view what) {
    if (std::find(known.begin(), known.end(), word) != known.end()) return true;
    const std::string near = base::nearest(word, known);
    toml_.wrong(node, fmt::format("{}: `{}` is not known", what, word),
                near.empty() ? "one of: " + words(known) : fmt::format("did you mean `{}`?", near));
    return false;
  }

  // Names in an expression must be params.
  void only_params(const Expression& expression, const toml::node& node, std::string_view what) {
    for (const std::string& name : expression.names()) {
      if (is_param(name)) continue;
      const std::string near = base::nearest(name, task_.params);
      toml_.wrong(node, fmt::format("{}: `{}` is no param of the task", what, name),
                  near.empty() ? "params: " + words(task_.params) : fmt::format("did you mean `{}`?", near));
    }
  }
  std::optional<Expression> expression(const toml::node& node, const std::string& what) {
    auto value = toml_.expression(node, what);
    if (value) only_params(*value, node, what);
    return value;
  }
  bool is_param(std::string_view name) const {
    return std::find(task_.params.begin(), task_.params.end(), name) != task_.params.end();
  }

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

  void arguments(const toml::table& root) {
    const toml::array* list = toml_.array(root, "arg", "task", true);
    if (!list) return;
    bool output = false;
    for (const toml::node& node : *list) {
      const toml::table* table = node.as_table();
      if (!table) {
        toml_.wrong(node, "an element of `arg` is not a table", "write arg = [{ name = \"x\", kind = \"in\", ... }]");
        continue;
      }
      argument(*table);
      output = output || (!task_.arguments.empty() && task_.arguments.back().output());
    }
    if (!output && toml_.findings.empty())
      toml_.wrong(*list, "the task has no output", "an argument has kind = \"out\" or \"inout\"");
  }

  void argument(const toml::table& table) {
    Argument result;
    result.place = toml_.place(table.source());
    auto name = toml_.string(table, "name", "argument", true);
    if (!name || !toml_.identifier(*name, *table.get("name"), "argument")) return;
    result.name = *name;
    const std::string what = fmt::format("argument `{}`", *name);
    if (task_.argument(*name)) toml_.wrong(*table.get("name"), what + ": the name is taken");
    auto kind = toml_.string(table, "kind", what, true);
    if (!kind) return;
    if (*kind == "struct") return toml_.waits(*table.get("kind"), what + ": kind = \"struct\" is not read yet");
    if (!one_of(*kind, {"in", "out", "inout", "scalar"}, *table.get("kind"), what + ", kind")) return;
    result.kind = *kind == "in"      ? Argument::Kind::in
                  : *kind == "out"   ? Argument::Kind::out
                  : *kind == "inout" ? Argument::Kind::inout
                                     : Argument::Kind::scalar;
    if (!type(table, what, result)) return;
    if (result.buffer()) {
      buffer(table, what, result);
    } else {
      scalar(table, what, result);
    }
    task_.arguments.push_back(std::move(result));
  }

  bool type(const toml::table& table, const std::string& what, Argument& result) {
    auto word = toml_.string(table, "type", what, true);
    if (!word) return false;
    const toml::node& node = *table.get("type");
    if (*word == "record") return toml_.waits(node, what + ": type = \"record\" is not read yet"), false;
    const auto found = isa::type_named(*word);
    if (found && isa::info(*found).lanes == 1 && isa::bits_of(*found) >= 8 && isa::bits_of(*found) <= 64 &&
        *found != isa::Type::tf32 && word->front() != '.') {
      result.type = *found;
      return true;
    }
    one_of(*word,
           {"u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "b8", "b16", "b32", "b64", "f16", "bf16", "f32",
            "f64", "e4m3", "e5m2"},
           node, what + ", type");
    return false;
  }

  void buffer(const toml::table& table, const std::string& what, Argument& result) {
    const bool input = result.kind != Argument::Kind::out;
    std::vector<std::string> known{"name", "kind", "type", "shape"};
    for (const char* key : {"fill", "special"})
      if (input) known.emplace_back(key);
    if (!input) known.emplace_back("init");
    toml_.keys(table, what, known, {"fields", "valid"});
    if (is_param(result.name))
      toml_.wrong(*table.get("name"), what + ": a param has this name", "only scalars share a param's name");
    if (const toml::array* shape = toml_.array(table, "shape", what, true)) {
      for (const toml::node& node : *shape)
        if (auto value = expression(node, what + ", shape")) result.shape.push_back(std::move(*value));
      if (shape->empty()) toml_.wrong(*shape, what + ": an empty shape", "a buffer has at least one dimension");
    }
    if (const toml::node* fill = input ? table.get("fill") : nullptr) fills(*fill, what, result);
    if (input && result.fills.empty())
      result.fills.push_back({isa::is_float(result.type) ? "normal" : "uniform", {}, {}});
    result.special = input ? toml_.strings(table, "special", what) : std::vector<std::string>{};
    for (const std::string& word : result.special) {
      one_of(word, {"nan", "inf"}, *table.get("special"), what + ", special");
      if (!isa::is_float(result.type))
        toml_.wrong(*table.get("special"), what + ": special values are for floating-point types");
    }
    if (input) return;
    if (auto init = toml_.string(table, "init", what, false))
      result.zeroed = one_of(*init, {"poison", "zero"}, *table.get("init"), what + ", init") && *init == "zero";
  }

  void fills(const toml::node& node, const std::string& what, Argument& result) {
    if (const toml::array* list = node.as_array()) {
      for (const toml::node& element : *list) fill(element, what, result);
      if (list->empty()) toml_.wrong(node, what + ": an empty list of fills");
    } else {
      fill(node, what, result);
    }
  }

  void fill(const toml::node& node, const std::string& what, Argument& result) {
    Fill entry;
    if (const auto* text = node.as_string()) {
      entry.name = text->get();
    } else if (const toml::table* table = node.as_table(); table && table->size() == 1) {
      entry.name = std::string(table->begin()->first.str());
      const toml::array* bounds = table->begin()->second.as_array();
      if (!bounds)
        return toml_.wrong(node, what + ": a fill's bounds are not an array", "write { uniform = [0, \"vocab - 1\"] }");
      for (const toml::node& bound : *bounds)
        if (auto value = expression(bound, what + ", fill")) entry.bounds.push_back(std::move(*value));
    } else {
      return toml_.wrong(node, what + ": a fill is a name or one name with bounds",
                         "write \"normal\" or { uniform = [0, \"vocab - 1\"] }");
    }
    if (entry.name.rfind("file:", 0) == 0) {
      entry.file = entry.name.substr(5);
      entry.name = "file";
      const fs::path path(entry.file);
      if (entry.file.empty() || path.is_absolute() || entry.file.find("..") != std::string::npos)
        return toml_.wrong(node, fmt::format("{}: `{}` is no file name in the task's folder", what, entry.file));
      if (!fs::is_regular_file(task_.folder / path))
        return toml_.add("TASK0006", toml_.place(node.source()),
                         fmt::format("{}: there is no file `{}`", what, (task_.folder / path).string()));
    } else if (entry.name == "spd") {
      return toml_.waits(node, what + ": the fill `spd` is not read yet");
    } else if (!one_of(entry.name, fill_names(), node, what + ", fill")) {
      return;
    }
    const size_t most = entry.name == "constant" || entry.name == "offsets"   ? 1
                        : entry.name == "file" || entry.name == "permutation" ? 0
                                                                              : 2;
    const bool all = entry.bounds.empty() || entry.bounds.size() == most;
    if (!all)
      return toml_.wrong(node, fmt::format("{}: the fill `{}` takes no or {} bounds, not {}", what, entry.name, most,
                                           entry.bounds.size()));
    if (entry.name == "offsets" && entry.bounds.empty())
      return toml_.wrong(node, what + ": the fill `offsets` needs its total", "write { offsets = [\"total\"] }");
    if ((entry.name == "offsets" || entry.name == "permutation") && isa::is_float(result.type))
      return toml_.wrong(node, fmt::format("{}: the fill `{}` is for integers", what, entry.name));
    result.fills.push_back(std::move(entry));
  }

  void scalar(const toml::table& table, const std::string& what, Argument& result) {
    toml_.keys(table, what, {"name", "kind", "type", "value"});
    const toml::node* node = table.get("value");
    if (!node) return toml_.missing(table, "value", what);
    if (!isa::is_float(result.type)) {
      if (auto value = expression(*node, what + ", value")) result.value = value->text();
      return;
    }
    base::Place origin = toml_.place(node->source());
    if (const auto* text = node->as_string()) {
      result.value = text->get();
      origin.column += 1;
    } else if (node->is_integer() || node->is_floating_point()) {
      const double value =
          node->is_integer() ? static_cast<double>(node->as_integer()->get()) : node->as_floating_point()->get();
      result.value = fmt::format("{}", value);
      return;
    } else {
      return toml_.wrong(*node, what + ": `value` is neither a number nor a formula in quotes");
    }
    // Tried with ones: what is wrong whatever the sizes shows here, with its place.
    auto value = evaluate_formula(
        result.value,
        [this](std::string_view name) { return is_param(name) ? std::optional<double>(1) : std::nullopt; }, origin);
    if (!value)
      for (const base::Finding& finding : value.findings()) toml_.findings.push_back(finding);
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

  void tolerances(const toml::table& root) {
    std::vector<std::string> outputs;
    for (const Argument& argument : task_.arguments)
      if (argument.output()) outputs.push_back(argument.name);
    const toml::table* table = toml_.subtable(root, "tolerance", "task", false);
    if (table) {
      toml_.keys(*table, "tolerance", outputs);
      for (const std::string& name : outputs)
        if (const toml::table* entry = toml_.subtable(*table, name, "tolerance", false)) tolerance(*entry, name);
    }
    for (const std::string& name : outputs) {
      if (task_.tolerances.count(name) || !toml_.findings.empty()) continue;
      if (isa::is_float(task_.argument(name)->type)) {
        toml_.missing(table ? *table : root, "tolerance." + name, "task");
      } else {
        task_.tolerances[name] = {};  // integers are exact
      }
    }
  }

  void tolerance(const toml::table& table, const std::string& name) {
    Tolerance result;
    const std::string what = fmt::format("tolerance of `{}`", name);
    result.place = toml_.place(table.source());
    auto kind = toml_.string(table, "kind", what, true);
    if (!kind || !one_of(*kind, {"exact", "float", "unordered", "absolute"}, *table.get("kind"), what + ", kind"))
      return;
    const bool floating = isa::is_float(task_.argument(name)->type);
    std::vector<std::string> known{"kind"};
    if (*kind == "float") known.insert(known.end(), {"accumulate", "terms"});
    if (*kind == "absolute") known.insert(known.end(), {"abs", "rel"});
    known.emplace_back("reason");
    toml_.keys(table, what, known);
    result.reason = toml_.string(table, "reason", what, *kind == "absolute").value_or("");
    if (*kind == "float") {
      result.kind = Tolerance::Kind::floating;
      if (!floating)
        toml_.wrong(*table.get("kind"), what + ": the output is of an integer type",
                    "integers are exact, or have an absolute tolerance");
      const std::string word = toml_.string(table, "accumulate", what, false).value_or("f32");
      if (!table.get("accumulate") ||
          one_of(word, {"f16", "bf16", "tf32", "f32", "f64"}, *table.get("accumulate"), what + ", accumulate"))
        result.accumulate = *isa::type_named(word);
      if (const toml::node* terms = table.get("terms")) {
        if (auto value = expression(*terms, what + ", terms")) result.terms = std::move(*value);
      } else {
        toml_.missing(table, "terms", what);
      }
    } else if (*kind == "absolute") {
      result.kind = Tolerance::Kind::absolute;
      result.abs = toml_.number(table, "abs", what, false).value_or(0);
      result.rel = toml_.number(table, "rel", what, false).value_or(0);
      if (!(result.abs >= 0) || !(result.rel >= 0) || (result.abs == 0 && result.rel == 0))
        toml_.wrong(table, what + ": neither `abs` nor `rel` is positive",
                    "for no difference at all write kind = \"exact\"");
    } else {
      result.kind = *kind == "exact" ? Tolerance::Kind::exact : Tolerance::Kind::unordered;
    }
    task_.tolerances[name] = std::move(result);
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
    if (task_.reference) return;
    for (const auto& [name, tolerance] : task_.tolerances) {
      if (tolerance.kind != Tolerance::Kind::floating) continue;
      toml_.add("TASK0005", tolerance.place,
                fmt::format("tolerance of `{}`: kind = \"float\" needs a reference, and the task has none", name),
                "write one (reference.cc), or state kind = \"exact\" or \"absolute\": judging float results by "
                "randomly rounded runs of the kernel is "
                "not there yet");
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

  TomlReader toml_;
  Task task_;
};

}  // namespace

const std::vector<std::string>& fill_names() {
  static const std::vector<std::string> names{"normal", "uniform",     "heavy",   "spike",   "ties",
                                              "sorted", "permutation", "offsets", "constant"};
  return names;
}

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
