#include "loop/spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/nearest.h"
#include "launch/toml.h"

namespace ptxlab::loop {
namespace {

constexpr std::string_view kSchema = "ptxlab.spec/1";

class SpecReader {
 public:
  explicit SpecReader(std::string_view file)
      : toml_(file, {"BENCH0001", "BENCH0002", "BENCH0003", "BENCH0004", "BENCH0003"}) {}

  base::Result<Spec> read(std::string_view text) {
    auto root = toml_.parse(text);
    if (!root) return std::move(toml_.findings);
    spec_.text = text;
    spec_.file = toml_.file();
    toml_.keys(*root, "spec",
               {"schema", "name", "tasks", "k", "turns", "stop", "seed", "target", "until", "constraints", "arm"});
    if (auto schema = toml_.string(*root, "schema", "spec", true); schema && *schema != kSchema)
      toml_.wrong(*root->get("schema"), fmt::format("schema `{}` is not known", *schema),
                  fmt::format("this version reads \"{}\"", kSchema));
    spec_.name = toml_.string(*root, "name", "spec", true).value_or("");
    if (root->contains("name") && spec_.name.empty()) toml_.wrong(*root->get("name"), "the run has no name");
    tasks(*root);
    spec_.k = count(*root, "k", 1, kMostSamples, true).value_or(1);
    spec_.turns = count(*root, "turns", 1, kMostTurns, false).value_or(1);
    conditions(*root);
    arms(*root);
    if (toml_.findings.empty()) size(*root);
    if (!toml_.findings.empty()) return std::move(toml_.findings);
    return std::move(spec_);
  }

 private:
  void tasks(const toml::table& root) {
    const auto* list = toml_.array(root, "tasks", "spec", true);
    if (!list) return;
    if (list->empty()) toml_.wrong(*list, "no tasks", "tasks = [\"all\"] takes all of them");
    for (const auto& node : *list) {
      const auto* word = node.as_string();
      if (!word || word->get().empty()) {
        toml_.wrong(node, "a task is a string", "a name, \"all\", \"norm/*\", \"split:held_out\", \"!gemm/sgemm_f32\"");
        continue;
      }
      spec_.tasks.push_back(word->get());
      spec_.task_places.push_back(toml_.place(node.source()));
    }
  }

  std::optional<int> count(const toml::table& table, std::string_view key, int least, int most, bool required) {
    auto value = toml_.integer(table, key, "spec", required);
    if (!value) return std::nullopt;
    if (*value < least || *value > most) {
      toml_.wrong(*table.get(key), fmt::format("`{}` is {}", key, *value),
                  fmt::format("it must be between {} and {}", least, most));
      return std::nullopt;
    }
    return static_cast<int>(*value);
  }

  // The value of a closed list of words, as its place in it.
  std::optional<size_t> word(const toml::table& table, std::string_view key, std::string_view where,
                             const std::vector<std::string>& known) {
    auto value = toml_.string(table, key, where, false);
    if (!value) return std::nullopt;
    auto found = std::find(known.begin(), known.end(), *value);
    if (found != known.end()) return static_cast<size_t>(found - known.begin());
    auto near = base::nearest(*value, known);
    toml_.wrong(
        *table.get(key), fmt::format("{}: `{}` is not known", key, *value),
        near.empty() ? fmt::format("one of: {}", fmt::join(known, ", ")) : fmt::format("did you mean `{}`?", near));
    return std::nullopt;
  }

  void conditions(const toml::table& root) {
    if (word(root, "stop", "spec", {"right", "turns"}) == 1) spec_.stop = Stop::turns;
    if (auto seed = toml_.integer(root, "seed", "spec", false)) {
      if (*seed < 0) toml_.wrong(*root.get("seed"), "a seed is not negative");
      spec_.seed = static_cast<uint64_t>(*seed);
    }
    if (auto name = toml_.string(root, "target", "spec", false)) {
      spec_.target = isa::target_named(*name);
      if (!spec_.target)
        toml_.wrong(*root.get("target"), fmt::format("there is no target `{}`", *name), "such as sm_90a");
    }
    std::vector<std::string> gates;
    for (const auto& gate : record::all_gates()) gates.emplace_back(record::name_of(gate.name));
    if (auto gate = word(root, "until", "spec", gates)) spec_.until = record::all_gates()[*gate].name;
    const auto* table = toml_.subtable(root, "constraints", "spec", false);
    if (!table) return;
    toml_.keys(*table, "constraints", {"max_registers", "max_shared_bytes", "max_block_threads", "vector_bytes"});
    auto& limits = spec_.constraints;
    limits.max_registers = count(*table, "max_registers", 1, 255, false);
    limits.max_shared_bytes = count(*table, "max_shared_bytes", 0, 1 << 20, false);
    limits.max_block_threads = count(*table, "max_block_threads", 1, 1024, false);
    limits.vector_bytes = count(*table, "vector_bytes", 1, 32, false);
  }

  void arms(const toml::table& root) {
    const auto* list = toml_.array(root, "arm", "spec", true);
    if (!list) return;
    if (list->empty()) toml_.wrong(*list, "no arm", "an [[arm]] has a `name` and a `proposer`");
    std::set<std::string> names;
    for (const auto& node : *list) {
      const auto* table = node.as_table();
      if (!table) {
        toml_.wrong(node, "an arm is a table", "write [[arm]]");
        continue;
      }
      auto arm = this->arm(*table, spec_.arms.size() + 1);
      if (!arm.name.empty() && !names.insert(arm.name).second)
        toml_.wrong(node, fmt::format("two arms are called `{}`", arm.name), "figures are told by the arm's name");
      spec_.arms.push_back(std::move(arm));
    }
  }

  ArmSpec arm(const toml::table& table, size_t number) {
    ArmSpec arm;
    arm.place = toml_.place(table.source());
    std::string where = fmt::format("arm {}", number);
    toml_.keys(table, where,
               {"name", "proposer", "language", "job", "prompt", "without", "settings", "budget", "parallel"});
    arm.proposer = toml_.string(table, "proposer", where, true).value_or("");
    arm.name = toml_.string(table, "name", where, false).value_or(arm.proposer);
    if (arm.proposer.find(',') != arm.proposer.npos)
      toml_.wrong(*table.get("proposer"), "an arm has one proposer", "give each an [[arm]] of its own");
    if (word(table, "language", where, {"ptx", "cuda"}) == 1) arm.language = record::Language::cuda;
    if (word(table, "job", where, {"optimize", "write"}) == 1) arm.job = record::Job::write;
    arm.prompt = toml_.string(table, "prompt", where, false).value_or("");
    arm.without = toml_.strings(table, "without", where);
    arm.settings = toml_.string(table, "settings", where, false).value_or("");
    arm.budget = toml_.string(table, "budget", where, false).value_or("");
    arm.parallel = count(table, "parallel", 1, 1024, false).value_or(arm.parallel);
    return arm;
  }

  // Only a spec that is right so far is counted; how many tasks it chooses is known when it is locked.
  void size(const toml::table& root) {
    int64_t questions = int64_t{spec_.k} * spec_.turns * static_cast<int64_t>(spec_.arms.size());
    if (questions > kMostQuestions)
      toml_.add("BENCH0007", toml_.place(root.get("k")->source()), fmt::format("{} questions for each task", questions),
                fmt::format("a run has at most {} in all", kMostQuestions));
  }

  launch::TomlReader toml_;
  Spec spec_;
};

}  // namespace

base::Result<Spec> read_spec(std::string_view text, std::string_view file) { return SpecReader(file).read(text); }

std::string expand(std::string_view text, std::string_view arm, std::string_view task, int sample, int turn) {
  const std::pair<std::string_view, std::string> names[] = {
      {"{arm}", std::string(arm)},
      {"{task}", std::string(task)},
      {"{sample}", fmt::format("{}", sample)},
      {"{turn}", fmt::format("{}", turn)},
  };
  std::string out;
  while (!text.empty()) {
    auto known =
        std::find_if(std::begin(names), std::end(names), [&](const auto& n) { return text.starts_with(n.first); });
    if (known != std::end(names)) {
      out += known->second;
      text.remove_prefix(known->first.size());
    } else {
      out += text.front();
      text.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace ptxlab::loop
