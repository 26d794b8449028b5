// The arguments of a task: buffers with shapes and fills, scalars, structs by value and arrays of records.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "task/read_context.h"

namespace ptxlab::task {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string>& type_names() {
  static const std::vector<std::string> names{"s8",  "s16", "s32",  "s64", "u8",  "u16", "u32", "u64",  "f16",
                                              "f32", "f64", "bf16", "b8",  "b16", "b32", "b64", "e4m3", "e5m2"};
  return names;
}

class ArgumentReader {
 public:
  explicit ArgumentReader(ReadContext& context) : context_(context), toml_(context.toml), task_(context.task) {}

  void read(const toml::table& root) {
    const toml::array* list = toml_.array(root, "arg", "task", true);
    if (!list) return;
    for (const toml::node& node : *list) {
      if (const toml::table* table = node.as_table()) {
        argument(*table);
      } else {
        toml_.wrong(node, "an element of `arg` is not a table", "write arg = [{ name = \"x\", kind = \"in\", ... }]");
      }
    }
    const bool output = std::any_of(task_.arguments.begin(), task_.arguments.end(),
                                    [](const Argument& argument) { return argument.output(); });
    if (!output && toml_.findings.empty())
      toml_.wrong(*list, "the task has no output", "an argument has kind = \"out\" or \"inout\"");
    for (const auto& [field, node, what] : pointers_) pointer_target(field, *node, what);
  }

 private:
  struct Pointer {
    std::string buffer;
    const toml::node* node;
    std::string what;
  };

  void argument(const toml::table& table) {
    Argument result;
    result.place = toml_.place(table.source());
    auto name = toml_.string(table, "name", "argument", true);
    if (!name || !toml_.identifier(*name, *table.get("name"), "argument")) return;
    result.name = *name;
    const std::string what = fmt::format("argument `{}`", *name);
    if (task_.argument(*name)) toml_.wrong(*table.get("name"), what + ": the name is taken");
    auto kind = toml_.string(table, "kind", what, true);
    if (!kind ||
        !context_.one_of(*kind, {"in", "out", "inout", "scalar", "struct"}, *table.get("kind"), what + ", kind"))
      return;
    result.kind = *kind == "in"       ? Argument::Kind::in
                  : *kind == "out"    ? Argument::Kind::out
                  : *kind == "inout"  ? Argument::Kind::inout
                  : *kind == "scalar" ? Argument::Kind::scalar
                                      : Argument::Kind::structure;
    if (result.kind == Argument::Kind::structure) {
      structure(table, what, result);
    } else if (result.kind == Argument::Kind::scalar) {
      auto found = type(table, what, false);
      if (!found) return;
      result.type = *found;
      scalar(table, what, result);
    } else {
      auto found = type(table, what, true);
      if (!found) return;
      result.type = *found;
      buffer(table, what, result);
    }
    task_.arguments.push_back(std::move(result));
  }

  // A type of the format; for a buffer also "record", which comes back as b8.
  std::optional<isa::Type> type(const toml::table& table, const std::string& what, bool records) {
    auto word = toml_.string(table, "type", what, true);
    if (!word) return std::nullopt;
    const toml::node& node = *table.get("type");
    if (records && *word == "record") return isa::Type::b8;
    std::vector<std::string> known = type_names();
    if (records) known.emplace_back("record");
    if (!context_.one_of(*word, known, node, what + ", type")) return std::nullopt;
    return isa::type_named(*word);
  }

  void buffer(const toml::table& table, const std::string& what, Argument& result) {
    const bool input = result.kind != Argument::Kind::out;
    const bool record = toml_.string(table, "type", what, true).value_or("") == "record";
    std::vector<std::string> known{"name", "kind", "type", "shape"};
    if (record) known.emplace_back("fields");
    if (input && !record) known.insert(known.end(), {"fill", "special"});
    if (!input) known.emplace_back("init");
    if (result.output()) known.emplace_back("valid");
    toml_.keys(table, what, known);
    if (context_.is_param(result.name))
      toml_.wrong(*table.get("name"), what + ": a param has this name", "only scalars share a param's name");
    if (const toml::array* shape = toml_.array(table, "shape", what, true)) {
      for (const toml::node& node : *shape)
        if (auto value = context_.expression(node, what + ", shape")) result.shape.push_back(std::move(*value));
      if (shape->empty()) toml_.wrong(*shape, what + ": an empty shape", "a buffer has at least one dimension");
    }
    if (record) record_fields(table, what, input, result);
    if (input && !record) {
      if (const toml::node* node = table.get("fill")) fills(*node, what, result.type, result.fills);
      if (result.fills.empty()) result.fills.push_back(default_fill(result.type));
      special(table, what, result);
    }
    if (const toml::node* node = result.output() ? table.get("valid") : nullptr) valid(*node, what, result);
    if (input) return;
    if (auto init = toml_.string(table, "init", what, false))
      result.zeroed =
          context_.one_of(*init, {"poison", "zero"}, *table.get("init"), what + ", init") && *init == "zero";
  }

  static Fill default_fill(isa::Type type) { return {isa::is_float(type) ? "normal" : "uniform", {}, {}, {}}; }

  void special(const toml::table& table, const std::string& what, Argument& result) {
    result.special = toml_.strings(table, "special", what);
    for (const std::string& word : result.special) {
      context_.one_of(word, {"nan", "inf"}, *table.get("special"), what + ", special");
      if (!isa::is_float(result.type))
        toml_.wrong(*table.get("special"), what + ": special values are for floating-point types");
    }
  }

  // "count[0]", "2*count[0] + k": elements of outputs become names of their own.
  void valid(const toml::node& node, const std::string& what, Argument& result) {
    Prefix prefix;
    std::string text;
    if (const auto* word = node.as_string()) {
      text = word->get();
    } else if (const auto* number = node.as_integer()) {
      text = std::to_string(number->get());
    } else {
      return toml_.wrong(node, what + ": `valid` is neither an integer nor an expression in quotes",
                         "write valid = \"count[0]\"");
    }
    std::string plain;
    for (size_t at = 0; at < text.size();) {
      const size_t open = text.find('[', at), close = text.find(']', at);
      if (open == std::string::npos || close == std::string::npos || close < open) {
        plain += text.substr(at);
        break;
      }
      size_t begin = open;
      while (begin > at && (std::isalnum(static_cast<unsigned char>(text[begin - 1])) || text[begin - 1] == '_'))
        --begin;
      Prefix::Element element;
      element.output = text.substr(begin, open - begin);
      const auto [end, error] = std::from_chars(text.data() + open + 1, text.data() + close, element.index);
      if (element.output.empty() || error != std::errc() || end != text.data() + close)
        return toml_.wrong(
            node,
            fmt::format("{}, valid: `{}` is no element of an output", what, text.substr(begin, close + 1 - begin)),
            "write valid = \"count[0]\", with a number in the brackets");
      element.name = fmt::format("{}_at_{}", element.output, element.index);
      plain += text.substr(at, begin - at) + element.name;
      prefixes_.push_back({element.output, &node, what + ", valid"});
      prefix.elements.push_back(std::move(element));
      at = close + 1;
    }
    auto count = launch::Expression::parse(plain, toml_.place(node.source()));
    if (!count) {
      for (base::Finding finding : count.findings()) {
        finding.message = fmt::format("{}, valid: {}", what, finding.message);
        toml_.findings.push_back(std::move(finding));
      }
      return;
    }
    for (const std::string& name : count->names()) {
      const bool element = std::any_of(prefix.elements.begin(), prefix.elements.end(),
                                       [&](const Prefix::Element& e) { return e.name == name; });
      if (!element && !context_.is_param(name))
        toml_.wrong(node, fmt::format("{}, valid: `{}` is no param of the task", what, name),
                    "an element of an integer output reads count[0]");
    }
    prefix.count = std::move(*count);
    result.valid = std::move(prefix);
  }

  // --- fills ---

  void fills(const toml::node& node, const std::string& what, isa::Type type, std::vector<Fill>& to) {
    if (const toml::array* list = node.as_array()) {
      for (const toml::node& element : *list) fill(element, what, type, to);
      if (list->empty()) toml_.wrong(node, what + ": an empty list of fills");
    } else {
      fill(node, what, type, to);
    }
  }

  void fill(const toml::node& node, const std::string& what, isa::Type type, std::vector<Fill>& to) {
    Fill entry;
    if (const auto* text = node.as_string()) {
      entry.name = text->get();
    } else if (const toml::table* table = node.as_table(); table && table->size() == 1) {
      entry.name = std::string(table->begin()->first.str());
      const toml::array* bounds = table->begin()->second.as_array();
      if (!bounds)
        return toml_.wrong(node, what + ": a fill's bounds are not an array", "write { uniform = [0, \"vocab - 1\"] }");
      for (const toml::node& bound : *bounds) {
        if (isa::is_float(type)) {
          if (auto value = context_.formula(bound, what + ", fill")) entry.formulas.push_back(std::move(*value));
        } else if (auto value = context_.expression(bound, what + ", fill")) {
          entry.bounds.push_back(std::move(*value));
        }
      }
    } else {
      return toml_.wrong(node, what + ": a fill is a name or one name with bounds",
                         "write \"normal\" or { uniform = [0, \"vocab - 1\"] }");
    }
    if (entry.name.rfind("file:", 0) == 0 ? !file_fill(node, what, entry)
                                          : !context_.one_of(entry.name, fill_names(), node, what + ", fill"))
      return;
    if (!suits(node, what, type, entry)) return;
    to.push_back(std::move(entry));
  }

  bool file_fill(const toml::node& node, const std::string& what, Fill& entry) {
    entry.file = entry.name.substr(5);
    entry.name = "file";
    const fs::path path(entry.file);
    if (entry.file.empty() || path.is_absolute() || entry.file.find("..") != std::string::npos) {
      toml_.wrong(node, fmt::format("{}: `{}` is no file name in the task's folder", what, entry.file));
      return false;
    }
    if (fs::is_regular_file(task_.folder / path)) return true;
    toml_.add("TASK0006", toml_.place(node.source()),
              fmt::format("{}: there is no file `{}`", what, (task_.folder / path).string()));
    return false;
  }

  bool suits(const toml::node& node, const std::string& what, isa::Type type, const Fill& entry) {
    const std::string& name = entry.name;
    const size_t most = name == "constant" || name == "offsets"                    ? 1
                        : name == "file" || name == "permutation" || name == "spd" ? 0
                                                                                   : 2;
    const size_t bounds = entry.bounds.size() + entry.formulas.size();
    if (bounds != 0 && bounds != most) {
      toml_.wrong(node, most == 0 ? fmt::format("{}: the fill `{}` takes no bounds", what, name)
                                  : fmt::format("{}: the fill `{}` takes {} bound{}, not {}", what, name, most,
                                                most == 1 ? "" : "s", bounds));
      return false;
    }
    if (name == "offsets" && bounds == 0) {
      toml_.wrong(node, what + ": the fill `offsets` needs its total", "write { offsets = [\"total\"] }");
      return false;
    }
    const bool integers = name == "offsets" || name == "permutation";
    if ((integers && isa::is_float(type)) || (name == "spd" && !isa::is_float(type))) {
      toml_.wrong(
          node, fmt::format("{}: the fill `{}` is for {}", what, name, integers ? "integers" : "floating-point types"));
      return false;
    }
    return true;
  }

  // --- scalars ---

  void scalar(const toml::table& table, const std::string& what, Argument& result) {
    toml_.keys(table, what, {"name", "kind", "type", "value"});
    const toml::node* node = table.get("value");
    if (!node) return toml_.missing(table, "value", what);
    result.value = value(*node, what + ", value", result.type).value_or("0");
  }

  std::optional<std::string> value(const toml::node& node, const std::string& what, isa::Type type) {
    if (isa::is_float(type)) {
      auto formula = context_.formula(node, what);
      if (!formula) return std::nullopt;
      return formula->text;
    }
    auto expression = context_.expression(node, what);
    if (!expression) return std::nullopt;
    return expression->text();
  }

  // --- fields ---

  const toml::array* field_list(const toml::table& table, const std::string& what) {
    const toml::array* list = toml_.array(table, "fields", what, true);
    if (list && list->empty()) toml_.wrong(*list, what + ": no fields");
    return list;
  }

  // Name, type and count, and that the name is new. Nothing where the field cannot be.
  std::optional<Field> field(const toml::table& table, const std::string& where, const std::vector<Field>& others,
                             bool pointers) {
    Field result;
    result.place = toml_.place(table.source());
    auto name = toml_.string(table, "name", where, true);
    if (!name || !toml_.identifier(*name, *table.get("name"), where)) return std::nullopt;
    result.name = *name;
    const std::string what = fmt::format("{} `{}`", where, *name);
    for (const Field& other : others)
      if (other.name == *name) toml_.wrong(*table.get("name"), what + ": the name is taken");
    if (!pointers || !table.get("pointer")) {
      auto found = type(table, what, false);
      if (!found) return std::nullopt;
      result.type = *found;
    }
    result.count = toml_.integer(table, "count", what, false).value_or(1);
    if (result.count < 1 || result.count > 4096) {
      toml_.wrong(*table.get("count"), fmt::format("{}: count = {}", what, result.count), "between 1 and 4096");
      return std::nullopt;
    }
    return result;
  }

  void record_fields(const toml::table& table, const std::string& what, bool input, Argument& result) {
    const toml::array* list = field_list(table, what);
    if (!list) return;
    for (const toml::node& node : *list) {
      const toml::table* entry = node.as_table();
      if (!entry) {
        toml_.wrong(node, what + ": a field is not a table", "write fields = [{ name = \"d\", type = \"f16\" }, ...]");
        continue;
      }
      std::vector<std::string> known{"name", "type", "count"};
      if (input) known.emplace_back("fill");
      const std::string where = what + ", field";
      toml_.keys(*entry, where, known);
      auto made = field(*entry, where, result.fields, false);
      if (!made) continue;
      if (const toml::node* fill = input ? entry->get("fill") : nullptr) fills(*fill, where, made->type, made->fills);
      if (input && made->fills.empty()) made->fills.push_back(default_fill(made->type));
      made->offset = result.field_bytes;  // packed: no padding
      result.field_bytes += made->bytes();
      result.fields.push_back(std::move(*made));
    }
  }

  void structure(const toml::table& table, const std::string& what, Argument& result) {
    toml_.keys(table, what, {"name", "kind", "fields", "bytes"});
    const toml::array* list = field_list(table, what);
    if (!list) return;
    uint64_t alignment = 1, end = 0;
    for (const toml::node& node : *list) {
      const toml::table* entry = node.as_table();
      if (!entry) {
        toml_.wrong(node, what + ": a field is not a table",
                    R"(write fields = [{ name = "x", pointer = "x" }, { name = "n", type = "u32", value = "n" }])");
        continue;
      }
      const std::string where = what + ", field";
      toml_.keys(*entry, where, {"name", "type", "value", "count", "pointer", "offset"});
      auto made = field(*entry, where, result.fields, true);
      if (!made) continue;
      if (made->type == isa::Type::none) {
        pointer(*entry, where, *made);
      } else {
        values(*entry, where, *made);
      }
      // As C++ lays it out, or where the task says.
      const uint64_t natural = made->bytes() / static_cast<uint64_t>(made->count);
      alignment = std::max(alignment, natural);
      made->offset = (end + natural - 1) / natural * natural;
      if (auto at = toml_.integer(*entry, "offset", where, false)) {
        if (*at < static_cast<int64_t>(end) || *at > 4096)
          toml_.wrong(*entry->get("offset"), fmt::format("{} `{}`: offset = {}", where, made->name, *at),
                      fmt::format("the fields before it end at byte {}", end));
        made->offset = static_cast<uint64_t>(*at);
      }
      end = made->offset + made->bytes();
      result.fields.push_back(std::move(*made));
    }
    result.field_bytes = (end + alignment - 1) / alignment * alignment;
    if (auto bytes = toml_.integer(table, "bytes", what, false)) {
      if (*bytes < static_cast<int64_t>(end) || *bytes > 4096)
        toml_.wrong(*table.get("bytes"), fmt::format("{}: bytes = {}", what, *bytes),
                    fmt::format("the fields take {} bytes", end));
      result.field_bytes = static_cast<uint64_t>(*bytes);
    }
  }

  void values(const toml::table& entry, const std::string& where, Field& made) {
    const std::string what = fmt::format("{} `{}`, value", where, made.name);
    const toml::node* node = entry.get("value");
    if (!node) return toml_.missing(entry, "value", fmt::format("{} `{}`", where, made.name));
    const auto add = [&](const toml::node& one) { made.values.push_back(value(one, what, made.type).value_or("0")); };
    if (const toml::array* list = node->as_array()) {
      for (const toml::node& one : *list) add(one);
      if (static_cast<int64_t>(list->size()) != made.count)
        toml_.wrong(*node, fmt::format("{}: {} values for {} elements", what, list->size(), made.count),
                    "count says how many elements the field has");
    } else {
      add(*node);
    }
  }

  // { name = "x", pointer = "x + 4*n" }
  void pointer(const toml::table& entry, const std::string& where, Field& made) {
    const std::string what = fmt::format("{} `{}`, pointer", where, made.name);
    auto text = toml_.string(entry, "pointer", where, true);
    if (!text) return;
    const size_t plus = text->find('+');
    std::string name = text->substr(0, plus);
    while (!name.empty() && name.back() == ' ') name.pop_back();
    made.buffer = name;
    for (const char* key : {"type", "value", "count"})
      if (entry.get(key)) toml_.wrong(*entry.get(key), fmt::format("{}: a pointer has no `{}`", what, key));
    pointers_.push_back({name, entry.get("pointer"), what});
    if (plus == std::string::npos) return;
    base::Place origin = toml_.place(entry.get("pointer")->source());
    origin.column += static_cast<uint32_t>(plus + 2);
    auto addend = launch::Expression::parse(text->substr(plus + 1), origin);
    if (!addend) {
      toml_.findings.insert(toml_.findings.end(), addend.findings().begin(), addend.findings().end());
      return;
    }
    context_.only_params(*addend, *entry.get("pointer"), what);
    made.addend = std::move(*addend);
  }

  void pointer_target(const std::string& name, const toml::node& node, const std::string& what) {
    if (name == "null") return;
    std::vector<std::string> buffers;
    for (const Argument& argument : task_.arguments)
      if (argument.buffer()) buffers.push_back(argument.name);
    context_.one_of(name, buffers, node, what);
  }

 public:
  // Outputs that prefixes lean on must be integers, and counted wholly themselves.
  void check_prefixes() {
    for (const auto& [name, node, what] : prefixes_) {
      std::vector<std::string> outputs;
      for (const Argument& argument : task_.arguments)
        if (argument.output() && !argument.record() && !isa::is_float(argument.type) && !argument.valid)
          outputs.push_back(argument.name);
      context_.one_of(name, outputs, *node, what + ", integer output");
    }
  }

 private:
  ReadContext& context_;
  launch::TomlReader& toml_;
  Task& task_;
  std::vector<Pointer> pointers_;  // to be looked at when all arguments are known
  std::vector<Pointer> prefixes_;
};

}  // namespace

uint64_t Field::bytes() const {
  const uint64_t one = type == isa::Type::none ? 8 : static_cast<uint64_t>(isa::bytes_of(type));
  return one * static_cast<uint64_t>(count);
}

void read_arguments(ReadContext& context, const toml::table& root) {
  ArgumentReader reader(context);
  reader.read(root);
  reader.check_prefixes();
}

const std::vector<std::string>& fill_names() {
  static const std::vector<std::string> names{"normal", "uniform",     "heavy",   "spike",    "ties",
                                              "sorted", "permutation", "offsets", "constant", "spd"};
  return names;
}

}  // namespace ptxlab::task
