// The tolerances of a task's outputs, one for each field of a record.
#include <fmt/format.h>

#include <algorithm>

#include "task/read_context.h"
#include "task/view.h"

namespace ptxlab::task {
namespace {

class ToleranceReader {
 public:
  explicit ToleranceReader(ReadContext& context) : context_(context), toml_(context.toml), task_(context.task) {}

  void read(const toml::table& root) {
    const toml::table* table = toml_.subtable(root, "tolerance", "task", false);
    std::vector<std::string> outputs;
    for (const Argument& argument : task_.arguments)
      if (argument.output()) outputs.push_back(argument.name);
    if (table) toml_.keys(*table, "tolerance", outputs);
    for (const Argument& argument : task_.arguments) {
      if (!argument.output()) continue;
      const toml::table* entry = table ? toml_.subtable(*table, argument.name, "tolerance", false) : nullptr;
      const toml::table& near = table ? *table : root;
      if (!argument.record()) {
        one(entry, near, argument.name, argument.type);
        continue;
      }
      std::vector<std::string> fields;
      for (const Field& field : argument.fields) fields.push_back(field.name);
      if (entry) toml_.keys(*entry, fmt::format("tolerance of `{}`", argument.name), fields);
      for (const Field& field : argument.fields)
        one(entry ? toml_.subtable(*entry, field.name, "tolerance", false) : nullptr, near, view_name(argument, field),
            field.type);
    }
  }

 private:
  void one(const toml::table* entry, const toml::table& near, const std::string& name, isa::Type type) {
    if (entry) return tolerance(*entry, name, type);
    if (!isa::is_float(type)) {
      task_.tolerances[name] = {};  // integers are exact
    } else if (toml_.findings.empty()) {
      toml_.missing(near, "tolerance." + name, "task");
    }
  }

  void tolerance(const toml::table& table, const std::string& name, isa::Type type) {
    Tolerance result;
    const std::string what = fmt::format("tolerance of `{}`", name);
    result.place = toml_.place(table.source());
    auto kind = toml_.string(table, "kind", what, true);
    if (!kind ||
        !context_.one_of(*kind, {"exact", "float", "unordered", "absolute"}, *table.get("kind"), what + ", kind"))
      return;
    const bool floating = isa::is_float(type);
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
          context_.one_of(word, {"f16", "bf16", "tf32", "f32", "f64"}, *table.get("accumulate"), what + ", accumulate"))
        result.accumulate = *isa::type_named(word);
      if (const toml::node* terms = table.get("terms")) {
        if (auto value = context_.expression(*terms, what + ", terms")) result.terms = std::move(*value);
      } else {
        result.without_terms = true;  // a finding where the task has a reference
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

  ReadContext& context_;
  launch::TomlReader& toml_;
  Task& task_;
};

}  // namespace

void read_tolerances(ReadContext& context, const toml::table& root) { ToleranceReader(context).read(root); }

}  // namespace ptxlab::task
