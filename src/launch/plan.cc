// The plan file as text: TOML to Plan and back.
#include "launch/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "base/nearest.h"
#include "launch/argument.h"
#include "launch/tensor_map.h"
#include "launch/toml.h"

namespace ptxlab::launch {
namespace {

constexpr std::string_view kSchema = "ptxlab.plan/1";

class PlanReader {
 public:
  explicit PlanReader(std::string_view file)
      : toml_(file, {"PLAN0010", "PLAN0011", "PLAN0012", "PLAN0012", "PLAN0012"}) {}

  base::Result<Plan> read(std::string_view text) {
    auto root = toml_.parse(text);
    if (!root) return std::move(toml_.findings);
    toml_.keys(*root, "plan", {"schema", "let", "scratch", "symbol", "tensor_map", "launch"});
    if (auto schema = toml_.string(*root, "schema", "plan", true); schema && *schema != kSchema)
      toml_.wrong(*root->get("schema"), fmt::format("schema `{}` is not known", *schema),
                  fmt::format("this version reads \"{}\"", kSchema));
    lets(*root);
    scratch(*root);
    symbols(*root);
    tensor_maps(*root);
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
        toml_.wrong(node, "an element of `let` is not a name and an expression",
                    "write let = [[\"tiles\", \"ceildiv(m, 128)\"]]");
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

  void symbols(const toml::table& root) {
    const toml::array* list = toml_.array(root, "symbol", "plan", false);
    if (!list) return;
    for (const toml::node& node : *list) {
      const toml::table* table = node.as_table();
      if (!table) {
        toml_.wrong(node, "an element of `symbol` is not a table",
                    R"(write symbol = [{ name = "c_taps", from = "w" }])");
        continue;
      }
      toml_.keys(*table, "symbol", {"name", "from"});
      Symbol symbol;
      symbol.place = toml_.place(table->source());
      symbol.name = toml_.string(*table, "name", "symbol", true).value_or("");
      if (const toml::node* from = table->get("from")) {
        if (auto text = place_or_value(*from, fmt::format("symbol `{}`, from", symbol.name), symbol.from_place))
          symbol.from = std::move(*text);
      } else {
        toml_.missing(*table, "from", fmt::format("symbol `{}`", symbol.name));
      }
      plan_.symbols.push_back(std::move(symbol));
    }
  }

  std::string choice(const toml::table& table, std::string_view key, const std::string& where,
                     std::span<const std::string_view> words, const std::string& otherwise) {
    const std::vector<std::string> known(words.begin(), words.end());
    const std::string word = toml_.string(table, key, where, false).value_or(otherwise);
    if (!table.get(key) || std::find(known.begin(), known.end(), word) != known.end()) return word;
    const std::string near = base::nearest(word, known);
    toml_.wrong(
        *table.get(key), fmt::format("{}: {} = \"{}\"", where, key, word),
        near.empty() ? fmt::format("one of: {}", fmt::join(known, ", ")) : fmt::format("did you mean \"{}\"?", near));
    return otherwise;
  }

  std::vector<Expression> several(const toml::table& table, std::string_view key, const std::string& where,
                                  bool required) {
    std::vector<Expression> values;
    const toml::array* list = toml_.array(table, key, where, required);
    if (!list) return values;
    if (list->empty() || list->size() > 5)
      toml_.wrong(*list, fmt::format("{}: `{}` has {} entries, not 1 to 5", where, key, list->size()));
    for (const toml::node& node : *list)
      if (auto value = toml_.expression(node, fmt::format("{}, {}", where, key))) values.push_back(std::move(*value));
    return values;
  }

  void tensor_maps(const toml::table& root) {
    const toml::array* list = toml_.array(root, "tensor_map", "plan", false);
    if (!list) return;
    for (const toml::node& node : *list) {
      const toml::table* table = node.as_table();
      if (!table) {
        toml_.wrong(node, "`tensor_map` is not a list of tables", "each tensor map starts with [[tensor_map]]");
        continue;
      }
      TensorMap map;
      map.place = toml_.place(table->source());
      map.place.length = 0;
      map.name = toml_.string(*table, "name", "tensor_map", true).value_or("");
      const std::string where = fmt::format("tensor map `{}`", map.name);
      toml_.keys(*table, where,
                 {"name", "buffer", "type", "dims", "strides", "box", "element_strides", "swizzle", "interleave", "l2",
                  "oob"});
      if (table->get("name")) toml_.identifier(map.name, *table->get("name"), "tensor_map");
      if (const toml::node* buffer = table->get("buffer")) {
        if (auto text = place_or_value(*buffer, where + ", buffer", map.buffer_place)) map.buffer = std::move(*text);
      } else {
        toml_.missing(*table, "buffer", where);
      }
      if (!table->get("type")) toml_.missing(*table, "type", where);
      map.type = choice(*table, "type", where, kTensorMapTypes, "");
      map.dims = several(*table, "dims", where, true);
      map.strides = several(*table, "strides", where, map.dims.size() > 1);
      map.box = several(*table, "box", where, true);
      map.element_strides = several(*table, "element_strides", where, false);
      map.swizzle = choice(*table, "swizzle", where, kTensorMapSwizzles, "none");
      map.interleave = choice(*table, "interleave", where, kTensorMapInterleaves, "none");
      map.l2 = choice(*table, "l2", where, kTensorMapPromotions, "none");
      map.oob = choice(*table, "oob", where, kTensorMapOutsides, "zero");
      if (map.dims.size() != map.box.size() && !map.dims.empty() && !map.box.empty())
        toml_.wrong(*table->get("box"),
                    fmt::format("{}: {} dims and a box of {}", where, map.dims.size(), map.box.size()));
      if (!map.dims.empty() && table->get("strides") && map.strides.size() + 1 != map.dims.size())
        toml_.wrong(*table->get("strides"),
                    fmt::format("{}: {} dims and {} strides", where, map.dims.size(), map.strides.size()),
                    "the innermost dimension has none: one stride, in bytes, for each further one");
      if (table->get("element_strides") && map.element_strides.size() != map.dims.size() && !map.dims.empty())
        toml_.wrong(*table->get("element_strides"), fmt::format("{}: {} dims and {} element_strides", where,
                                                                map.dims.size(), map.element_strides.size()));
      plan_.tensor_maps.push_back(std::move(map));
    }
  }

  // `for = ["t", "steps"]` or `for = [["i", "a"], ["j", "b"]]`.
  std::vector<Loop> loops(const toml::table& table, const std::string& where) {
    std::vector<Loop> result;
    const toml::array* list = toml_.array(table, "for", where, false);
    if (!list) return result;
    constexpr const char* kHint = R"(write for = ["t", "steps"], or for = [["i", "a"], ["j", "b"]])";
    const auto one = [&](const toml::array& pair) {
      if (pair.size() != 2 || !pair.get(0)->is_string())
        return toml_.wrong(pair, fmt::format("{}: `for` is not a name and a count", where), kHint);
      Loop loop;
      loop.name = pair.get(0)->as_string()->get();
      loop.place = toml_.place(pair.get(0)->source());
      if (!toml_.identifier(loop.name, *pair.get(0), where + ", for")) return;
      for (const Loop& outer : result)
        if (outer.name == loop.name)
          return toml_.wrong(*pair.get(0), fmt::format("{}: two loops over `{}`", where, loop.name));
      auto count = toml_.expression(*pair.get(1), where + ", for");
      if (!count) return;
      loop.count = std::move(*count);
      result.push_back(std::move(loop));
    };
    if (list->empty()) toml_.wrong(*list, where + ": an empty `for`", kHint);
    if (!list->empty() && list->get(0)->is_array()) {
      for (const toml::node& node : *list) {
        if (const toml::array* pair = node.as_array()) {
          one(*pair);
        } else {
          toml_.wrong(node, fmt::format("{}: `for` is not a list of pairs", where), kHint);
        }
      }
    } else if (!list->empty()) {
      one(*list);
    }
    return result;
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
    toml_.keys(*table, where, {"entry", "grid", "block", "cluster", "shared", "args", "when", "for", "cooperative"});
    result.place = toml_.place(table->source());
    result.place.length = 0;
    result.entry = toml_.string(*table, "entry", where, true).value_or("");
    result.grid = dims(*table, "grid", where, true);
    result.block = dims(*table, "block", where, true);
    result.cluster = dims(*table, "cluster", where, false);
    if (auto shared = toml_.expression(*table, "shared", where, false)) result.shared = std::move(*shared);
    result.when = toml_.expression(*table, "when", where, false);
    result.loops = loops(*table, where);
    result.cooperative = toml_.boolean(*table, "cooperative", where).value_or(false);
    if (const toml::array* list = toml_.array(*table, "args", where, true))
      for (const toml::node& argument_node : *list) argument(argument_node, where, result);
  }

  // An argument's text, which must read as one; `place` is set to where it stands.
  std::optional<std::string> place_or_value(const toml::node& node, const std::string& what, base::Place& place) {
    place = toml_.place(node.source());
    std::string text;
    if (const auto* value = node.as_integer()) {
      text = std::to_string(value->get());
    } else if (const auto* word = node.as_string()) {
      text = word->get();
      place.column += 1;
    } else {
      toml_.wrong(node, fmt::format("{}: neither a string nor an integer", what));
      return std::nullopt;
    }
    auto form = read_argument(text, place);
    if (!form) {
      for (base::Finding finding : form.findings()) {
        finding.message = fmt::format("{}: {}", what, finding.message);
        toml_.findings.push_back(std::move(finding));
      }
    }
    place.length = static_cast<uint32_t>(text.size());
    return text;
  }

  void argument(const toml::node& node, const std::string& where, Launch& launch) {
    base::Place place;
    auto text = place_or_value(node, fmt::format("{}, argument {}", where, launch.arguments.size() + 1), place);
    if (!text) return;
    launch.arguments.push_back(std::move(*text));
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

std::string text_of(const TensorMap& map) {
  std::string out = fmt::format("\n[[tensor_map]]\nname = {}\nbuffer = {}\ntype = {}\ndims = {}\n", quoted(map.name),
                                quoted(map.buffer), quoted(map.type), list(map.dims));
  if (!map.strides.empty()) out += fmt::format("strides = {}\n", list(map.strides));
  out += fmt::format("box = {}\n", list(map.box));
  if (!map.element_strides.empty()) out += fmt::format("element_strides = {}\n", list(map.element_strides));
  return out + fmt::format("swizzle = {}\ninterleave = {}\nl2 = {}\noob = {}\n", quoted(map.swizzle),
                           quoted(map.interleave), quoted(map.l2), quoted(map.oob));
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
  if (!plan.symbols.empty()) {
    out += "symbol = [\n";
    for (const Symbol& symbol : plan.symbols)
      out += fmt::format("  {{ name = {}, from = {} }},\n", quoted(symbol.name), quoted(symbol.from));
    out += "]\n";
  }
  for (const TensorMap& map : plan.tensor_maps) out += text_of(map);
  for (const Launch& launch : plan.launches) {
    out += fmt::format("\n[[launch]]\nentry = {}\n", quoted(launch.entry));
    if (!launch.loops.empty()) {
      std::string loops;
      for (const Loop& loop : launch.loops)
        loops += fmt::format("{}[{}, {}]", loops.empty() ? "" : ", ", quoted(loop.name), quoted(loop.count.text()));
      out += fmt::format("for = [{}]\n", loops);
    }
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
