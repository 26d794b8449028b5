#include "judge/timed_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "base/random.h"
#include "task/compare.h"
#include "task/view.h"

namespace ptxlab::judge {
namespace {

constexpr uint64_t kEdge = 64;          // elements at each end
constexpr uint64_t kRows = 32;          // of which both ends are looked at
constexpr uint64_t kDrawn = 4096;       // elements
constexpr uint64_t kKept = 6ull << 30;  // bytes of inputs that are kept
constexpr int kDraws = 64;

const std::vector<task::Fill>* fills_of(const task::View& view) {
  if (!view.field) return &view.argument->fills;
  for (const auto& field : view.argument->fields)
    if (task::view_name(*view.argument, field) == view.name) return &field.fills;
  return nullptr;
}

// Every element may have any other's value.
bool free_of_order(const task::View& view, int index) {
  const auto* fills = fills_of(view);
  if (!fills || fills->empty()) return false;
  const auto& fill = (*fills)[static_cast<size_t>(index) % fills->size()];
  if (!fill.file.empty()) return false;
  return fill.name == "normal" || fill.name == "uniform" || fill.name == "heavy" || fill.name == "spike" ||
         fill.name == "ties";
}

uint64_t offset_of(const task::View& view, uint64_t element) {
  auto width = static_cast<uint64_t>(isa::bytes_of(view.type));
  if (!view.field) return element * width;
  return element / view.count * view.stride + view.offset + element % view.count * width;
}

// Other bytes at a place, put back when it goes.
class Changed {
 public:
  Changed(uint8_t* at, std::string_view bytes) : at_(at) {
    if (!at) return;
    before_.assign(reinterpret_cast<const char*>(at), bytes.size());
    std::memcpy(at, bytes.data(), bytes.size());
  }
  ~Changed() {
    if (at_) std::memcpy(at_, before_.data(), before_.size());
  }
  Changed(const Changed&) = delete;
  Changed& operator=(const Changed&) = delete;

 private:
  uint8_t* at_;
  std::string before_;
};

uint64_t bytes_of(const base::Result<TimedInput>& made) {
  uint64_t bytes = 0;
  if (made)
    for (const auto& input : made->data.inputs) bytes += input.size();
  return bytes;
}

}  // namespace

gpu::Contest::Change choose_change(const task::Task& task, const task::CaseData& data, uint64_t seed,
                                   std::string& changed) {
  // Floats first: an integer may be an index, and though any other's value is legal too, less follows from it.
  std::vector<task::View> views = task::input_views(task);
  std::erase_if(views, [&](const task::View& view) { return !free_of_order(view, data.what.fill); });
  std::stable_sort(views.begin(), views.end(), [&](const task::View& a, const task::View& b) {
    if (isa::is_float(a.type) != isa::is_float(b.type)) return isa::is_float(a.type);
    return data.inputs[a.buffer].size() > data.inputs[b.buffer].size();
  });
  base::Random random(base::derive_seed(seed, "change"));
  for (const auto& view : views) {
    const auto& bytes = data.inputs[view.buffer];
    auto width = static_cast<size_t>(isa::bytes_of(view.type));
    uint64_t elements = task::elements_of(view, bytes.size());
    if (elements < 2) continue;
    for (int draw = 0; draw < kDraws; ++draw) {
      uint64_t to = offset_of(view, random.below(elements)), from = offset_of(view, random.below(elements));
      if (std::memcmp(bytes.data() + to, bytes.data() + from, width) == 0) continue;
      gpu::Contest::Change change;
      change.buffer = static_cast<uint32_t>(view.buffer);
      change.offset = to;
      change.bytes.assign(reinterpret_cast<const char*>(bytes.data()) + from, width);
      auto value = [&](uint64_t at) { return task::element(std::span(bytes).subspan(at, width), view.type, 0); };
      changed =
          fmt::format("the value of '{}' at byte {} is {:g} instead of {:g}", view.name, to, value(from), value(to));
      return change;
    }
  }
  changed.clear();
  return {};
}

std::vector<uint64_t> sampled_indices(uint64_t elements, uint64_t row, uint64_t seed) {
  std::vector<uint64_t> indices;
  if (elements <= kDrawn) {
    for (uint64_t i = 0; i < elements; ++i) indices.push_back(i);
    return indices;
  }
  base::Random random(seed);
  for (uint64_t i = 0; i < kEdge; ++i) indices.push_back(i), indices.push_back(elements - 1 - i);
  for (uint64_t i = 0; i < kRows && row > 1 && elements > row; ++i) {
    uint64_t at = random.below(elements / row) * row;
    indices.push_back(at), indices.push_back(at + row - 1);
  }
  for (uint64_t i = 0; i < kDrawn; ++i) indices.push_back(random.below(elements));
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  return indices;
}

task::CaseData variant_of(const TimedInput& input, uint8_t variant) {
  task::CaseData data = input.data;
  const auto& change = input.change;
  if (variant == 1 && !change.bytes.empty())
    std::memcpy(data.inputs.at(change.buffer).data() + change.offset, change.bytes.data(), change.bytes.size());
  return data;
}

base::Result<TimedInput> make_timed_input(const task::Task& task, const task::Case& what, task::Oracle* oracle) {
  auto data = task::make_case(task, what);
  if (!data) return data.findings();
  TimedInput made;
  made.data = std::move(*data);
  made.change = choose_change(task, made.data, what.seed, made.changed);
  if (!oracle) return made;
  std::random_device truly;  // nobody can know which elements are looked at
  uint64_t seed = uint64_t{truly()} << 32 | truly();
  const auto& change = made.change;
  for (uint8_t v = 0; v < (change.bytes.empty() ? 1 : gpu::kVariants); ++v) {
    // The changed word for as long as the reference is asked: a copy of all inputs would be dear.
    Changed changed(v == 1 ? made.data.inputs.at(change.buffer).data() + change.offset : nullptr, change.bytes);
    for (const auto& view : task::output_views(task)) {
      // As a multiset there is no telling which element is which.
      if (task.tolerances.at(view.name).kind == task::Tolerance::Kind::unordered) continue;
      SampledAnswer answer;
      answer.output = view.name;
      auto shape = task::shape_of(view, made.data);
      answer.indices = sampled_indices(task::elements_of(view, made.data.binding.buffers[view.buffer].bytes),
                                       static_cast<uint64_t>(shape.back()), base::derive_seed(seed, view.name));
      auto expected = oracle->expected(made.data, view.name, answer.indices);
      if (!expected) return expected.findings();
      answer.expected = std::move(*expected);
      made.answers[v].push_back(std::move(answer));
    }
  }
  return made;
}

TimedInputs::Kept TimedInputs::get(const std::string& key, const std::function<base::Result<TimedInput>()>& make) {
  std::lock_guard lock(mutex_);
  auto at = std::find_if(kept_.begin(), kept_.end(), [&](const auto& one) { return one.first == key; });
  if (at != kept_.end()) {
    std::rotate(at, at + 1, kept_.end());
    return kept_.back().second;
  }
  kept_.emplace_back(key, std::make_shared<const base::Result<TimedInput>>(make()));
  uint64_t bytes = 0;
  for (size_t i = kept_.size(); i-- > 0;) {
    bytes += bytes_of(*kept_[i].second);
    if (bytes > kKept && i + 1 < kept_.size()) {
      kept_.erase(kept_.begin(), kept_.begin() + static_cast<ptrdiff_t>(i) + 1);
      break;
    }
  }
  return kept_.back().second;
}

}  // namespace ptxlab::judge
