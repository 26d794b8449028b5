// The compiled instructions against what the source seemed to say: kinds of buffers, and which integers are indices.
#include <fmt/format.h>

#include <algorithm>

#include "launch/argument.h"
#include "task/draft_text.h"
#include "task/ptx_uses.h"

namespace ptxlab::task {
namespace {

struct Known {
  bool read = false, written = false, used = false, neighbours = false;
  std::set<std::string> indexes;
};

class Applier {
 public:
  Applier(DraftParts& parts, std::vector<std::string>& open) : parts_(parts), open_(open) {}

  void run() {
    for (const DraftLaunch& launch : parts_.launches) collect(launch);
    for (DraftArgument& argument : parts_.arguments) {
      const auto known = known_.find(argument.name);
      if (known == known_.end() || !known->second.used || argument.kind == "scalar" || argument.kind == "struct")
        continue;
      kind(argument, known->second);
      indices(argument, known->second);
    }
  }

 private:
  void collect(const DraftLaunch& launch) {
    const ptx::Function* entry = parts_.compiled->entry(launch.entry);
    if (!entry || entry->parameters.size() != launch.arguments.size()) return;
    const std::vector<PtxUse> uses = uses_of_parameters(*entry);
    for (size_t i = 0; i < uses.size(); ++i) {
      for (const std::string& name : buffers_of(launch.arguments[i])) {
        Known& known = known_[name];
        known.used = true;
        known.read |= uses[i].read;
        known.written |= uses[i].written;
        known.neighbours |= uses[i].neighbours;
        for (uint32_t target : uses[i].indexes)
          for (const std::string& other : buffers_of(launch.arguments[target]))
            if (other != name) known.indexes.insert(other);
      }
    }
  }

  // A buffer, those that a pick chooses from, or those that a struct points to (whose use is then shared by all).
  std::vector<std::string> buffers_of(const std::string& argument) const {
    auto form = launch::read_argument(argument);
    if (!form) return {};
    std::vector<std::string> names;
    for (const std::string& name : launch::names_of_places(*form)) {
      for (const DraftArgument& one : parts_.arguments) {
        if (one.name != name || one.kind == "scalar") continue;
        if (one.kind != "struct") names.push_back(name);
      }
    }
    return names;
  }

  void settle(DraftArgument& argument, const std::string& kind) {
    argument.kind = kind;
    // The remarks on how the source seemed to use it are settled.
    const auto about_use = [](const std::string& text) {
      return text.find("how `") == 0 || text.find("is not const and only read") != std::string::npos;
    };
    for (const std::string& remark : argument.remarks)
      if (about_use(remark)) std::erase(open_, remark);
    std::erase_if(argument.remarks, about_use);
  }

  void kind(DraftArgument& argument, const Known& known) {
    if (!known.read && !known.written) {
      if (argument.kind == "in") return;
      note(argument, fmt::format("the compiled kernel touches `{}` nowhere", argument.name));
      return;
    }
    settle(argument, known.read && known.written ? "inout" : known.written ? "out" : "in");
  }

  void indices(DraftArgument& argument, const Known& known) {
    if (known.indexes.empty() || !integer_type(argument.type) || argument.kind == "out") return;
    std::string targets, limit;
    for (const DraftArgument& other : parts_.arguments) {
      if (!known.indexes.count(other.name) || other.shape.empty()) continue;
      targets += (targets.empty() ? "`" : ", `") + other.name + "`";
      // A row of a matrix, else an element.
      if (limit.empty()) limit = other.shape[0];
    }
    if (limit.empty()) return;
    if (known.neighbours) {
      argument.fill = fmt::format("{{ offsets = [\"{}\"] }}", limit);
      note(argument,
           fmt::format("`{}` is read in pairs, i and i + 1, and reaches {}: running sums up to {} are a guess",
                       argument.name, targets, limit));
    } else {
      argument.fill = fmt::format("{{ uniform = [0, \"{} - 1\"] }}", limit);
      note(argument, fmt::format("the values of `{}` reach {}: below {} is a guess", argument.name, targets, limit));
    }
  }

  void note(DraftArgument& argument, std::string text) {
    argument.remarks.push_back(text);
    if (std::find(open_.begin(), open_.end(), text) == open_.end()) open_.push_back(std::move(text));
  }

  DraftParts& parts_;
  std::vector<std::string>& open_;
  std::map<std::string, Known> known_;
};

}  // namespace

void apply_compiled_uses(DraftParts& parts, std::vector<std::string>& open) {
  if (parts.compiled) Applier(parts, open).run();
}

}  // namespace ptxlab::task
