#include "case_kernel.h"

#include <algorithm>
#include <bit>
#include <fstream>
#include <map>
#include <sstream>

#include "isa/type.h"

namespace ptxlab::twin {
namespace {

namespace fs = std::filesystem;

struct Parts {
  std::string command;
  std::vector<std::string> must_find;
  std::map<std::string, std::string> files;
};

Parts parts_of(const fs::path& path) {
  Parts out;
  std::ifstream in(path);
  std::string line, title;
  std::map<std::string, size_t> repeats;
  while (std::getline(in, line)) {
    if (line.starts_with("--- ")) {
      std::istringstream words(line.substr(4));
      std::string how;
      words >> title >> how >> repeats[title];
      if (how != "repeat") repeats[title] = 1;
    } else if (!title.empty()) {
      out.files[title] += line + "\n";
    } else if (line.starts_with("$ ")) {
      out.command = line.substr(2);
    } else if (line.starts_with("must-find:")) {
      std::istringstream codes(line.substr(10));
      for (std::string code; codes >> code;) out.must_find.push_back(code.substr(0, code.find(',')));
    }
  }
  for (auto& [name, text] : out.files) {
    const std::string once = text;
    for (size_t i = 1; i < repeats[name]; ++i) text += once;
  }
  return out;
}

launch::Dim3 dims(const std::string& text) {
  launch::Dim3 out{1, 1, 1};
  std::istringstream in(text);
  std::string part;
  for (size_t i = 0; i < 3 && std::getline(in, part, ','); ++i) out[i] = static_cast<uint32_t>(std::stoul(part));
  return out;
}

void append_value(std::vector<uint8_t>& bytes, const std::string& text, isa::Type type) {
  uint64_t bits;
  if (type == isa::Type::f32)
    bits = std::bit_cast<uint32_t>(std::stof(text));
  else if (type == isa::Type::f64)
    bits = std::bit_cast<uint64_t>(std::stod(text));
  else if (text[0] == '-')
    bits = static_cast<uint64_t>(std::stoll(text));
  else
    bits = std::stoull(text, nullptr, 0);
  for (int i = 0; i < isa::bytes_of(type); ++i) bytes.push_back(static_cast<uint8_t>(bits >> (8 * i)));
}

std::optional<Argument> argument_of(std::string spec, const Parts& parts) {
  Argument out;
  const std::string kind = spec.substr(0, spec.find(':'));
  std::string rest = spec.substr(spec.find(':') + 1);
  if (kind == "out") return zeros(std::stoull(rest));
  const bool is_buffer = kind == "in" || kind == "inout";
  out.writable = kind != "in";
  if (kind == "same" || spec.find('=') < spec.find(':')) return std::nullopt;
  if (is_buffer && rest[0] == '@') {
    const auto file = parts.files.find(rest.substr(1));
    if (file == parts.files.end()) return std::nullopt;
    out.kind = Argument::Kind::buffer;
    out.bytes.assign(file->second.begin(), file->second.end());
    return out;
  }
  const std::string type_name = is_buffer ? rest.substr(0, rest.find(':')) : kind;
  if (is_buffer) rest = rest.substr(rest.find(':') + 1);
  const auto type = isa::type_named(type_name);
  if (!type) return std::nullopt;
  std::vector<uint8_t> bytes;
  std::istringstream in(rest);
  for (std::string value; std::getline(in, value, ',');) append_value(bytes, value, *type);
  if (is_buffer) {
    out.kind = Argument::Kind::buffer;
    out.bytes = bytes;
  } else {
    std::memcpy(&out.bits, bytes.data(), bytes.size());
  }
  return out;
}

}  // namespace

std::optional<CaseKernel> read_case_kernel(const fs::path& path) {
  const Parts parts = parts_of(path);
  const auto text = parts.files.find("kernel.ptx");
  if (!parts.command.starts_with("ptxlab run kernel.ptx") || text == parts.files.end()) return std::nullopt;
  CaseKernel out;
  out.bad = path.filename().string().starts_with("bad-");
  out.must_find = parts.must_find;
  out.text = text->second;
  std::istringstream words(parts.command);
  for (std::string word, value; words >> word;) {
    if (!word.starts_with("--")) continue;
    words >> value;
    if (word == "--grid")
      out.grid = dims(value);
    else if (word == "--block")
      out.block = dims(value);
    else if (word == "--shared")
      out.shared_bytes = static_cast<uint32_t>(std::stoul(value));
    else if (word == "--plan" || word == "--cluster")
      return std::nullopt;
    else if (word == "--arg") {
      auto argument = argument_of(value, parts);
      if (!argument) return std::nullopt;
      out.arguments.push_back(std::move(*argument));
    }
  }
  return out;
}

std::vector<CaseKernel> all_case_kernels() {
  const fs::path root = fs::path(PTXLAB_SOURCE_DIR) / "tests" / "cases";
  std::vector<CaseKernel> out;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".case") continue;
    if (auto kernel = read_case_kernel(entry.path())) {
      kernel->name = fs::relative(entry.path(), root).string();
      out.push_back(std::move(*kernel));
    }
  }
  std::sort(out.begin(), out.end(), [](const CaseKernel& a, const CaseKernel& b) { return a.name < b.name; });
  return out;
}

}  // namespace ptxlab::twin
