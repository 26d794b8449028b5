#include "judge/wrong_output.h"

#include <algorithm>
#include <cmath>

#include "task/compare.h"
#include "task/task.h"
#include "task/view.h"

namespace ptxlab::judge {
namespace {

// How much of an element was written with defined values.
ElementState written(const std::vector<uint8_t>& defined, size_t element, size_t bytes) {
  if (defined.empty()) return ElementState::right;
  size_t there = 0;
  for (size_t b = element * bytes; b < (element + 1) * bytes; ++b) there += defined[b] == 0xff;
  return there == bytes ? ElementState::right : there == 0 ? ElementState::unwritten : ElementState::half_written;
}

void count(WrongOutput& out) {
  double squares = 0;
  size_t finite = 0;
  for (size_t i = 0; i < out.state.size(); ++i) {
    if (out.state[i] == ElementState::not_counted) continue;
    ++out.counted;
    out.wrong += out.state[i] == ElementState::wrong;
    out.unwritten += out.state[i] == ElementState::unwritten;
    out.half_written += out.state[i] == ElementState::half_written;
    const double error = (out.got[i] - out.want[i]) / out.magnitude[i];
    if (out.magnitude[i] <= 0 || !std::isfinite(error)) continue;
    squares += error * error;
    ++finite;
  }
  out.rms = finite ? std::sqrt(squares / static_cast<double>(finite)) : 0;
}

// A wrong element that still holds what was there before the launch was not written, though it is defined.
void keeps_initial(const task::View& view, const PreparedCase& prepared, const std::vector<uint8_t>& bytes,
                   WrongOutput& out) {
  const auto& initial = prepared.data.inputs[view.buffer];
  const auto before = initial.empty() ? std::vector<uint8_t>() : task::gather(view, initial);
  const bool zeros = initial.empty() && view.argument->zeroed;
  if (before.empty() && !zeros) return;
  const auto width = static_cast<size_t>(isa::bytes_of(view.type));
  for (size_t i = 0; i < out.state.size(); ++i) {
    if (out.state[i] != ElementState::wrong && out.state[i] != ElementState::right) continue;
    bool same = true;
    for (size_t b = i * width; b < (i + 1) * width; ++b) same = same && bytes[b] == (zeros ? 0 : before[b]);
    // Right and as before says nothing: a halo that nobody has to write.
    if (same) out.state[i] = out.state[i] == ElementState::wrong ? ElementState::unwritten : ElementState::not_counted;
  }
}

WrongOutput look_at(const task::Task& task, const PreparedCase& prepared, const CaseRun& run, const Answer& answer) {
  const task::View view = task::output_view(task, answer.output);
  const auto bytes = task::gather(view, run.outputs[answer.buffer]);
  const auto defined = task::gather(view, run.defined[answer.buffer]);
  const auto width = static_cast<size_t>(isa::bytes_of(view.type));
  const size_t n = bytes.size() / width;
  WrongOutput out;
  out.name = answer.output;
  out.type = view.type;
  out.buffer = answer.buffer;
  out.shape = task::shape_of(view, prepared.data);
  out.got.resize(n);
  out.want.resize(n);
  out.magnitude.resize(n);
  out.state.assign(n, ElementState::not_counted);
  for (size_t i = 0; i < n; ++i) out.got[i] = task::element(bytes, view.type, i);
  const bool floating = isa::is_float(view.type);
  out.accumulates = !floating && view.argument->zeroed;
  for (size_t k = 0; k < answer.expected.size(); ++k) {
    const size_t i = answer.indices.empty() ? k : answer.indices[k];
    const auto& e = answer.expected[k];
    out.want[i] = floating ? e.value : static_cast<double>(e.integer);
    // Where the user's own kernel is the oracle its spread is all there is; the value itself then is the scale.
    out.magnitude[i] = e.magnitude > 0 ? e.magnitude : std::fabs(out.want[i]);
    out.state[i] = written(defined, i, width);
  }
  std::vector<uint64_t> wrong;
  const auto compared = task::compare(task, prepared.data, answer.output, bytes, answer.expected, answer.indices,
                                      answer.baseline_rms, &wrong);
  for (uint64_t i : wrong)
    if (out.state[i] == ElementState::right) out.state[i] = ElementState::wrong;
  keeps_initial(view, prepared, bytes, out);
  out.by_budget = !compared.right && compared.wrong == 0;
  count(out);
  return out;
}

}  // namespace

uint64_t most_ctas(const launch::ResolvedPlan& plan) {
  uint64_t most = 0;
  for (const auto& launch : plan.launches)
    most = std::max(most, uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2]);
  return most;
}

WrongCase look_at(const task::Task& task, const PreparedCase& prepared, const CaseRun& run) {
  WrongCase made;
  made.prepared = &prepared;
  for (const Answer& answer : prepared.answers) {
    if (answer.nothing || run.outputs.size() <= answer.buffer) continue;
    made.outputs.push_back(look_at(task, prepared, run, answer));
    made.right = made.right && made.outputs.back().bad() == 0 && !made.outputs.back().by_budget;
  }
  return made;
}

}  // namespace ptxlab::judge
