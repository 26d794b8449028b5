#include "task/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
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
  return base::error(code, std::move(message), std::move(hint), place);
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

const Fill* fill_of(const std::vector<Fill>& fills, int index) {
  if (fills.empty()) return nullptr;
  return &fills[static_cast<size_t>(index) % fills.size()];
}

// Those of a buffer, or of each field of a record.
std::vector<const std::vector<Fill>*> fill_lists(const Argument& argument) {
  std::vector<const std::vector<Fill>*> lists{&argument.fills};
  for (const Field& field : argument.fields) lists.push_back(&field.fills);
  return lists;
}

size_t fill_count(const Task& task) {
  size_t count = 1;
  for (const Argument& argument : task.arguments)
    for (const std::vector<Fill>* fills : fill_lists(argument)) count = std::max(count, fills->size());
  return count;
}

// The fills that tell this case from its neighbours: those of the arguments that have several.
std::string fill_label(const Task& task, int index) {
  std::string label;
  for (const Argument& argument : task.arguments) {
    for (const std::vector<Fill>* fills : fill_lists(argument)) {
      const Fill* fill = fill_of(*fills, index);
      if (!fill || (fills->size() < 2 && fill_count(task) > 1)) continue;
      const std::string word = fill->name == "file" ? fill->file : fill->name;
      if (label.find(word) == std::string::npos) label += (label.empty() ? "" : "+") + word;
    }
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

// Special values go over a fill only where the task does not bound it: indices stay legal, and matrices positive definite.
bool takes_special(isa::Type type, const std::vector<Fill>& fills) {
  return isa::is_float(type) && std::all_of(fills.begin(), fills.end(), [](const Fill& fill) {
           return !fill.bounded() && fill.file.empty() && fill.name != "spd";
         });
}
bool takes_special(const Argument& argument) {
  if (!argument.buffer() || argument.kind == Argument::Kind::out) return false;
  if (!argument.record()) return takes_special(argument.type, argument.fills);
  return std::any_of(argument.fields.begin(), argument.fields.end(),
                     [](const Field& field) { return takes_special(field.type, field.fills); });
}

std::vector<std::string> special_classes(const Task& task) {
  std::vector<std::string> classes;
  if (std::any_of(task.arguments.begin(), task.arguments.end(),
                  [](const Argument& argument) { return takes_special(argument); }))
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
      switch (argument.kind) {
        case Argument::Kind::in:
        case Argument::Kind::out:
        case Argument::Kind::inout: buffer(argument, fill); break;
        case Argument::Kind::scalar: scalar(argument); break;
        case Argument::Kind::structure: structure(argument); break;
      }
      if (!findings_.empty()) return std::move(findings_);
    }
    return std::move(data_);
  }

  base::Result<FillSpec> spec(const Argument& argument) {
    const Fill* chosen = fill_of(argument.fills, data_.what.fill);
    FillSpec spec;
    if (!chosen || !chosen->file.empty()) {
      error("TASK0013", argument.place,
            fmt::format("argument `{}` has no fill that can be made in parts", argument.name));
    } else {
      std::vector<int64_t> square{1, 1};  // whether a matrix is square is asked where it is made
      if (auto made = spec_of(argument, argument.fills, argument.type, argument.name, square)) spec = *made;
    }
    if (!findings_.empty()) return std::move(findings_);
    return spec;
  }

 private:
  void error(const char* code, const base::Place& place, std::string message, std::string hint = "") {
    findings_.push_back(fault(code, place, std::move(message), std::move(hint)));
  }

  std::optional<double> formula(const std::string& text, const base::Place& place) {
    auto value = evaluate_formula(
        text,
        [this](std::string_view name) {
          auto found = lookup(data_.what.sizes, name);
          return found ? std::optional<double>(static_cast<double>(*found)) : std::nullopt;
        },
        place);
    if (value) return *value;
    append(value.findings());
    return std::nullopt;
  }

  // A value of a scalar argument or of a struct's field, in its type.
  std::optional<launch::Binding::Scalar> value(const std::string& text, isa::Type type, base::Place place,
                                               const std::string& what) {
    launch::Binding::Scalar scalar;
    scalar.type = std::string(isa::name_of(type));
    place.file = task_.file.string();
    if (isa::is_float(type)) {
      auto number = formula(text, place);
      if (!number) return std::nullopt;
      store_element({reinterpret_cast<uint8_t*>(&scalar.bits), 8}, type, 0, *number);
      return scalar;
    }
    auto parsed = Expression::parse(text, place);
    assert(parsed.ok() && "the reader parsed it");
    auto number = evaluate(*parsed, task_, data_.what.sizes);
    if (!number) return append(number.findings()), std::nullopt;
    const int bits = isa::bits_of(type);
    const bool negative = isa::is_signed(type);
    const int64_t low = !negative ? 0 : bits == 64 ? INT64_MIN : -(int64_t{1} << (bits - 1));
    const int64_t high = bits == 64 ? INT64_MAX : (int64_t{1} << (negative ? bits - 1 : bits)) - 1;
    if (*number < low || *number > high) {
      error("TASK0011", place, fmt::format("{}: {} = {} does not fit {}", what, text, *number, scalar.type));
      return std::nullopt;
    }
    scalar.integer = *number;
    scalar.bits =
        bits == 64 ? static_cast<uint64_t>(*number) : static_cast<uint64_t>(*number) & ((uint64_t{1} << bits) - 1);
    return scalar;
  }

  void scalar(const Argument& argument) {
    if (auto made = value(argument.value, argument.type, argument.place, fmt::format("argument `{}`", argument.name)))
      data_.binding.scalars[argument.name] = *made;
  }

  // Of the task's buffer arguments; the reader saw to it that it is there.
  uint32_t buffer_index(std::string_view name) const {
    uint32_t index = 0;
    for (const Argument& argument : task_.arguments) {
      if (argument.name == name) return index;
      index += argument.buffer();
    }
    return index;
  }

  void structure(const Argument& argument) {
    launch::Binding::Struct made;
    made.bytes.assign(argument.field_bytes, 0);
    for (const Field& field : argument.fields) {
      const std::string what = fmt::format("argument `{}`, field `{}`", argument.name, field.name);
      if (field.type == isa::Type::none) {
        if (field.buffer == "null") continue;
        auto addend = evaluate(field.addend, task_, data_.what.sizes);
        if (!addend) return append(addend.findings());
        if (*addend < 0)
          return error("TASK0011", field.place,
                       fmt::format("{}: {} bytes in front of `{}`", what, -*addend, field.buffer));
        made.pointers.push_back(
            {static_cast<uint32_t>(field.offset), buffer_index(field.buffer), static_cast<uint64_t>(*addend)});
        continue;
      }
      const auto width = static_cast<size_t>(isa::bytes_of(field.type));
      for (int64_t i = 0; i < field.count; ++i) {
        // One value for all, or one for each.
        const std::string& text = field.values[field.values.size() == 1 ? 0 : static_cast<size_t>(i)];
        auto one = value(text, field.type, field.place, what);
        if (!one) return;
        std::memcpy(made.bytes.data() + field.offset + static_cast<size_t>(i) * width, &one->bits, width);
        // For references: "p.n", and "p.dims.2" in arrays.
        const std::string name = field.count == 1 ? fmt::format("{}.{}", argument.name, field.name)
                                                  : fmt::format("{}.{}.{}", argument.name, field.name, i);
        data_.binding.scalars[name] = *one;
      }
    }
    data_.binding.structs[argument.name] = std::move(made);
  }

  void append(const base::Findings& more) { findings_.insert(findings_.end(), more.begin(), more.end()); }

  // The buffer's shape; its bytes go into `bytes`.
  bool shape_of(const Argument& argument, std::vector<int64_t>& shape, int64_t& bytes) {
    bytes = argument.record() ? static_cast<int64_t>(argument.field_bytes) : isa::bytes_of(argument.type);
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
    if (argument.record()) shape.push_back(static_cast<int64_t>(argument.field_bytes));
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
    input.resize(bytes);
    if (argument.record()) return fill_records(argument, shape, input);
    const Fill& chosen = *fill_of(argument.fills, data_.what.fill);
    if (!chosen.file.empty()) return from_file(argument, chosen, bytes, input);
    auto spec = spec_of(argument, argument.fills, argument.type, argument.name, shape);
    if (!spec) return;
    const uint64_t row_bytes =
        static_cast<uint64_t>(shape.back()) * static_cast<uint64_t>(isa::bytes_of(argument.type));
    fill_rows(*spec, row_bytes, input);
  }

  // Each field as a buffer of its own, scattered over the records.
  void fill_records(const Argument& argument, const std::vector<int64_t>& shape, std::vector<uint8_t>& input) {
    const uint64_t stride = argument.field_bytes, row_records = static_cast<uint64_t>(shape[shape.size() - 2]);
    for (const Field& field : argument.fields) {
      auto spec = spec_of(argument, field.fills, field.type, argument.name + "." + field.name,
                          {static_cast<int64_t>(row_records) * field.count});
      if (!spec) return;
      const uint64_t width = field.bytes();
      std::vector<uint8_t> row_bytes(row_records * width);
      for (uint64_t row = 0; row < input.size() / (row_records * stride); ++row) {
        fill_row(*spec, row, row_bytes);
        for (uint64_t i = 0; i < row_records; ++i)
          std::memcpy(input.data() + (row * row_records + i) * stride + field.offset, row_bytes.data() + i * width,
                      width);
      }
    }
  }

  std::optional<FillSpec> spec_of(const Argument& argument, const std::vector<Fill>& fills, isa::Type type,
                                  const std::string& name, const std::vector<int64_t>& shape) {
    const Fill& chosen = *fill_of(fills, data_.what.fill);
    FillSpec spec;
    if (!bounds(argument, chosen, spec)) return std::nullopt;
    spec.name = chosen.name;
    spec.type = type;
    spec.seed = base::derive_seed(data_.what.seed, name);
    const std::string& special = data_.what.special;
    if (special == "nan" || special == "inf") {
      if (std::count(argument.special.begin(), argument.special.end(), special)) spec.special = special;
    } else if (!special.empty() && takes_special(type, fills)) {
      spec.name = special;
    }
    if (chosen.name == "spd" && (shape.size() < 2 || shape[shape.size() - 1] != shape[shape.size() - 2])) {
      error("TASK0012", argument.place,
            fmt::format(
                "argument `{}`: the fill `spd` makes square matrices, the last two dimensions are not equal at {}",
                name, data_.what.label()));
      return std::nullopt;
    }
    return spec;
  }

  bool bounds(const Argument& argument, const Fill& fill, FillSpec& spec) {
    if (!fill.bounded()) return true;
    std::vector<double> values;
    for (const Expression& bound : fill.bounds) {
      auto value = evaluate(bound, task_, data_.what.sizes);
      if (!value) return append(value.findings()), false;
      values.push_back(static_cast<double>(*value));
    }
    for (const Formula& bound : fill.formulas) {
      auto value = formula(bound.text, bound.place);
      if (!value) return false;
      values.push_back(*value);
    }
    spec.bounded = true;
    spec.low = fill.name == "offsets" ? 0 : values.front();
    spec.high = values.back();
    if (spec.low > spec.high) {
      base::Place place = fill.bounds.empty() ? fill.formulas[0].place : fill.bounds[0].origin();
      if (place.line == 0) place = argument.place;
      error("TASK0012", place,
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
