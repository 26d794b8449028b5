#include "rewrite/vector_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "analysis/registers.h"
#include "rewrite/loop_front.h"
#include "rewrite/vector_access.h"

namespace ptxlab::rewrite {
namespace {

using analysis::kNone;

class Emitter {
 public:
  Emitter(const Flow& flow, const ElementRegion& region, const Grouping& grouping, Editor& editor)
      : flow_(flow),
        body_(flow.function.body),
        region_(region),
        grouping_(grouping),
        e_(editor),
        width_(grouping.width),
        shift_(std::countr_zero(static_cast<unsigned>(grouping.width))) {}

  // In front of a loop that stays for whatever the guards refuse.
  Statements loop(const std::string& exit) {
    auto original = e_.fresh_label("scalar");
    e_.comment("ptxlab rule vectorise: " + std::to_string(width_) + " neighbouring elements a thread.");
    e_.comment("The loop below this code stays for what the guards refuse: few threads, short ranges, unaligned rows.");
    for (uint32_t s : region_.setup) e_.copy(body_[s], {}, {});
    begin();
    if (region_.step.kind == ptx::Operand::Kind::reg)
      step_ = widened(region_.step, false);
    else {
      step_ = e_.fresh(isa::Type::b64);
      e_.emit("mov.u64", {name(step_), region_.step.name});
    }
    if (region_.index_scale > 1) e_.emit("shr.u64", {name(step_), name(step_), scale_shift()});
    e_.comment("Neighbours belonged to different threads, so that they cannot depend on each other.");
    leave_if("lt", "u64", name(step_), std::to_string(width_), original);
    check_cta_size(original);
    leave_if("lt", compare_type(), name(bound_), std::to_string(width_), original);
    save_pointers();
    uint32_t at = e_.fresh(isa::Type::b64);
    e_.emit("shl.b64", {name(at), name(thread_), std::to_string(shift_)});
    check_alignment(at, original);
    vector_loop(at);
    tail_loop(exit);
    e_.label(original);
    return e_.take();
  }

  // In place of "if (i < n)" and its body.
  Statements guarded(const std::string& exit) {
    auto scalar = e_.fresh_label("scalar");
    e_.comment("ptxlab rule vectorise: " + std::to_string(width_) +
               " neighbouring elements a thread, for a grid as much smaller.");
    for (const auto& leave : region_.leave_if) e_.emit_if(leave.reg, leave.negated, "bra", {exit});
    begin();
    uint32_t at = e_.fresh(isa::Type::b64), end = e_.fresh(isa::Type::b64);
    e_.emit("shl.b64", {name(at), name(thread_), std::to_string(shift_)});
    leave_if("ge", compare_type(), name(at), name(bound_), exit);
    e_.comment("A group that the bound cuts, and one whose addresses are not aligned, are done element by element.");
    e_.emit("add.s64", {name(end), name(at), std::to_string(width_)});
    leave_if("gt", compare_type(), name(end), name(bound_), scalar);
    work_on({at}, {check_alignment(at, scalar)});
    e_.emit("bra", {exit});
    e_.label(scalar);
    e_.emit(fmt::format("min.{}", compare_type()), {name(end), name(end), name(bound_)});
    auto again = e_.fresh_label("element");
    e_.label(again);
    set_index(at, 0, {});
    copy_body({}, 0);
    e_.emit("add.s64", {name(at), name(at), "1"});
    uint32_t p = e_.fresh(isa::Type::pred);
    e_.emit(fmt::format("setp.lt.{}", compare_type()), {name(p), name(at), name(end)});
    e_.emit_if(p, false, "bra", {again});
    e_.emit("bra", {exit});
    return e_.take();
  }

 private:
  std::string name(uint32_t reg) const { return e_.name(reg); }
  // 32-bit bounds are widened, so that no sum below can wrap.
  std::string compare_type() const { return region_.index_bits == 64 && !region_.index_signed ? "u64" : "s64"; }

  uint32_t widened(const ptx::Operand& operand, bool is_signed) {
    uint32_t wide = e_.fresh(isa::Type::b64);
    if (operand.kind == ptx::Operand::Kind::integer)
      e_.emit("mov.u64", {name(wide), operand.name});
    else if (isa::bits_of(e_.type(operand.id)) == 64)
      e_.emit("mov.u64", {name(wide), name(operand.id)});
    else
      e_.emit(is_signed ? "cvt.s64.s32" : "cvt.u64.u32", {name(wide), name(operand.id)});
    return wide;
  }

  void begin() {
    ptx::Operand index;
    index.kind = ptx::Operand::Kind::reg;
    index.id = region_.index_reg;
    thread_ = widened(index, false);
    bound_ = widened(region_.bound, region_.index_signed);
    if (region_.index_scale == 1) return;
    // From here on elements are counted, not what the index counts.
    e_.emit("shr.u64", {name(thread_), name(thread_), scale_shift()});
    e_.emit("add.s64", {name(bound_), name(bound_), std::to_string(region_.index_scale - 1)});
    e_.emit("shr.s64", {name(bound_), name(bound_), scale_shift()});
  }

  std::string scale_shift() const {
    return std::to_string(std::countr_zero(static_cast<uint64_t>(region_.index_scale)));
  }

  void leave_if(std::string_view relation, std::string_view type, const std::string& a, const std::string& b,
                const std::string& to) {
    uint32_t p = e_.fresh(isa::Type::pred);
    e_.emit(fmt::format("setp.{}.{}", relation, type), {name(p), a, b});
    e_.emit_if(p, false, "bra", {to});
  }

  void check_cta_size(const std::string& original) {
    if (region_.threads == 0) return;
    uint32_t size = e_.fresh(isa::Type::b32);
    e_.comment("The loop's stride has the CTA's size built in.");
    e_.emit("mov.u32", {name(size), "%ntid.x"});
    leave_if("ne", "u32", name(size), std::to_string(region_.threads), original);
  }

  // Registers that move along are rebuilt from their value for element 0.
  void save_pointers() {
    for (const auto& pointer : region_.pointers) {
      bool wide = isa::bits_of(e_.type(pointer.reg)) == 64;
      uint32_t base = e_.fresh(wide ? isa::Type::b64 : isa::Type::b32);
      if (wide) {
        e_.emit("mad.lo.s64", {name(base), name(thread_), std::to_string(-pointer.stride), name(pointer.reg)});
      } else {
        uint32_t narrow = e_.fresh(isa::Type::b32);
        e_.emit("cvt.u32.u64", {name(narrow), name(thread_)});
        e_.emit("mad.lo.s32", {name(base), name(narrow), std::to_string(-pointer.stride), name(pointer.reg)});
      }
      pointer_bases_.push_back(base);
    }
  }

  // index = at, and pointers to match, into the given registers.
  void place(uint32_t at, uint32_t index, const std::vector<uint32_t>& pointers) {
    if (region_.index_bits == 64)
      e_.emit("mov.b64", {name(index), name(at)});
    else
      e_.emit("cvt.u32.u64", {name(index), name(at)});
    if (region_.index_scale > 1)
      e_.emit(region_.index_bits == 64 ? "shl.b64" : "shl.b32", {name(index), name(index), scale_shift()});
    for (size_t i = 0; i < pointers.size(); ++i) {
      auto stride = std::to_string(region_.pointers[i].stride);
      if (isa::bits_of(e_.type(pointers[i])) == 64) {
        e_.emit("mad.lo.s64", {name(pointers[i]), name(at), stride, name(pointer_bases_[i])});
      } else {
        uint32_t narrow = e_.fresh(isa::Type::b32);
        e_.emit("cvt.u32.u64", {name(narrow), name(at)});
        e_.emit("mad.lo.s32", {name(pointers[i]), name(narrow), stride, name(pointer_bases_[i])});
      }
    }
  }

  // The body's own registers for one element of the group; `idle` are not read.
  void set_index(uint32_t at, int element, const std::set<uint32_t>& idle) {
    if (element == 0) {
      std::vector<uint32_t> pointers;
      for (const auto& pointer : region_.pointers) pointers.push_back(pointer.reg);
      if (!idle.count(region_.index_reg) || !pointers.empty()) place(at, region_.index_reg, pointers);
      return;
    }
    auto step = [&](uint32_t reg, int64_t by) {
      if (idle.count(reg)) return;
      e_.emit(isa::bits_of(e_.type(reg)) == 64 ? "add.s64" : "add.s32", {name(reg), name(reg), std::to_string(by)});
    };
    step(region_.index_reg, region_.index_scale);
    for (const auto& pointer : region_.pointers) step(pointer.reg, pointer.stride);
  }

  // The addresses of the group that begins at `at`, by access, computed in registers of their own.
  std::vector<uint32_t> addresses(uint32_t at) {
    std::map<uint32_t, uint32_t> renamed;
    uint32_t index = e_.fresh(e_.type(region_.index_reg));
    renamed[region_.index_reg] = index;
    std::vector<uint32_t> pointers;
    for (const auto& pointer : region_.pointers) {
      pointers.push_back(e_.fresh(e_.type(pointer.reg)));
      renamed[pointer.reg] = pointers.back();
    }
    place(at, index, pointers);
    for (uint32_t s : region_.address_slice) {
      const auto& instruction = *body_[s].instruction();
      auto reads = renamed;
      for (uint32_t written : analysis::register_use(instruction).writes) renamed[written] = e_.fresh(e_.type(written));
      copy_renamed(body_[s], reads, renamed);
    }
    std::vector<uint32_t> found;
    for (const auto& access : grouping_.accesses) {
      auto it = renamed.find(access.address_reg);
      found.push_back(it == renamed.end() ? access.address_reg : it->second);
    }
    return found;
  }

  // "add r, r, x" reads the old name and writes the new one.
  void copy_renamed(ptx::Statement statement, const std::map<uint32_t, uint32_t>& reads,
                    const std::map<uint32_t, uint32_t>& writes) {
    auto& operands = statement.instruction()->operands;
    if (operands[0].kind == ptx::Operand::Kind::reg) operands[0].id = writes.at(operands[0].id);
    e_.copy(statement, only_sources(reads, operands[0].id), {});
  }

  // The renaming for sources must not catch the destination again.
  static std::map<uint32_t, uint32_t> only_sources(std::map<uint32_t, uint32_t> reads, uint32_t destination) {
    reads.erase(destination);
    return reads;
  }

  int chunk_bytes(const ElementAccess& access) const { return rewrite::chunk_bytes(access, width_, flow_.function); }

  // Also the addresses that it looked at.
  std::vector<uint32_t> check_alignment(uint32_t at, const std::string& otherwise) {
    auto found = addresses(at);
    std::map<int, uint32_t> together;  // by alignment: all addresses or'ed
    for (size_t i = 0; i < found.size(); ++i) {
      int bytes = chunk_bytes(grouping_.accesses[i]);
      auto it = together.find(bytes);
      if (it == together.end()) {
        together[bytes] = found[i];
        continue;
      }
      uint32_t both = e_.fresh(isa::Type::b64);
      e_.emit("or.b64", {name(both), name(it->second), name(found[i])});
      it->second = both;
    }
    for (const auto& [bytes, all] : together) {
      uint32_t low = e_.fresh(isa::Type::b64);
      e_.comment(fmt::format("Vector accesses of {} bytes need addresses that are multiples of it.", bytes));
      e_.emit("and.b64", {name(low), name(all), std::to_string(bytes - 1)});
      leave_if("ne", "s64", name(low), "0", otherwise);
    }
    return found;
  }

  // The groups that begin at `starts`: all their loads, their bodies in order, all their stores.
  void work_on(const std::vector<uint32_t>& starts, const std::vector<std::vector<uint32_t>>& places) {
    using Elements = std::vector<std::vector<uint32_t>>;  // registers by access and place in the group
    std::vector<Elements> groups(starts.size(), Elements(grouping_.accesses.size()));
    for (size_t g = 0; g < starts.size(); ++g) {
      for (size_t a = 0; a < grouping_.accesses.size(); ++a) {
        const auto& access = grouping_.accesses[a];
        for (int k = 0; k < width_ * static_cast<int>(access.lanes); ++k)
          groups[g][a].push_back(e_.fresh(value_type(access, flow_.function)));
        if (!access.store) vector_access(access, flow_.function, width_, places[g][a], groups[g][a], e_);
      }
    }
    auto idle = not_needed();
    for (size_t g = 0; g < starts.size(); ++g)
      for (int k = 0; k < width_; ++k) {
        e_.comment(fmt::format("Element {} of {}.", k + 1, width_));
        set_index(starts[g], k, idle);
        copy_body(groups[g], k);
      }
    for (size_t g = 0; g < starts.size(); ++g)
      for (size_t a = 0; a < grouping_.accesses.size(); ++a)
        if (grouping_.accesses[a].store)
          vector_access(grouping_.accesses[a], flow_.function, width_, places[g][a], groups[g][a], e_);
  }

  bool vectorised(uint32_t statement) const {
    return std::any_of(grouping_.accesses.begin(), grouping_.accesses.end(),
                       [&](const auto& access) { return access.statement == statement; });
  }

  // Address arithmetic that nothing but vectorised accesses needs is left out of their group: fills unneeded_, and
  // answers which of the index and the pointers are then not read.
  std::set<uint32_t> not_needed() {
    const auto& definitions = flow_.definitions;
    unneeded_.clear();
    for (auto it = region_.address_slice.rbegin(); it != region_.address_slice.rend(); ++it) {
      bool needed = false;
      for (uint32_t written : analysis::register_use(*body_[*it].instruction()).writes)
        for (uint32_t d : definitions.of(written))
          if (definitions.all()[d].statement == *it)
            for (uint32_t use : definitions.uses(d)) needed = needed || is_needed(use, *it);
      if (!needed) unneeded_.insert(*it);
    }
    std::set<uint32_t> idle{region_.index_reg};
    for (const auto& pointer : region_.pointers) idle.insert(pointer.reg);
    for (uint32_t s : region_.body) {
      const auto* instruction = body_[s].instruction();
      if (!instruction || unneeded_.count(s) || vectorised(s)) continue;
      for (uint32_t reg : analysis::register_use(*instruction).reads) idle.erase(reg);
    }
    return idle;
  }

  // Later slice statements were looked at before; a use further up can only be in the next round of a loop.
  bool is_needed(uint32_t use, uint32_t definition) const {
    if (use <= definition) return true;
    if (unneeded_.count(use)) return false;
    if (!vectorised(use)) return true;
    const auto& value = body_[use].instruction()->operands;
    // A store may also store what the slice computes.
    for (uint32_t written : analysis::register_use(*body_[definition].instruction()).writes)
      for (const auto& operand : value) {
        if (operand.kind == ptx::Operand::Kind::reg && operand.id == written) return true;
        for (const auto& lane : operand.elements)
          if (operand.kind == ptx::Operand::Kind::vector && lane.kind == ptx::Operand::Kind::reg && lane.id == written)
            return true;
      }
    return false;
  }

  // The body for one element; accesses of the group become moves from or to its registers.
  void copy_body(const std::vector<std::vector<uint32_t>>& elements, int k) {
    std::map<std::string, std::string> labels;
    for (const auto& label : region_.inner_labels) labels[label] = e_.fresh_label("inner");
    std::string end;
    if (!region_.end_labels.empty() && leaves_early()) end = e_.fresh_label("next");
    for (const auto& label : region_.end_labels) labels[label] = end;
    for (uint32_t s : region_.body) {
      if (std::holds_alternative<ptx::Loc>(body_[s].what) && k > 0) continue;
      if (!elements.empty() && unneeded_.count(s)) continue;
      size_t a = 0;
      while (a < elements.size() && grouping_.accesses[a].statement != s) ++a;
      if (a == elements.size()) {
        e_.copy(body_[s], {}, labels);
        continue;
      }
      copy_lanes(grouping_.accesses[a], elements[a], k);
    }
    if (!end.empty()) e_.label(end);
  }

  // What the access of one element was: moves between the body's registers and the group's.
  void copy_lanes(const ElementAccess& access, const std::vector<uint32_t>& elements, int k) {
    const auto& value = body_[access.statement].instruction()->operands[access.store ? 1 : 0];
    for (uint32_t lane = 0; lane < access.lanes; ++lane) {
      uint32_t one = elements[static_cast<size_t>(k) * access.lanes + lane], reg = access.value_regs[lane];
      if (!access.store) {
        if (reg != kNone) e_.move(reg, name(one));
        continue;
      }
      const auto& operand = value.kind == ptx::Operand::Kind::vector ? value.elements[lane] : value;
      e_.move(one, reg != kNone ? name(reg) : operand.name);
    }
  }

  bool leaves_early() const {
    for (uint32_t s : region_.body)
      if (const auto* instruction = body_[s].instruction())
        for (const auto& operand : instruction->operands)
          if (operand.kind == ptx::Operand::Kind::label &&
              std::find(region_.end_labels.begin(), region_.end_labels.end(), operand.name) != region_.end_labels.end())
            return true;
    return false;
  }

  void vector_loop(uint32_t at) {
    uint32_t last = e_.fresh(isa::Type::b64), stride = e_.fresh(isa::Type::b64);
    e_.emit("add.s64", {name(last), name(bound_), std::to_string(-width_)});
    e_.emit("shl.b64", {name(stride), name(step_), std::to_string(shift_)});
    auto rest = e_.fresh_label("rest");
    if (grouping_.in_flight == 2) pairs_of_groups(at, last, stride);
    leave_if("gt", compare_type(), name(at), name(last), rest);
    auto again = e_.fresh_label("group");
    e_.label(again);
    work_on({at}, {addresses(at)});
    e_.emit("add.s64", {name(at), name(at), name(stride)});
    repeat_while_le(at, last, again);
    e_.label(rest);
  }

  void repeat_while_le(uint32_t at, uint32_t last, const std::string& again) {
    uint32_t p = e_.fresh(isa::Type::pred);
    e_.emit(fmt::format("setp.le.{}", compare_type()), {name(p), name(at), name(last)});
    e_.emit_if(p, false, "bra", {again});
  }

  // Two groups a round, while there are two.
  void pairs_of_groups(uint32_t at, uint32_t last, uint32_t stride) {
    uint32_t last_pair = e_.fresh(isa::Type::b64), second = e_.fresh(isa::Type::b64);
    e_.comment("Two groups in flight.");
    e_.emit("sub.s64", {name(last_pair), name(last), name(stride)});
    auto single = e_.fresh_label("single"), again = e_.fresh_label("pair");
    // The difference may be negative, whatever the bound's type.
    leave_if("gt", "s64", name(at), name(last_pair), single);
    e_.label(again);
    e_.emit("add.s64", {name(second), name(at), name(stride)});
    auto first_places = addresses(at), second_places = addresses(second);
    work_on({at, second}, {first_places, second_places});
    e_.emit("add.s64", {name(at), name(second), name(stride)});
    uint32_t p = e_.fresh(isa::Type::pred);
    e_.emit("setp.le.s64", {name(p), name(at), name(last_pair)});
    e_.emit_if(p, false, "bra", {again});
    e_.label(single);
  }

  void tail_loop(const std::string& exit) {
    e_.comment("The last elements, fewer than a group, one a thread.");
    uint32_t at = e_.fresh(isa::Type::b64), left = e_.fresh(isa::Type::b64);
    e_.emit("and.b64", {name(left), name(bound_), std::to_string(width_ - 1)});
    e_.emit("sub.s64", {name(at), name(bound_), name(left)});
    e_.emit("add.s64", {name(at), name(at), name(thread_)});
    leave_if("ge", compare_type(), name(at), name(bound_), exit);
    auto again = e_.fresh_label("element");
    e_.label(again);
    set_index(at, 0, {});
    copy_body({}, 0);
    e_.emit("add.s64", {name(at), name(at), name(step_)});
    uint32_t p = e_.fresh(isa::Type::pred);
    e_.emit(fmt::format("setp.lt.{}", compare_type()), {name(p), name(at), name(bound_)});
    e_.emit_if(p, false, "bra", {again});
    e_.emit("bra", {exit});
  }

  const Flow& flow_;
  const std::vector<ptx::Statement>& body_;
  const ElementRegion& region_;
  const Grouping& grouping_;
  Editor& e_;
  int width_, shift_;
  uint32_t thread_ = 0, bound_ = 0, step_ = 0;
  std::vector<uint32_t> pointer_bases_;
  std::set<uint32_t> unneeded_;
};

}  // namespace

Statements BodyEdit::apply(std::vector<ptx::Statement> body) const {
  Statements result;
  auto gone = [&](uint32_t s) {
    return std::any_of(removed.begin(), removed.end(),
                       [&](const auto& range) { return s >= range.first && s < range.second; });
  };
  for (const auto& [s, names] : retargeted)
    for (auto& operand : body[s].instruction()->operands)
      if (auto it = names.find(operand.name); operand.kind == ptx::Operand::Kind::label && it != names.end()) {
        operand.name = it->second;
        operand.id = ~uint32_t{0};
      }
  for (uint32_t s = 0; s <= body.size(); ++s) {
    if (auto it = before.find(s); it != before.end()) result.insert(result.end(), it->second.begin(), it->second.end());
    if (s < body.size() && !gone(s)) result.push_back(std::move(body[s]));
  }
  return result;
}

Grouping group(const ElementRegion& region, const ptx::Function& function, int width) {
  Grouping grouping;
  grouping.width = width;
  bool store_left = false;
  for (const auto& access : region.accesses) {
    auto bytes = static_cast<uint32_t>(chunk_bytes(access, width, function));
    // "x[i + 1]" is never aligned when x[i] is.
    if (access.group_shift % bytes != 0 || access.offset % static_cast<int64_t>(bytes) != 0) {
      store_left = store_left || access.store;
      continue;
    }
    grouping.accesses.push_back(access);
  }
  // Stores stay in order among each other.
  if (store_left) std::erase_if(grouping.accesses, [](const auto& access) { return access.store; });
  for (const auto& access : grouping.accesses)
    grouping.widest = std::max(grouping.widest, static_cast<uint32_t>(chunk_bytes(access, width, function)));
  return grouping;
}

void emit_groups(const Flow& flow, const ElementRegion& region, const Grouping& grouping, Editor& editor,
                 BodyEdit& edit) {
  std::string exit;
  const auto& body = flow.function.body;
  for (uint32_t s = region.exit_at; s < body.size() && exit.empty(); ++s) {
    const auto* label = std::get_if<ptx::Label>(&body[s].what);
    if (!label) break;
    exit = flow.function.labels[label->id].name;
  }
  if (exit.empty()) {
    exit = editor.fresh_label("done");
    editor.label(exit);
    auto made = editor.take();
    auto& there = edit.before[region.exit_at];
    there.insert(there.begin(), made.begin(), made.end());
  }
  Emitter emitter(flow, region, grouping, editor);
  bool guarded = region.shape == ElementRegion::Shape::guarded;
  auto made = guarded ? emitter.guarded(exit) : emitter.loop(exit);
  if (region.loop != kNone) {
    put_in_front(flow, region.loop, std::move(made), editor, edit);
  } else {
    auto& there = edit.before[region.insert_at];
    there.insert(there.end(), made.begin(), made.end());
  }
  if (guarded) edit.removed.emplace_back(region.insert_at, region.covered_end);
}

}  // namespace ptxlab::rewrite
