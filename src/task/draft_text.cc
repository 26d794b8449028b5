#include "task/draft_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace ptxlab::task {
namespace {

std::string quoted_list(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += fmt::format("{}\"{}\"", text.empty() ? "" : ", ", word);
  return text;
}

// A grid of n / 16 CTAs drops what is left over: such sizes divide.
std::map<std::string, long long> divisors_of(const DraftParts& parts) {
  std::map<std::string, long long> divisors;
  for (const DraftLaunch& launch : parts.launches) {
    for (const std::string& dim : launch.grid) {
      const size_t slash = dim.find(" / ");
      if (slash == std::string::npos) continue;
      const std::string name = dim.substr(0, slash), number = dim.substr(slash + 3);
      const bool digits = !number.empty() && number.size() < 6 &&
                          std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
      if (!digits || std::find(parts.params.begin(), parts.params.end(), name) == parts.params.end()) continue;
      const long long divisor = std::max(1LL, std::stoll(number));
      auto [at, fresh] = divisors.try_emplace(name, divisor);
      if (!fresh) at->second = std::lcm(at->second, divisor);
    }
  }
  return divisors;
}

long long rounded_up(long long size, const std::string& name, const std::map<std::string, long long>& divisors) {
  const auto at = divisors.find(name);
  return at == divisors.end() ? size : (size + at->second - 1) / at->second * at->second;
}

// Sizes that bring out edges, for one param at a time, the others small.
std::vector<std::string> emulate_sizes(const DraftParts& parts, const std::map<std::string, long long>& divisors) {
  static const std::vector<int> kMany{1, 31, 33, 255, 256, 257, 1009, 4099}, kFew{1, 33, 257};
  const std::vector<int>& edges = parts.params.size() > 2 ? kFew : kMany;
  std::vector<std::string> sizes;
  for (const std::string& varied : parts.params) {
    for (int edge : edges) {
      // Sizes that the kernel itself does not know (rows of a grid) have fewer edges.
      if (parts.params.size() > 1 && !parts.inner.count(varied) && (edge == 31 || edge > 33)) continue;
      std::string text;
      for (const std::string& name : parts.params)
        text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name,
                            rounded_up(name == varied ? edge : 3, name, divisors));
      text = "{ " + text + " }";
      if (std::find(sizes.begin(), sizes.end(), text) == sizes.end()) sizes.push_back(std::move(text));
    }
  }
  if (sizes.empty()) sizes.emplace_back("{}");
  return sizes;
}

void note_use(const ptx::Instruction& instruction, std::set<std::string>& words) {
  for (const std::string& word : instruction.words)
    if (word == ".approx") words.insert("approx");
  if (!instruction.words.empty() && instruction.words[0] == "griddepcontrol") words.insert("griddepcontrol");
  for (const ptx::Operand& operand : instruction.operands)
    if (operand.kind == ptx::Operand::Kind::special && operand.name.find("clock") != std::string::npos)
      words.insert("clock");
}

// assert and printf keep their texts in variables that nobody writes.
bool text_of_an_assert(const ptx::Variable& variable) {
  return variable.init && isa::bits_of(variable.type) == 8 && !variable.dims.empty() &&
         (variable.name.starts_with("$str") || variable.name.starts_with("__unnamed_"));
}

// What the kernel itself does is never held against it.
std::string allowed(const ptx::Module* compiled) {
  if (!compiled) return "";
  std::set<std::string> words;
  for (const ptx::Function& function : compiled->functions) {
    for (const ptx::Statement& statement : function.body)
      if (const ptx::Instruction* instruction = statement.instruction()) note_use(*instruction, words);
  }
  for (const ptx::Variable& variable : compiled->variables)
    if (variable.space == isa::Space::global && !text_of_an_assert(variable)) words.insert("state");
  if (words.empty()) return "";
  return fmt::format("allow = [{}]  # what the kernel itself does\n", quoted_list({words.begin(), words.end()}));
}

std::string fields_text(const DraftArgument& argument, bool record) {
  std::string text;
  for (const DraftField& field : argument.fields) {
    text += fmt::format("    {{ name = \"{}\"", field.name);
    if (!field.pointer.empty()) {
      text += fmt::format(", pointer = \"{}\"", field.pointer);
    } else {
      text += fmt::format(", type = \"{}\"", field.type);
      if (field.count > 1) text += fmt::format(", count = {}", field.count);
      if (!record) text += fmt::format(", value = {}", field.value);
    }
    text += " },\n";
  }
  return "fields = [\n" + text + "  ]";
}

std::string argument_text(const DraftArgument& argument) {
  const bool record = argument.type == "record";
  std::string text = fmt::format("  {{ name = \"{}\", kind = \"{}\"", argument.name, argument.kind);
  if (argument.kind != "struct") text += fmt::format(", type = \"{}\"", argument.type);
  if (argument.kind == "scalar") {
    text += fmt::format(", value = {} }},\n", argument.value);
  } else if (argument.kind == "struct") {
    text += fmt::format(", {} }},\n", fields_text(argument, false));
  } else {
    text += fmt::format(", shape = [{}]", quoted_list(argument.shape));
    const bool input = argument.kind != "out", integers = integer_type(argument.type);
    if (record) {
      text += ", " + fields_text(argument, true);
    } else if (input && !argument.fill.empty()) {
      text += ", fill = " + argument.fill;
    } else if (input) {
      text += integers ? ", fill = [\"uniform\"]" : ", fill = [\"normal\", \"spike\"], special = [\"nan\", \"inf\"]";
    }
    text += " },\n";
    if (input && integers && argument.fill.empty() && !record)
      text += fmt::format("  # if `{}` holds indices, bound them: fill = [{{ uniform = [0, \"LIMIT - 1\"] }}]\n",
                          argument.name);
  }
  for (const std::string& remark : argument.remarks) text += fmt::format("  # ? {}\n", remark);
  return text;
}

std::string tolerance_text(const std::string& name, const std::string& type) {
  return fmt::format("\n[tolerance.{}]\nkind = \"{}\"\n", name, integer_type(type) ? "exact" : "float");
}

constexpr const char* kOracle =
    "\n# The kernel itself, run on the engine, says what is right: eight runs in which every rounding goes up or down "
    "at\n"
    "# random say how far a result may be off. With a reference in double precision ({}.reference.cc) beside the task\n"
    "# `float` is judged by that, and needs terms = \"...\", the length of the longest sum. Outputs whose order is "
    "free:\n"
    "# kind = \"unordered\".\n";

}  // namespace

bool integer_type(std::string_view type) {
  return type[0] == 's' || type[0] == 'u' || (type[0] == 'b' && type != "bf16");
}

std::string task_text(const DraftParts& parts) {
  std::string text =
      fmt::format("# A draft, made from {}. Lines with `# ?` could not be known: settle them, then run again.\n",
                  parts.file.filename().string());
  const std::map<std::string, long long> divisors = divisors_of(parts);
  std::vector<std::string> where;
  for (const auto& [name, divisor] : divisors) where.push_back(fmt::format("{} % {} == 0", name, divisor));
  text += fmt::format(
      "schema = \"ptxlab.task/1\"\nparams = [{}]\n{}{}arg = [\n", quoted_list(parts.params),
      where.empty() ? ""
                    : fmt::format("where = [{}]  # the grid leaves out what does not divide\n", quoted_list(where)),
      allowed(parts.compiled));
  for (const DraftArgument& argument : parts.arguments) text += argument_text(argument);
  text += "]\n\n[sizes]\nemulate = [\n";
  for (const std::string& size : emulate_sizes(parts, divisors)) text += fmt::format("  {},\n", size);
  std::string time;
  for (const std::string& name : parts.params) {
    const auto known = parts.sizes.find(name);
    const long long guess = parts.params.size() > 1 ? 4096 : 1 << 20;
    time += fmt::format("{}{} = {}", time.empty() ? "" : ", ", name,
                        rounded_up(known != parts.sizes.end() ? known->second : guess, name, divisors));
  }
  text += fmt::format("]\ntime = [{{ {} }}]  # ? the sizes that matter to you\n", time);
  if (!parts.instantiate.empty()) {
    text += "\n[compile]\ninstantiate = [\n";
    for (const std::string& line : parts.instantiate) text += fmt::format("  \"{}\",\n", line);
    text += "]\n";
  }
  bool output = false;
  for (const DraftArgument& argument : parts.arguments) {
    if (argument.kind != "out" && argument.kind != "inout") continue;
    if (!output) text += fmt::format(fmt::runtime(kOracle), parts.file.stem().string());
    output = true;
    if (argument.type != "record") text += tolerance_text(argument.name, argument.type);
    for (const DraftField& field : argument.fields)
      text += tolerance_text(argument.name + "." + field.name, field.type);
  }
  if (!output)
    text += "\n# ? no output was found: an argument above needs kind = \"out\" or \"inout\", and a [tolerance.NAME]\n";
  return text;
}

std::string plan_text(const DraftParts& parts) {
  std::string text =
      fmt::format("# A draft, made from {}{}.\nschema = \"ptxlab.plan/1\"\n",
                  parts.file.extension() == ".ptx" ? "" : "the launches in ", parts.file.filename().string());
  if (!parts.symbols.empty()) {
    text += "symbol = [\n";
    for (const auto& [variable, from] : parts.symbols)
      text += fmt::format("  {{ name = \"{}\", from = \"{}\" }},\n", variable, from);
    text += "]\n";
  }
  for (const DraftLaunch& launch : parts.launches) {
    text += "\n[[launch]]\n";
    for (const std::string& remark : launch.remarks) text += fmt::format("# ? {}\n", remark);
    text += fmt::format("entry = \"{}\"\ngrid = [{}]\nblock = [{}]\n", launch.entry, quoted_list(launch.grid),
                        quoted_list(launch.block));
    if (!launch.loops.empty()) {
      std::string loops;
      for (const auto& [variable, count] : launch.loops)
        loops += fmt::format("{}[\"{}\", \"{}\"]", loops.empty() ? "" : ", ", variable, count);
      text += launch.loops.size() == 1 ? fmt::format("for = {}\n", loops) : fmt::format("for = [{}]\n", loops);
    }
    if (!launch.shared.empty()) text += fmt::format("shared = \"{}\"\n", launch.shared);
    if (launch.cooperative) text += "cooperative = true\n";
    text += fmt::format("args = [{}]\n", quoted_list(launch.arguments));
  }
  return text;
}

}  // namespace ptxlab::task
