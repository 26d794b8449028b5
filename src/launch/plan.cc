// The plan file as text: TOML to Plan and back.
#include "launch/plan.h"

#include <fmt/format.h>

#include <set>

#include "launch/argument.h"
#include "launch/toml.h"

namespace ptxlab::launch {
namespace {

constexpr std::string_view kSchema = "ptxlab.plan/1";

class PlanReader {
 public:
  explicit PlanReader(std::string_view file)
      : toml_(file, {"PLAN0010", "PLAN0011", "PLAN0012", "PLAN0012", "PLAN0013"}) {}

  base::Result<Plan> read(std::string_view text) {
    auto root = toml_.parse(text);
    if (!root) return std::move(toml_.findings);
    toml_.keys(*root, "plan", {"schema", "let", "scratch", "launch"}, {"symbol", "tensor_map"});
    if (auto schema = toml_.string(*root, "schema", "plan", true); schema && *schema != kSchema)
      toml_.wrong(*root->get("schema"), fmt::format("schema `{}` is not known", *schema),
                  fmt::format("this version reads \"{}\"", kSchema));
    lets(*root);
    scratch(*root);
    if (const toml::array* list = toml_.array(*root, "launch", "plan", true)) {
      for (const toml::node& node : *list) launch(node);
      if (list->empty()) toml_.wrong(*list, "a plan without launches");
    }
    if (!toml_.findings.empty()) return std::move(toml_.findings);
    plan_.text = text;
    return std::move(plan_);
  }

 private:
  void lets(const toml::table& root) {
    const toml::array* list = toml_.array(root, "let", "plan", false);
    if (!list) return;
    for (const toml::node& node : *list) {
      const toml::array* pair = node.as_array();
      if (!pair || pair->size() != 2 || !pair->get(0)->is_string()) {
        toml_.wrong(node, "an element of `let` is not a name and an expression", "write let = [[\"tiles\", \"ceildiv(m, 128)\"]]");
        continue;
      }
      const std::string name = pair->get(0)->as_string()->get();
      if (!toml_.identifier(name, *pair->get(0), "let")) continue;
      if (auto value = toml_.expression(*pair->get(1), fmt::format("let `{}`", name)))
        plan_.lets.emplace_back(name, std::move(*value));
    }
  }

  void scratch(const toml::table& root) {
    const toml::array* list = toml_.array(root, "scratch", "plan", false);
    if (!list) return;
    for (const toml::node& node : *list) {
      const toml::table* table = node.as_table();
      if (!table) {
        toml_.wrong(node, "an element of `scratch` is not a table",
                    R"(write scratch = [{ name = "part", bytes = "4*n" }])");
        continue;
      }
      toml_.keys(*table, "scratch", {"name", "bytes", "init"});
      Scratch buffer;
      buffer.place = toml_.place(table->source());
      auto name = toml_.string(*table, "name", "scratch", true);
      if (name && toml_.identifier(*name, *table->get("name"), "scratch")) buffer.name = *name;
      if (auto bytes = toml_.expression(*table, "bytes", "scratch", true)) buffer.bytes = std::move(*bytes);
      if (auto init = toml_.string(*table, "init", "scratch", false)) {
        if (*init != "poison" && *init != "zero")
          toml_.wrong(*table->get("init"), fmt::format("scratch: init = \"{}\"", *init),
                      "init is \"poison\" or \"zero\"");
        buffer.zero = *init == "zero";
      }
      plan_.scratch.push_back(std::move(buffer));
    }
  }

  std::vector<Expression> dims(const toml::table& table, std::string_view key, const std::string& where,
                               bool required) {
    std::vector<Expression> values;
    const toml::array* list = toml_.array(table, key, where, required);
    if (!list) return values;
    if (list->empty() || list->size() > 3)
      toml_.wrong(*list, fmt::format("{}: `{}` has {} dimensions, not 1 to 3", where, key, list->size()));
    size_t axis = 0;
    for (const toml::node& node : *list) {
      auto value = toml_.expression(node, fmt::format("{}, {}[{}]", where, key, axis++));
      if (value) values.push_back(std::move(*value));
    }
    return values;
  }

  void launch(const toml::node& node) {
    const std::string where = fmt::format("launch {}", plan_.launches.size() + 1);
    Launch& result = plan_.launches.emplace_back();
    const toml::table* table = node.as_table();
    if (!table) return toml_.wrong(node, "`launch` is not a list of tables", "each launch starts with [[launch]]");
    toml_.keys(*table, where, {"entry", "grid", "block", "cluster", "shared", "args", "when", "cooperative"}, {"for"});
    result.place = toml_.place(table->source());
    result.place.length = 0;
    result.entry = toml_.string(*table, "entry", where, true).value_or("");
    result.grid = dims(*table, "grid", where, true);
    result.block = dims(*table, "block", where, true);
    result.cluster = dims(*table, "cluster", where, false);
    if (auto shared = toml_.expression(*table, "shared", where, false)) result.shared = std::move(*shared);
    result.when = toml_.expression(*table, "when", where, false);
    result.cooperative = toml_.boolean(*table, "cooperative", where).value_or(false);
    if (const toml::array* list = toml_.array(*table, "args", where, true))
      for (const toml::node& argument_node : *list) argument(argument_node, where, result);
  }

  void argument(const toml::node& node, const std::string& where, Launch& launch) {
    base::Place place = toml_.place(node.source());
    std::string text;
    if (const auto* value = node.as_integer()) {
      text = std::to_string(value->get());
    } else if (const auto* word = node.as_string()) {
      text = word->get();
      place.column += 1;
    } else {
      return toml_.wrong(node, fmt::format("{}: an argument is neither a string nor an integer", where));
    }
    auto form = read_argument(text, place);
    if (!form) {
      for (base::Finding finding : form.findings()) {
        finding.message = fmt::format("{}, argument {}: {}", where, launch.arguments.size() + 1, finding.message);
        toml_.findings.push_back(std::move(finding));
      }
    }
    place.length = static_cast<uint32_t>(text.size());
    launch.arguments.push_back(std::move(text));
    launch.argument_places.push_back(place);
  }

  TomlReader toml_;
  Plan plan_;
};

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string list(const std::vector<Expression>& values) {
  std::string out;
  for (const Expression& value : values) out += (out.empty() ? "" : ", ") + quoted(value.text());
  return "[" + out + "]";
}

}  // namespace

base::Result<Plan> read_plan(std::string_view text, std::string_view file) { return PlanReader(file).read(text); }

std::string print(const Plan& plan) {
  std::string out = fmt::format("schema = \"{}\"\n", kSchema);
  if (!plan.lets.empty()) {
    out += "let = [";
    for (size_t i = 0; i < plan.lets.size(); ++i)
      out += fmt::format("{}[{}, {}]", i ? ", " : "", quoted(plan.lets[i].first), quoted(plan.lets[i].second.text()));
    out += "]\n";
  }
  if (!plan.scratch.empty()) {
    out += "scratch = [\n";
    for (const Scratch& buffer : plan.scratch)
      out += fmt::format("  {{ name = {}, bytes = {}, init = \"{}\" }},\n", quoted(buffer.name),
                         quoted(buffer.bytes.text()), buffer.zero ? "zero" : "poison");
    out += "]\n";
  }
  for (const Launch& launch : plan.launches) {
    out += fmt::format("\n[[launch]]\nentry = {}\n", quoted(launch.entry));
    if (launch.when) out += fmt::format("when = {}\n", quoted(launch.when->text()));
    out += fmt::format("grid = {}\nblock = {}\n", list(launch.grid), list(launch.block));
    if (!launch.cluster.empty()) out += fmt::format("cluster = {}\n", list(launch.cluster));
    if (launch.shared.text() != "0") out += fmt::format("shared = {}\n", quoted(launch.shared.text()));
    if (launch.cooperative) out += "cooperative = true\n";
    std::string arguments;
    for (const std::string& argument : launch.arguments)
      arguments += (arguments.empty() ? "" : ", ") + quoted(argument);
    out += fmt::format("args = [{}]\n", arguments);
  }
  return out;
}

}  // namespace ptxlab::launch
