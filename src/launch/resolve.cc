// A plan, a module and one case's binding become launches with numbers: what an engine or a worker executes.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <optional>
#include <set>

#include "base/nearest.h"
#include "isa/type.h"
#include "launch/argument.h"
#include "launch/geometry.h"
#include "launch/plan.h"
#include "launch/tensor_map.h"

namespace ptxlab::launch {
namespace {

constexpr int64_t kMaxScratch = int64_t{1} << 40;  // beyond the memory of any device
constexpr int64_t kMaxShared = 227 * 1024;         // the largest of any target so far
constexpr uint64_t kMaxSymbolValue = 4096;         // of a scalar or a struct
constexpr std::array<int64_t, 3> kMaxGrid{2147483647, 65535, 65535};
constexpr std::array<int64_t, 3> kMaxBlock{1024, 1024, 64};
constexpr std::array<const char*, 3> kAxes{"x", "y", "z"};

class Resolver {
 public:
  Resolver(const Plan& plan, const ptx::Module& module, const Binding& binding)
      : plan_(plan), module_(module), binding_(binding) {}

  base::Result<ResolvedPlan> resolve(std::vector<uint32_t>* which) {
    result_.buffers = binding_.buffers;
    for (const auto& [name, value] : binding_.parameters) known_.push_back(name);
    for (const auto& [name, scalar] : binding_.scalars)
      if (!is_float(scalar)) known_.push_back(name);
    lets();
    for (const Scratch& buffer : plan_.scratch) scratch(buffer);
    for (const TensorMap& map : plan_.tensor_maps) tensor_map(map);
    for (const Symbol& one : plan_.symbols) symbol(one);
    for (size_t i = 0; i < plan_.launches.size() && findings_.size() < 20;) {
      size_t end = i + 1;
      while (end < plan_.launches.size() && !plan_.launches[i].loops.empty() &&
             same_loops(plan_.launches[i], plan_.launches[end]))
        ++end;
      body(i, end, 0);
      i = end;
    }
    if (!findings_.empty()) return std::move(findings_);
    if (which) *which = std::move(which_);
    return std::move(result_);
  }

 private:
  static bool is_float(const Binding::Scalar& scalar) {
    const auto type = isa::type_named(scalar.type);
    return type && isa::is_float(*type);
  }

  void error(std::string_view code, const base::Place& place, std::string message, std::string hint = "") {
    findings_.push_back({std::string(code), base::Severity::error, place, std::move(message), std::move(hint), {}});
  }

  // Names resolve in this order: (scratch and buffers are places,) task argument, let, param.
  std::optional<int64_t> lookup(std::string_view name) const {
    const std::string key(name);
    if (auto it = binding_.scalars.find(key); it != binding_.scalars.end() && !is_float(it->second))
      return it->second.integer;
    if (auto it = lets_.find(key); it != lets_.end()) return it->second;
    if (auto it = binding_.parameters.find(key); it != binding_.parameters.end()) return it->second;
    for (const auto& [loop, value] : loop_values_)
      if (loop == name) return value;
    return std::nullopt;
  }

  static bool same_loops(const Launch& a, const Launch& b) {
    return std::equal(a.loops.begin(), a.loops.end(), b.loops.begin(), b.loops.end(), [](const Loop& x, const Loop& y) {
      return x.name == y.name && x.count.text() == y.count.text();
    });
  }

  // The launches [begin, end) share their loops; those from `depth` on are still to be run.
  void body(size_t begin, size_t end, size_t depth) {
    const std::vector<Loop>& loops = plan_.launches[begin].loops;
    if (depth == loops.size()) {
      for (size_t i = begin; i < end && findings_.size() < 20; ++i) launch(plan_.launches[i], i + 1);
      return;
    }
    const Loop& loop = loops[depth];
    const std::string what = fmt::format("launch {}, for `{}`", begin + 1, loop.name);
    if (taken(loop.name))
      return error("PLAN0027", loop.place, fmt::format("{}: the name is taken", what),
                   "a loop variable's name differs from the task's params and arguments, lets and scratch");
    auto count = evaluate(loop.count, what, loop.place);
    if (!count) return;
    if (*count < 0 || *count > static_cast<int64_t>(kMaxLaunches))
      return error("PLAN0031", loop.count.origin().line ? loop.count.origin() : loop.place,
                   fmt::format("{}: runs {} times", what, *count),
                   fmt::format("a loop runs 0 to {} times", kMaxLaunches));
    const size_t before = findings_.size();
    for (int64_t value = 0; value < *count; ++value) {
      loop_values_.emplace_back(loop.name, value);
      known_.push_back(loop.name);
      body(begin, end, depth + 1);
      known_.pop_back();
      loop_values_.pop_back();
      if (findings_.size() > before) return;  // the next round would say the same
    }
  }

  bool taken(const std::string& name) const {
    return lets_.count(name) || binding_.parameters.count(name) || binding_.scalars.count(name) ||
           binding_.structs.count(name) || buffer_named(name) || map_named(name);
  }

  std::optional<int64_t> evaluate(const Expression& expression, const std::string& what, const base::Place& fallback) {
    auto value = expression.evaluate([this](std::string_view name) { return lookup(name); }, known_);
    if (value) return *value;
    for (base::Finding finding : value.findings()) {
      if (expression.origin().line == 0) finding.place = fallback;
      finding.message = fmt::format("{}: {}", what, finding.message);
      findings_.push_back(std::move(finding));
    }
    return std::nullopt;
  }

  void lets() {
    for (const auto& [name, expression] : plan_.lets) {
      if (taken(name)) {
        error("PLAN0027", expression.origin(), fmt::format("let `{}`: the name is taken", name),
              "a let's name differs from the task's params and arguments and from other lets");
        continue;
      }
      if (auto value = evaluate(expression, fmt::format("let `{}`", name), {})) {
        lets_[name] = *value;
        known_.push_back(name);
      }
    }
  }

  std::optional<uint32_t> buffer_named(std::string_view name) const {
    // Scratch comes after the task's arguments and wins.
    for (size_t i = result_.buffers.size(); i-- > 0;)
      if (result_.buffers[i].name == name) return static_cast<uint32_t>(i);
    return std::nullopt;
  }

  void scratch(const Scratch& buffer) {
    const std::string what = fmt::format("scratch `{}`", buffer.name);
    if (taken(buffer.name))
      return error("PLAN0027", buffer.place, fmt::format("{}: the name is taken", what),
                   "a scratch buffer's name differs from the task's params and arguments and from lets");
    auto bytes = evaluate(buffer.bytes, what, buffer.place);
    if (!bytes) return;
    if (*bytes < 1 || *bytes > kMaxScratch)
      return error("PLAN0025", buffer.place, fmt::format("{}: {} bytes", what, *bytes),
                   "scratch is between 1 byte and 1 TiB");
    result_.buffers.push_back({buffer.name, static_cast<uint64_t>(*bytes), ResolvedBuffer::Role::scratch,
                               buffer.zero ? ResolvedBuffer::Init::zero : ResolvedBuffer::Init::poison});
  }

  std::optional<uint32_t> map_named(std::string_view name) const {
    for (size_t i = 0; i < result_.tensor_maps.size(); ++i)
      if (result_.tensor_maps[i].name == name) return static_cast<uint32_t>(i);
    return std::nullopt;
  }

  void tensor_map(const TensorMap& map) {
    const std::string what = fmt::format("tensor map `{}`", map.name);
    if (taken(map.name))
      return error("PLAN0027", map.place, fmt::format("{}: the name is taken", what),
                   "a tensor map's name differs from the task's params and arguments, lets and scratch");
    auto form = read_argument(map.buffer, map.buffer_place);
    if (!form) return note(form.findings(), what);
    std::optional<Address> at;
    if (form->pick) {
      at = place_of(*form->pick, map.buffer_place, what);
    } else if (auto buffer = form->null ? std::nullopt : buffer_named(form->name)) {
      at = simple_place(*form, *buffer, map.buffer_place, what);
    } else {
      return unknown(form->name.empty() ? map.buffer : form->name, map.buffer_place, what);
    }
    if (at && !at->buffer) return error("PLAN0033", map.buffer_place, fmt::format("{}: it would lie at null", what));
    TensorMapNumbers numbers;
    bool good = at.has_value();
    auto take = [&](const std::vector<Expression>& from, const char* key, std::vector<int64_t>& into) {
      for (const Expression& expression : from) {
        auto value = evaluate(expression, fmt::format("{}, {}", what, key), map.place);
        into.push_back(value.value_or(0));
        good = good && value;
      }
    };
    take(map.dims, "dims", numbers.dims);
    take(map.strides, "strides", numbers.strides);
    take(map.box, "box", numbers.box);
    take(map.element_strides, "element_strides", numbers.element_strides);
    if (!good) return;
    const ResolvedBuffer& buffer = result_.buffers[*at->buffer];
    numbers.buffer = *at->buffer;
    numbers.addend = at->addend;
    numbers.buffer_bytes = buffer.bytes;
    numbers.in_buffer = buffer.name;
    auto made = make_tensor_map(map, numbers);
    if (made) {
      result_.tensor_maps.push_back(std::move(*made));
    } else {
      findings_.insert(findings_.end(), made.findings().begin(), made.findings().end());
    }
  }

  const ptx::Function* entry_of(const Launch& launch, const std::string& where) {
    if (const ptx::Function* entry = module_.entry(launch.entry); entry && entry->has_body) return entry;
    std::vector<std::string> entries;
    for (const ptx::Function& function : module_.functions)
      if (function.entry && function.has_body) entries.push_back(function.name);
    std::string hint = base::nearest(launch.entry, entries);
    if (!hint.empty()) {
      hint = fmt::format("did you mean `{}`?", hint);
    } else {
      hint = entries.empty() ? "the module has no entry" : "entries:";
      for (const std::string& name : entries) hint += " " + name;
    }
    error("PLAN0020", launch.place,
          fmt::format("{}: the module has no entry `{}`, or several that would fit", where, launch.entry), hint);
    return nullptr;
  }

  // One of grid, block, cluster; nothing where it is wrong.
  std::optional<Dim3> dims(const std::vector<Expression>& values, const char* name, const std::array<int64_t, 3>& most,
                           const Launch& launch, const std::string& where) {
    Dim3 result{1, 1, 1};
    bool good = true;
    if (values.size() > 3) {
      error("PLAN0024", launch.place,
            fmt::format("{}: `{}` has {} dimensions, not 1 to 3", where, name, values.size()));
      return std::nullopt;
    }
    for (size_t axis = 0; axis < values.size(); ++axis) {
      const base::Place place = values[axis].origin().line ? values[axis].origin() : launch.place;
      auto value = evaluate(values[axis], fmt::format("{}, {} {}", where, name, kAxes[axis]), launch.place);
      good = good && value;
      if (!value) continue;
      if (*value < 1 || *value > most[axis]) {
        error("PLAN0024", place, fmt::format("{}: {}.{} is {}", where, name, kAxes[axis], *value),
              *value == 0 ? "a launch that is not wanted for this size takes `when`"
                          : fmt::format("it must be between 1 and {}", most[axis]));
        good = false;
        continue;
      }
      result[axis] = static_cast<uint32_t>(*value);
    }
    if (!good) return std::nullopt;
    return result;
  }

  void launch(const Launch& launch, size_t number) {
    const std::string where = fmt::format("launch {} (`{}`)", number, launch.entry);
    if (launch.when) {
      auto wanted = evaluate(*launch.when, where + ", when", launch.place);
      if (!wanted || *wanted == 0) return;
    }
    const ptx::Function* entry = entry_of(launch, where);
    auto grid = dims(launch.grid, "grid", kMaxGrid, launch, where);
    auto block = dims(launch.block, "block", kMaxBlock, launch, where);
    auto cluster = dims(launch.cluster, "cluster", {kMaxCluster, kMaxCluster, kMaxCluster}, launch, where);
    auto shared = evaluate(launch.shared, where + ", shared", launch.place);
    if (shared && (*shared < 0 || *shared > kMaxShared))
      error("PLAN0026", launch.shared.origin().line ? launch.shared.origin() : launch.place,
            fmt::format("{}: {} bytes of dynamic shared memory", where, *shared),
            fmt::format("it must be between 0 and {}", kMaxShared));
    if (!entry || !grid || !block || !cluster || !shared) return;
    ResolvedLaunch resolved;
    resolved.entry = entry->name;
    resolved.grid = *grid;
    resolved.block = *block;
    resolved.cluster = *cluster;
    resolved.shared_bytes = static_cast<uint32_t>(*shared);
    resolved.cooperative = launch.cooperative;
    if (launch.cluster.empty()) resolved.cluster = required_cluster(*entry);
    for (const GeometryFault& fault : geometry_faults(*entry, resolved)) {
      const std::vector<Expression>& from = fault.of_block ? launch.block : launch.cluster;
      const base::Place place = !from.empty() && from[0].origin().line ? from[0].origin() : launch.place;
      error(fault.code, place, fmt::format("{}: {}", where, fault.message), fault.hint);
    }
    arguments(*entry, launch, resolved, where);
    if (result_.launches.size() == kMaxLaunches)
      return error("PLAN0031", launch.place, fmt::format("{}: more than {} launches in all", where, kMaxLaunches));
    result_.launches.push_back(std::move(resolved));
    which_.push_back(static_cast<uint32_t>(number - 1));
  }

  // Where an argument's bytes go: a parameter's place among the launch's, or a symbol's value.
  struct Slot {
    std::vector<uint8_t>& bytes;
    std::vector<Relocation>& pointers;
    std::vector<TensorMapUse>& tensor_maps;
    uint32_t offset;
    const ptx::Variable& variable;
    std::string label;  // "the parameter `p0`"
    std::string_view code;
  };

  void arguments(const ptx::Function& entry, const Launch& launch, ResolvedLaunch& resolved, const std::string& where) {
    if (launch.arguments.size() != entry.parameters.size())
      return error("PLAN0021", launch.place,
                   fmt::format("{}: {} arguments, the entry has {} parameters", where, launch.arguments.size(),
                               entry.parameters.size()));
    const ParameterLayout layout = layout_of(entry);
    resolved.parameters.assign(layout.bytes, 0);
    resolved.starts = layout.offsets;
    for (size_t i = 0; i < entry.parameters.size(); ++i) {
      const base::Place place = i < launch.argument_places.size() ? launch.argument_places[i] : launch.place;
      const std::string what = fmt::format("{}, argument {} (`{}`)", where, i + 1, launch.arguments[i]);
      auto form = read_argument(launch.arguments[i], place);
      if (form) {
        argument(*form,
                 {resolved.parameters, resolved.pointers, resolved.tensor_maps, layout.offsets[i], entry.parameters[i],
                  fmt::format("the parameter `{}`", entry.parameters[i].name), "PLAN0023"},
                 place, what);
      } else {
        note(form.findings(), what);
      }
    }
  }

  void note(const base::Findings& findings, const std::string& what) {
    for (base::Finding finding : findings) {
      finding.message = fmt::format("{}: {}", what, finding.message);
      findings_.push_back(std::move(finding));
    }
  }

  bool fits(uint64_t bytes, const Slot& slot, std::string_view kind, const base::Place& place,
            const std::string& what) {
    if (slot.variable.bytes() == bytes) return true;
    error(slot.code, place,
          fmt::format("{}: {} of {} bytes for {} of {} bytes", what, kind, bytes, slot.label, slot.variable.bytes()));
    return false;
  }

  void argument(const ArgumentForm& form, const Slot& slot, const base::Place& place, const std::string& what) {
    if (form.null) {
      fits(8, slot, "a null pointer", place, what);
      return;  // the bytes are 0 already
    }
    if (form.pick) {
      if (!fits(8, slot, "an address", place, what)) return;
      if (auto at = place_of(*form.pick, place, what); at && at->buffer)
        slot.pointers.push_back({slot.offset, *at->buffer, at->addend});
      return;
    }
    if (auto buffer = buffer_named(form.name)) return pointer(form, *buffer, slot, place, what);
    if (auto map = map_named(form.name)) return tensor_map_use(form, *map, slot, place, what);
    if (auto one = binding_.structs.find(form.name); form.bare && one != binding_.structs.end())
      return structure(one->second, slot, place, what);
    auto scalar = binding_.scalars.find(form.name);
    if (form.bare && scalar != binding_.scalars.end()) {
      const auto type = isa::type_named(scalar->second.type);
      assert(type && "the task's reader admits known types only");
      if (fits(static_cast<uint64_t>(isa::bytes_of(*type)), slot,
               fmt::format("a scalar of type {}", scalar->second.type), place, what))
        store(slot, scalar->second.bits, isa::bytes_of(*type));
      return;
    }
    // A map that is wrong has been reported where it stands.
    for (const TensorMap& map : plan_.tensor_maps)
      if (map.name == form.name) return;
    if (form.bare && !lookup(form.name)) return unknown(form.name, place, what);
    integer(form, slot, place, what);
  }

  // By value, as `__grid_constant__ const CUtensorMap` is passed: instructions take its address, at a multiple of 64.
  void tensor_map_use(const ArgumentForm& form, uint32_t map, const Slot& slot, const base::Place& place,
                      const std::string& what) {
    using Map = ResolvedTensorMap;
    if (!form.bare)
      return error("PLAN0022", place, fmt::format("{}: a tensor map in an expression", what),
                   "a tensor map is an argument of its own; an offset belongs to its `buffer`");
    if (slot.variable.bytes() != Map::kBytes)
      return error(slot.code, place,
                   fmt::format("{}: a tensor map for {} of {} bytes", what, slot.label, slot.variable.bytes()),
                   "it is passed by value: .param .align 64 .b8 NAME[128]");
    if (slot.variable.alignment() % Map::kAlignment != 0 || slot.offset % Map::kAlignment != 0)
      return error(
          slot.code, place,
          fmt::format("{}: a tensor map for {}, aligned to {} bytes", what, slot.label, slot.variable.alignment()),
          "a tensor map lies at a multiple of 64: .align 64 .b8 NAME[128]");
    slot.tensor_maps.push_back({slot.offset, map});
  }

  void structure(const Binding::Struct& value, const Slot& slot, const base::Place& place, const std::string& what) {
    if (!fits(value.bytes.size(), slot, "a struct", place, what)) return;
    std::copy(value.bytes.begin(), value.bytes.end(), slot.bytes.begin() + slot.offset);
    for (Relocation pointer : value.pointers) {
      pointer.offset += slot.offset;
      slot.pointers.push_back(pointer);
    }
  }

  struct Address {
    std::optional<uint32_t> buffer;  // nothing: null
    uint64_t addend = 0;
  };

  // A place with every pick decided; nothing where it is wrong.
  std::optional<Address> place_of(const PlaceForm& form, const base::Place& fallback, const std::string& what) {
    const base::Place place = form.place.line ? form.place : fallback;
    Address address;
    if (form.pick) {
      auto index = evaluate(*form.pick, what, place);
      if (!index) return std::nullopt;
      if (*index < 0 || *index >= static_cast<int64_t>(form.choices.size())) {
        error("PLAN0032", place,
              fmt::format("{}: index {} of a pick among {} places", what, *index, form.choices.size()),
              "0 picks the first place");
        return std::nullopt;
      }
      auto chosen = place_of(form.choices[static_cast<size_t>(*index)], place, what);
      if (!chosen) return std::nullopt;
      address = *chosen;
    } else if (form.name != "null") {
      address.buffer = buffer_named(form.name);
      if (!address.buffer) {
        unknown(form.name, place, what);
        return std::nullopt;
      }
    }
    if (form.addend && !add(*form.addend, address, place, what)) return std::nullopt;
    return address;
  }

  bool add(const Expression& addend, Address& address, const base::Place& place, const std::string& what) {
    auto value = evaluate(addend, what, place);
    if (!value) return false;
    if (!address.buffer) {
      error("PLAN0028", place, fmt::format("{}: an offset from null", what));
      return false;
    }
    const ResolvedBuffer& target = result_.buffers[*address.buffer];
    const int64_t at = static_cast<int64_t>(address.addend) + *value;
    if (at < 0 || static_cast<uint64_t>(at) > target.bytes) {
      error("PLAN0028", place, fmt::format("{}: byte {} of `{}`, which has {}", what, at, target.name, target.bytes));
      return false;
    }
    address.addend = static_cast<uint64_t>(at);
    return true;
  }

  // "buffer" or "buffer + EXPR".
  std::optional<Address> simple_place(const ArgumentForm& form, uint32_t buffer, const base::Place& place,
                                      const std::string& what) {
    Address address{buffer, 0};
    if (form.bare) return address;
    if (!form.addend) {
      error("PLAN0022", place, fmt::format("{}: a buffer in an expression", what),
            "a place reads `buffer` or `buffer + BYTES`");
      return std::nullopt;
    }
    if (!add(*form.addend, address, place, what)) return std::nullopt;
    return address;
  }

  void pointer(const ArgumentForm& form, uint32_t buffer, const Slot& slot, const base::Place& place,
               const std::string& what) {
    if (!fits(8, slot, "an address", place, what)) return;
    if (auto at = simple_place(form, buffer, place, what))
      slot.pointers.push_back({slot.offset, *at->buffer, at->addend});
  }

  void unknown(const std::string& name, const base::Place& place, const std::string& what) {
    std::vector<std::string> words = known_;
    for (const ResolvedBuffer& buffer : result_.buffers) words.push_back(buffer.name);
    for (const auto& [scalar, value] : binding_.scalars) words.push_back(scalar);
    for (const auto& [structure, value] : binding_.structs) words.push_back(structure);
    for (const ResolvedTensorMap& map : result_.tensor_maps) words.push_back(map.name);
    const std::string near = base::nearest(name, words);
    std::string hint = near.empty() ? "known here: null" : fmt::format("did you mean `{}`?", near);
    if (near.empty()) {
      std::sort(words.begin(), words.end());
      words.erase(std::unique(words.begin(), words.end()), words.end());
      for (const std::string& word : words) hint += " " + word;
    }
    error("PLAN0022", place, fmt::format("{}: nothing is called `{}`", what, name), hint);
  }

  void integer(const ArgumentForm& form, const Slot& slot, const base::Place& place, const std::string& what) {
    auto value = evaluate(*form.whole, what, place);
    if (!value) return;
    const uint64_t bytes = slot.variable.bytes();
    if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
      return error(slot.code, place, fmt::format("{}: an integer for {} of {} bytes", what, slot.label, bytes),
                   "a structure by value is an argument of the task with kind = \"struct\"");
    if (isa::is_float(slot.variable.type) && slot.variable.dims.empty())
      return error(slot.code, place,
                   fmt::format("{}: an integer for {} of type {}", what, slot.label, isa::name_of(slot.variable.type)),
                   "floating-point values come from the task's scalar arguments");
    const int bits = static_cast<int>(bytes) * 8;
    if (bits < 64 && (*value >= (int64_t{1} << bits) || *value < -(int64_t{1} << (bits - 1))))
      return error(slot.code, place,
                   fmt::format("{}: {} does not fit the {} bytes of {}", what, *value, bytes, slot.label));
    store(slot, static_cast<uint64_t>(*value), static_cast<int>(bytes));
  }

  static void store(const Slot& slot, uint64_t bits, int bytes) {
    for (int i = 0; i < bytes; ++i)
      slot.bytes[slot.offset + static_cast<uint32_t>(i)] = static_cast<uint8_t>(bits >> (8 * i));
  }

  const ptx::Variable* variable_of(const Symbol& symbol) {
    const ptx::Variable* found = module_.variable(symbol.name);
    if (found && (found->space == isa::Space::global || found->space == isa::Space::constant)) return found;
    std::vector<std::string> names;
    for (const ptx::Variable& variable : module_.variables)
      if (variable.space == isa::Space::global || variable.space == isa::Space::constant)
        names.push_back(variable.name);
    std::string hint = base::nearest(symbol.name, names);
    if (!hint.empty()) {
      hint = fmt::format("did you mean `{}`?", hint);
    } else {
      hint = names.empty() ? "the module has no variable in global or constant memory" : "variables:";
      for (const std::string& name : names) hint += " " + name;
    }
    error("PLAN0030", symbol.place,
          fmt::format("symbol `{}`: the module has no such variable, or several that would fit", symbol.name), hint);
    return nullptr;
  }

  void symbol(const Symbol& symbol) {
    const ptx::Variable* variable = variable_of(symbol);
    if (!variable) return;
    const std::string what = fmt::format("symbol `{}` from `{}`", symbol.name, symbol.from);
    auto form = read_argument(symbol.from, symbol.from_place);
    if (!form) return note(form.findings(), what);
    for (const ResolvedSymbol& other : result_.symbols)
      if (other.name == variable->name)
        return error("PLAN0027", symbol.place, fmt::format("{}: the variable is filled twice", what));
    ResolvedSymbol resolved;
    resolved.name = variable->name;
    auto buffer = form->null || form->pick ? std::nullopt : buffer_named(form->name);
    if (form->pick || (buffer && !holds_pointer(*variable))) {
      auto at = form->pick ? place_of(*form->pick, symbol.from_place, what)
                           : simple_place(*form, *buffer, symbol.from_place, what);
      if (!at || !at->buffer) return;
      resolved.buffer = *at->buffer;
      resolved.addend = at->addend;
      resolved.bytes = result_.buffers[*at->buffer].bytes - at->addend;
      if (resolved.bytes > variable->bytes())
        return error("PLAN0030", symbol.from_place,
                     fmt::format("{}: {} bytes for a variable of {}", what, resolved.bytes, variable->bytes()),
                     "a buffer fills the variable from its first byte on, and must not be longer");
    } else {
      if (variable->bytes() > kMaxSymbolValue)
        return error("PLAN0030", symbol.from_place,
                     fmt::format("{}: a variable of {} bytes takes a buffer", what, variable->bytes()));
      resolved.value.assign(variable->bytes(), 0);
      argument(*form,
               {resolved.value, resolved.pointers, resolved.tensor_maps, 0, *variable,
                fmt::format("the variable `{}`", variable->name), "PLAN0030"},
               symbol.from_place, what);
    }
    result_.symbols.push_back(std::move(resolved));
  }

  // Eight bytes of integers and a buffer: `__constant__ float* c_x` takes the address, not the contents.
  static bool holds_pointer(const ptx::Variable& variable) {
    return variable.bytes() == 8 && variable.dims.empty() && !isa::is_float(variable.type);
  }

  const Plan& plan_;
  const ptx::Module& module_;
  const Binding& binding_;
  ResolvedPlan result_;
  std::vector<uint32_t> which_;  // by launch: its index in the plan
  std::map<std::string, int64_t> lets_;
  std::vector<std::string> known_;
  std::vector<std::pair<std::string, int64_t>> loop_values_;
  base::Findings findings_;
};

}  // namespace

base::Result<ResolvedPlan> resolve(const Plan& plan, const ptx::Module& module, const Binding& binding,
                                   std::vector<uint32_t>* which) {
  return Resolver(plan, module, binding).resolve(which);
}

}  // namespace ptxlab::launch
