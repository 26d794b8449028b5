#include "task/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/file.h"
#include "base/random.h"
#include "task/fill.h"
#include "task/formula.h"

namespace ptxlab::task {
namespace {

using launch::Expression;
using launch::ResolvedBuffer;

constexpr int64_t kMaxCaseBytes = int64_t{16} << 30;
constexpr int64_t kSpecialElements = 32;  // a special-value case needs room for its values
constexpr int kMaxDraws = 10'000;

base::Finding fault(const char* code, const base::Place& place, std::string message, std::string hint = "") {
  base::Finding finding;
  finding.code = code;
  finding.place = place;
  finding.message = std::move(message);
  finding.hint = std::move(hint);
  return finding;
}

std::optional<int64_t> lookup(const Sizes& sizes, std::string_view name) {
  const auto it = sizes.find(std::string(name));
  return it == sizes.end() ? std::nullopt : std::optional<int64_t>(it->second);
}

base::Result<int64_t> evaluate(const Expression& expression, const Task& task, const Sizes& sizes) {
  return expression.evaluate([&](std::string_view name) { return lookup(sizes, name); }, task.params);
}

bool admitted(const Task& task, const Sizes& sizes) {
  for (const Expression& condition : task.where) {
    auto holds = evaluate(condition, task, sizes);
    if (!holds || *holds == 0) return false;
  }
  return true;
}

size_t fill_count(const Task& task) {
  size_t count = 1;
  for (const Argument& argument : task.arguments) count = std::max(count, argument.fills.size());
  return count;
}

const Fill* fill_of(const Argument& argument, int index) {
  if (argument.fills.empty()) return nullptr;
  return &argument.fills[static_cast<size_t>(index) % argument.fills.size()];
}

// The fills that tell this case from its neighbours: those of the arguments that have several.
std::string fill_label(const Task& task, int index) {
  std::string label;
  for (const Argument& argument : task.arguments) {
    const Fill* fill = fill_of(argument, index);
    if (!fill || (argument.fills.size() < 2 && fill_count(task) > 1)) continue;
    const std::string word = fill->name == "file" ? fill->file : fill->name;
    if (label.find(word) == std::string::npos) label += (label.empty() ? "" : "+") + word;
  }
  return label.empty() ? "fill 0" : label;
}

Case fill_case(const Task& task, const Sizes& sizes, size_t fill, uint64_t seed) {
  Case what;
  what.sizes = sizes;
  what.fill = static_cast<int>(fill);
  what.input = fill_label(task, what.fill);
  what.seed = seed;
  return what;
}

// Special values go over an argument's fill only where the task does not bound it: indices stay legal.
bool takes_special(const Argument& argument) {
  return argument.buffer() && argument.kind != Argument::Kind::out && isa::is_float(argument.type) &&
         std::all_of(argument.fills.begin(), argument.fills.end(),
                     [](const Fill& fill) { return fill.bounds.empty() && fill.file.empty(); });
}

std::vector<std::string> special_classes(const Task& task) {
  std::vector<std::string> classes;
  if (std::any_of(task.arguments.begin(), task.arguments.end(), takes_special))
    classes = {"zeros", "denormals", "large"};
  for (const char* word : {"nan", "inf"}) {
    const auto has = [&](const Argument& argument) {
      return std::count(argument.special.begin(), argument.special.end(), word) > 0;
    };
    if (std::any_of(task.arguments.begin(), task.arguments.end(), has)) classes.emplace_back(word);
  }
  return classes;
}

// Elements of the largest input that may take special values; 0 where a shape is wrong (make_case will say so).
int64_t room(const Task& task, const Sizes& sizes) {
  int64_t most = 0;
  for (const Argument& argument : task.arguments) {
    if (!takes_special(argument) && argument.special.empty()) continue;
    int64_t elements = 1;
    for (const Expression& dimension : argument.shape) {
      auto value = evaluate(dimension, task, sizes);
      if (!value || __builtin_mul_overflow(elements, *value, &elements)) return 0;
    }
    most = std::max(most, elements);
  }
  return most;
}

void add_special(const Task& task, uint64_t seed, std::vector<Case>& cases) {
  const std::vector<std::string> classes = special_classes(task);
  if (classes.empty()) return;
  std::vector<std::pair<int64_t, const Sizes*>> order;
  for (const Sizes& sizes : task.emulate) order.emplace_back(room(task, sizes), &sizes);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  size_t first = 0;
  while (first + 1 < order.size() && order[first].first < kSpecialElements) ++first;
  for (size_t i = first; i < std::min(first + 2, order.size()); ++i) {
    for (const std::string& word : classes) {
      Case what = fill_case(task, *order[i].second, 0, base::derive_seed(seed, word + std::to_string(i)));
      what.special = what.input = word;
      cases.push_back(std::move(what));
    }
  }
}

base::Result<Sizes> draw(const Task& task, base::Random& random) {
  const base::Place place{task.file.string(), 1, 1, 0};
  for (int attempt = 0; attempt < kMaxDraws; ++attempt) {
    Sizes sizes;
    for (const std::string& name : task.params) {
      const auto range = task.random_ranges.find(name);
      if (range == task.random_ranges.end())
        return fault("TASK0008", place, fmt::format("sizes, random: no range for `{}`", name));
      auto low = evaluate(range->second.first, task, sizes), high = evaluate(range->second.second, task, sizes);
      if (!low) return low.findings();
      if (!high) return high.findings();
      if (*low < 0 || *high < *low)
        return fault("TASK0008", range->second.first.origin(),
                     fmt::format("sizes, random: `{}` is drawn between {} and {}", name, *low, *high),
                     "the lowest value comes first");
      sizes[name] = *low + static_cast<int64_t>(random.below(static_cast<uint64_t>(*high - *low) + 1));
    }
    if (admitted(task, sizes)) return sizes;
  }
  return fault("TASK0008", place, fmt::format("sizes, random: {} draws and none satisfies `where`", kMaxDraws),
               "widen the ranges");
}

class CaseMaker {
 public:
  CaseMaker(const Task& task, const Case& what) : task_(task) { data_.what = what; }

  base::Result<CaseData> make(bool fill) {
    data_.binding.parameters = data_.what.sizes;
    for (const Argument& argument : task_.arguments) {
      if (argument.buffer()) {
        buffer(argument, fill);
      } else {
        scalar(argument);
      }
      if (!findings_.empty()) return std::move(findings_);
    }
    return std::move(data_);
  }

  base::Result<FillSpec> spec(const Argument& argument) {
    const Fill* chosen = fill_of(argument, data_.what.fill);
    FillSpec spec;
    if (!chosen || !chosen->file.empty())
      error("TASK0013", argument.place,
            fmt::format("argument `{}` has no fill that can be made in parts", argument.name));
    else
      fill_spec(argument, *chosen, spec);
    if (!findings_.empty()) return std::move(findings_);
    return spec;
  }

 private:
  void error(const char* code, const base::Place& place, std::string message, std::string hint = "") {
    findings_.push_back(fault(code, place, std::move(message), std::move(hint)));
  }

  void scalar(const Argument& argument) {
    launch::Binding::Scalar scalar;
    scalar.type = std::string(isa::name_of(argument.type));
    base::Place place = argument.place;
    place.file = task_.file.string();
    if (isa::is_float(argument.type)) {
      auto value = evaluate_formula(
          argument.value,
          [this](std::string_view name) {
            auto found = lookup(data_.what.sizes, name);
            return found ? std::optional<double>(static_cast<double>(*found)) : std::nullopt;
          },
          place);
      if (!value) return append(value.findings());
      store_element({reinterpret_cast<uint8_t*>(&scalar.bits), 8}, argument.type, 0, *value);
    } else {
      auto parsed = Expression::parse(argument.value, place);
      assert(parsed.ok() && "the reader parsed it");
      auto value = evaluate(*parsed, task_, data_.what.sizes);
      if (!value) return append(value.findings());
      const int bits = isa::bits_of(argument.type);
      const bool negative = isa::is_signed(argument.type);
      const int64_t low = !negative ? 0 : bits == 64 ? INT64_MIN : -(int64_t{1} << (bits - 1));
      const int64_t high = bits == 64 ? INT64_MAX : (int64_t{1} << (negative ? bits - 1 : bits)) - 1;
      if (*value < low || *value > high)
        return error(
            "TASK0011", place,
            fmt::format("argument `{}`: {} = {} does not fit {}", argument.name, argument.value, *value, scalar.type));
      scalar.integer = *value;
      scalar.bits =
          bits == 64 ? static_cast<uint64_t>(*value) : static_cast<uint64_t>(*value) & ((uint64_t{1} << bits) - 1);
    }
    data_.binding.scalars[argument.name] = scalar;
  }

  void append(const base::Findings& more) { findings_.insert(findings_.end(), more.begin(), more.end()); }

  // The buffer's shape; its bytes go into `bytes`.
  bool shape_of(const Argument& argument, std::vector<int64_t>& shape, int64_t& bytes) {
    bytes = isa::bytes_of(argument.type);
    for (const Expression& dimension : argument.shape) {
      auto value = evaluate(dimension, task_, data_.what.sizes);
      if (!value) return append(value.findings()), false;
      if (*value < 1) {
        error("TASK0010", dimension.origin(),
              fmt::format("argument `{}`: the dimension {} is {} at {}", argument.name, dimension.text(), *value,
                          data_.what.label()),
              "every dimension of a buffer is at least 1; keep such sizes out with `where`");
        return false;
      }
      shape.push_back(*value);
      if (__builtin_mul_overflow(bytes, *value, &bytes) || bytes > kMaxCaseBytes - total_) {
        error("TASK0010", dimension.origin(),
              fmt::format("argument `{}`: more than {} GiB in all at {}", argument.name, kMaxCaseBytes >> 30,
                          data_.what.label()),
              "that is more than a case may take");
        return false;
      }
    }
    total_ += bytes;
    return true;
  }

  void buffer(const Argument& argument, bool fill) {
    std::vector<int64_t> shape;
    int64_t bytes = 0;
    if (!shape_of(argument, shape, bytes)) return;
    ResolvedBuffer buffer;
    buffer.name = argument.name;
    buffer.bytes = static_cast<uint64_t>(bytes);
    const bool out = argument.kind == Argument::Kind::out;
    buffer.role = out                                   ? ResolvedBuffer::Role::out
                  : argument.kind == Argument::Kind::in ? ResolvedBuffer::Role::in
                                                        : ResolvedBuffer::Role::inout;
    buffer.init = !out              ? ResolvedBuffer::Init::data
                  : argument.zeroed ? ResolvedBuffer::Init::zero
                                    : ResolvedBuffer::Init::poison;
    data_.binding.buffers.push_back(buffer);
    std::vector<uint8_t>& input = data_.inputs.emplace_back();
    if (!out && fill) fill_buffer(argument, shape, buffer.bytes, input);
    data_.shapes.push_back(std::move(shape));
  }

  void fill_buffer(const Argument& argument, const std::vector<int64_t>& shape, uint64_t bytes,
                   std::vector<uint8_t>& input) {
    const Fill& chosen = *fill_of(argument, data_.what.fill);
    if (!chosen.file.empty()) return from_file(argument, chosen, bytes, input);
    FillSpec spec;
    if (!fill_spec(argument, chosen, spec)) return;
    input.resize(bytes);
    const uint64_t row_bytes =
        static_cast<uint64_t>(shape.back()) * static_cast<uint64_t>(isa::bytes_of(argument.type));
    for (uint64_t row = 0; row < bytes / row_bytes; ++row)
      fill_row(spec, row, std::span(input).subspan(row * row_bytes, row_bytes));
  }

  bool fill_spec(const Argument& argument, const Fill& chosen, FillSpec& spec) {
    if (!bounds(argument, chosen, spec)) return false;
    spec.name = chosen.name;
    spec.type = argument.type;
    spec.seed = base::derive_seed(data_.what.seed, argument.name);
    const std::string& special = data_.what.special;
    if (special == "nan" || special == "inf") {
      if (std::count(argument.special.begin(), argument.special.end(), special)) spec.special = special;
    } else if (!special.empty() && takes_special(argument)) {
      spec.name = special;
    }
    return true;
  }

  bool bounds(const Argument& argument, const Fill& fill, FillSpec& spec) {
    if (fill.bounds.empty()) return true;
    std::vector<double> values;
    for (const Expression& bound : fill.bounds) {
      auto value = evaluate(bound, task_, data_.what.sizes);
      if (!value) return append(value.findings()), false;
      values.push_back(static_cast<double>(*value));
    }
    spec.bounded = true;
    spec.low = fill.name == "offsets" ? 0 : values.front();
    spec.high = values.back();
    if (spec.low > spec.high) {
      error("TASK0012", fill.bounds[0].origin(),
            fmt::format("argument `{}`: fill {} between {} and {} at {}", argument.name, fill.name, spec.low, spec.high,
                        data_.what.label()));
      return false;
    }
    return true;
  }

  void from_file(const Argument& argument, const Fill& fill, uint64_t bytes, std::vector<uint8_t>& input) {
    auto content = base::read_file(task_.folder / fill.file, static_cast<size_t>(kMaxCaseBytes));
    if (!content) return append(content.findings());
    if (content->size() < bytes)
      return error("TASK0013", argument.place,
                   fmt::format("argument `{}`: the file `{}` has {} bytes, {} are needed at {}", argument.name,
                               fill.file, content->size(), bytes, data_.what.label()));
    input.assign(content->begin(), content->begin() + static_cast<ptrdiff_t>(bytes));
  }

  const Task& task_;
  CaseData data_;
  int64_t total_ = 0;
  base::Findings findings_;
};

}  // namespace

std::string Case::label() const {
  std::string text;
  for (const auto& [name, value] : sizes) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return fmt::format("{}{}{} seed {}", text, text.empty() ? "" : " ", input, seed);
}

Case case_of(const Sizes& sizes, uint64_t seed) {
  Case what;
  what.sizes = sizes;
  what.input = "fill 0";
  what.seed = seed;
  return what;
}

base::Result<std::vector<Case>> emulate_cases(const Task& task, uint64_t seed) {
  std::vector<Case> cases;
  const size_t fills = fill_count(task);
  // Small numbers, so that a label's seed can be typed.
  const auto short_seed = [seed](const std::string& purpose) {
    return base::derive_seed(seed, purpose) % 1'000'000'007;
  };
  for (const Sizes& sizes : task.emulate) {
    for (size_t fill = 0; fill < fills; ++fill)
      cases.push_back(fill_case(task, sizes, fill, short_seed("case" + std::to_string(cases.size()))));
  }
  add_special(task, short_seed("special"), cases);
  base::Random random(base::derive_seed(seed, "sizes"));
  for (int i = 0; i < task.random_count; ++i) {
    auto sizes = draw(task, random);
    if (!sizes) return sizes.findings();
    cases.push_back(fill_case(task, *sizes, static_cast<size_t>(i) % fills, short_seed("random" + std::to_string(i))));
  }
  for (Case& what : cases) what.seed %= 1'000'000'007;
  return cases;
}

base::Result<CaseData> make_case(const Task& task, const Case& what) { return CaseMaker(task, what).make(true); }
base::Result<CaseData> bind_case(const Task& task, const Case& what) { return CaseMaker(task, what).make(false); }
base::Result<FillSpec> fill_spec(const Task& task, const Argument& argument, const Case& what) {
  return CaseMaker(task, what).spec(argument);
}

}  // namespace ptxlab::task
