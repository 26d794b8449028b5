// Rule "vectorise": V neighbouring elements a thread instead of one, so that accesses become as wide as the hardware
// takes and a thread has more of them in flight. Compilers do not do it, since it moves work between threads.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ptx/printer.h"
#include "ptx/verifier.h"
#include "rewrite/aliasing.h"
#include "rewrite/finish.h"
#include "rewrite/rules.h"
#include "rewrite/vector_code.h"

namespace ptxlab::rewrite {
namespace {

using Shape = ElementRegion::Shape;

// Added to a choice's width: a round of the loop has the loads of two groups in flight.
constexpr int64_t kTwoGroups = 256;

bool block_is(const launch::Launch& launch, uint32_t threads) {
  if (launch.block.empty()) return false;
  auto value = launch.block[0].evaluate([](std::string_view) { return std::nullopt; });
  return value.ok() && *value == threads;
}

// Regions that hold for every launch of the entry and may be changed under the task's tolerance.
Recognised usable(const Subject& subject, const Flow& flow, const ptx::Function& entry) {
  Recognised found;
  bool first = true;
  for (const auto* launch : launches_of(*subject.module, *subject.plan, entry)) {
    auto here = recognise(flow, *launch);
    std::erase_if(here.regions, [&](const ElementRegion& region) {
      std::string why;
      if (region.float_accumulators && !may_change_rounding(subject))
        why = "sums would be taken in another order, which the task's tolerance forbids";
      else if (region.shape == Shape::guarded && region.threads && !block_is(*launch, region.threads))
        why = fmt::format("the kernel has a CTA of {} threads built in, the plan another", region.threads);
      if (!why.empty()) here.rejected.push_back(entry.name + ": " + why);
      return !why.empty();
    });
    if (first || here.regions.size() < found.regions.size()) found = std::move(here);
    first = false;
  }
  return found;
}

// "ceildiv(n, 256)" by 4 is "ceildiv(n, 1024)"; anything else is divided as it stands.
std::string divided(const std::string& text, int by) {
  if (text.starts_with("ceildiv(") && text.ends_with(")")) {
    int depth = 0;
    size_t comma = std::string::npos;
    bool whole = true;
    for (size_t i = 7; i < text.size(); ++i) {
      if (text[i] == '(') ++depth;
      if (text[i] == ')' && --depth == 0 && i + 1 < text.size()) whole = false;
      if (text[i] == ',' && depth == 1) comma = i;
    }
    auto divisor = comma == std::string::npos ? "" : text.substr(comma + 1, text.size() - comma - 2);
    divisor.erase(0, divisor.find_first_not_of(' '));
    if (whole && !divisor.empty() && divisor.size() < 9 && std::all_of(divisor.begin(), divisor.end(), ::isdigit))
      return fmt::format("{}, {})", text.substr(0, comma), std::stol(divisor) * by);
  }
  return fmt::format("ceildiv({}, {})", text, by);
}

class Vectorise final : public Rule {
 public:
  std::string_view name() const override { return "vectorise"; }
  Family family() const override { return Family::mapping; }
  std::string_view description() const override {
    return "gives each thread V neighbouring elements of a strided loop or guarded body, with vector accesses";
  }

  std::vector<Choice> choices(const Subject& subject) const override {
    std::set<uint32_t> sizes;
    bool loops = false;
    for (const auto& entry_name : launched_entries(subject)) {
      const auto& entry = *subject.module->function(entry_name);
      Flow flow(entry);
      for (const auto& region : usable(subject, flow, entry).regions) {
        for (const auto& access : region.accesses) sizes.insert(access.bytes);
        loops = loops || region.shape != Shape::guarded;
      }
    }
    if (sizes.empty()) return {{"4", 4}};  // apply() then says why not
    // The width that makes the narrowest access 128 bits, then what is narrower and wider.
    int full = 16 / static_cast<int>(*sizes.begin());
    std::vector<Choice> found;
    for (int width : {full, full / 2, full / 4, full * 2})
      if (width >= 2 && width <= 8) found.push_back({std::to_string(width), width});
    for (int width : {full, full / 2})
      if (loops && width >= 2 && width <= 8) found.push_back({std::to_string(width) + "x2", width + kTwoGroups});
    return found;
  }

  base::Result<Rewritten> apply(const Subject& subject, const Choice& choice) const override {
    const int width = static_cast<int>(choice.value % kTwoGroups), in_flight = choice.value >= kTwoGroups ? 2 : 1;
    ptx::Module module = *subject.module;
    launch::Plan plan = *subject.plan;
    std::vector<std::string> done, refused;
    bool plan_changed = false;
    uint32_t widest = 0;
    for (const auto& entry_name : launched_entries(subject)) {
      const auto& entry = *subject.module->function(entry_name);
      Flow flow(entry);
      auto found = usable(subject, flow, entry);
      refused.insert(refused.end(), found.rejected.begin(), found.rejected.end());
      ptx::Function changed = entry;
      Editor editor(changed, "vec");
      BodyEdit edit;
      bool guarded = false, grid_stride = false;
      size_t count = 0;
      for (const auto& region : found.regions) {
        auto grouping = group(region, entry, width);
        if (grouping.accesses.empty()) continue;
        grouping.in_flight = in_flight;
        if (subject.constraints.vector_bytes &&
            grouping.widest > static_cast<uint32_t>(*subject.constraints.vector_bytes))
          return refusal("RW0003", fmt::format("{} elements make accesses of {} bytes, the brief allows {}", width,
                                               grouping.widest, *subject.constraints.vector_bytes));
        emit_groups(flow, region, grouping, editor, edit);
        widest = std::max(widest, grouping.widest);
        guarded = guarded || region.shape == Shape::guarded;
        grid_stride = grid_stride || (region.shape == Shape::grid_stride && region.only_writer);
        ++count;
      }
      if (count == 0) continue;
      changed.body = edit.apply(std::move(changed.body));
      editor.declare();
      replace(module, std::move(changed));
      plan_changed |= divide_grids(*subject.module, entry, guarded, grid_stride, width, plan);
      done.push_back(guarded ? "the guarded body" : fmt::format("{} loop{}", count, count > 1 ? "s" : ""));
    }
    if (done.empty()) return refusal("RW0001", "nothing to vectorise" + reasons(refused));
    Rewritten result;
    result.name = fmt::format("vectorise-{}{}", width, in_flight > 1 ? "x2" : "");
    result.idea = fmt::format("{} neighbouring elements a thread in {}, accesses of up to {} bits{}", width,
                              joined(done), widest * 8, in_flight > 1 ? ", two groups in flight" : "");
    return finish(std::move(module), plan_changed ? &plan : nullptr, std::move(result));
  }

 private:
  static std::string reasons(const std::vector<std::string>& refused) {
    return refused.empty() ? ": no strided loop and no guarded body was found" : ": " + joined(refused);
  }
  static std::string joined(const std::vector<std::string>& parts) {
    std::string text;
    for (const auto& part : parts) text.append(text.empty() ? "" : "; ").append(part);
    return text;
  }
  static void replace(ptx::Module& module, ptx::Function changed) {
    for (auto& function : module.functions)
      if (function.name == changed.name && function.has_body) {
        function = std::move(changed);
        return;
      }
  }
  // A guarded body needs fewer threads. A grid-stride loop runs with any grid: one that grows with the size shrinks,
  // one that is capped ("min(...)") or fixed stays.
  static bool divide_grids(const ptx::Module& module, const ptx::Function& entry, bool guarded, bool grid_stride,
                           int width, launch::Plan& plan) {
    bool any = false;
    for (auto& launch : plan.launches) {
      if (module.entry(launch.entry) != &entry || launch.grid.empty()) continue;
      auto& x = launch.grid[0];
      bool grows = !x.names().empty() && x.text().find("min(") == std::string::npos;
      if (!guarded && !(grid_stride && grows)) continue;
      auto parsed = launch::Expression::parse(divided(x.text(), width));
      if (!parsed.ok()) continue;
      x = *parsed;
      any = true;
    }
    return any;
  }
};

}  // namespace

const Rule* vectorise_rule() {
  static const Vectorise rule;
  return &rule;
}

}  // namespace ptxlab::rewrite
