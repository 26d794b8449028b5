#include "analysis/lanes.h"

#include <algorithm>
#include <set>

#include "analysis/lane_operation.h"
#include "base/random.h"

namespace ptxlab::analysis {
namespace {

constexpr int64_t kSector = 32, kBanks = 32, kWord = 4;

// Wrapping, as the hardware does it: an address may be any number.
int64_t plus(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
int64_t minus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t times(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

LaneValues same(int64_t value) {
  LaneValues lanes;
  lanes.fill(value);
  return lanes;
}

bool all_same(const LaneValues& lanes) {
  return std::all_of(lanes.begin(), lanes.end(), [&](int64_t v) { return v == lanes[0]; });
}

// Which threads have to agree on a value for it to be the same in all lanes of a warp.
Group group_of(const Known& known) {
  return known.block[0] == 0 || known.block[0] % kLanes == 0 ? Group::row : Group::cta;
}

// A kernel with more values than this is not followed lane by lane: the rounds would take gigabytes.
constexpr size_t kMostAtoms = 100'000;

// Threads of a CTA where that is not known: as many as is common, another number in each round.
constexpr std::array<int64_t, kRounds> kBlocks{256, 128, 512, 1024, 256, 64};

}  // namespace

LaneEvaluator::LaneEvaluator(const ptx::Function& function, const Cfg& cfg, const Values& values, const Known& known)
    : function_(function), values_(values), known_(known), uniform_(function, cfg, values, group_of(known)) {
  exact_.assign(values.atom_count(), false);
  if (values.atom_count() > kMostAtoms) return;
  // Operands are interned before the operations that use them.
  for (AtomId id = 0; id < values.atom_count(); ++id) exact_[id] = atom_exact(id);
  for (size_t round = 0; round < kRounds; ++round) evaluate_round(round);
}

void LaneEvaluator::evaluate_round(size_t round) {
  auto& atoms = rounds_[round].atoms;
  atoms.assign(values_.atom_count(), std::nullopt);
  // What a loop variable begins with and grows by may be interned behind it: so twice.
  for (int pass = 0; pass < 2; ++pass)
    for (AtomId id = 0; id < values_.atom_count(); ++id)
      if (!atoms[id]) atoms[id] = atom_lanes(id, round);
}

LaneValues LaneEvaluator::drawn(uint64_t what, size_t round) const {
  base::Random random(what * 0x9e3779b97f4a7c15u + round + 1);
  return same(static_cast<int64_t>(random.below(1000) + 1) * Known::kMultiple);
}

std::optional<LaneValues> LaneEvaluator::special(const Atom& atom, size_t round) const {
  const auto name = isa::special_registers()[atom.index].name;
  std::array<int64_t, 3> block{known_.block[0], known_.block[1], known_.block[2]};
  if (block[0] == 0) block = {kBlocks[round], 1, 1};
  const int64_t threads = block[0] * block[1] * block[2];
  const auto warps = std::max<int64_t>(1, threads / static_cast<int64_t>(kLanes));
  // The first warp, the last, and some between.
  const auto warp = round == 1 ? warps - 1 : static_cast<int64_t>(round * 5) % warps;
  const int64_t first = warp * static_cast<int64_t>(kLanes);
  LaneValues lanes{};
  for (size_t l = 0; l < kLanes; ++l) {
    const int64_t linear = first + static_cast<int64_t>(l), lane = static_cast<int64_t>(l);
    if (name == "%tid")
      lanes[l] = atom.component == 0   ? linear % block[0]
                 : atom.component == 1 ? linear / block[0] % block[1]
                                       : linear / (block[0] * block[1]);
    else if (name == "%ntid")
      lanes[l] = atom.component >= 0 && atom.component < 3 ? block[static_cast<size_t>(atom.component)] : 1;
    else if (name == "%laneid")
      lanes[l] = lane;
    else if (name == "%warpid")
      lanes[l] = first / static_cast<int64_t>(kLanes);
    else if (name == "%lanemask_eq")
      lanes[l] = int64_t{1} << lane;
    else if (name == "%lanemask_lt")
      lanes[l] = (int64_t{1} << lane) - 1;
    else if (name == "%lanemask_le")
      lanes[l] = (int64_t{2} << lane) - 1;
    else
      return drawn(0x5000u + atom.index * 8u + static_cast<uint32_t>(atom.component + 1), round);
  }
  return lanes;
}

std::optional<LaneValues> LaneEvaluator::operation(AtomId id, size_t round) {
  const auto& atom = values_.atom(id);
  std::vector<LaneValues> operands;
  for (ValueId operand : atom.operands) {
    auto value = lanes(values_.value(operand), round);
    if (!value) return uniform_.uniform_atom(id) ? std::optional<LaneValues>(drawn(id, round)) : std::nullopt;
    operands.push_back(*value);
  }
  if (auto result = lane_operation(atom.words, operands)) return result;
  const bool alike = std::all_of(operands.begin(), operands.end(), all_same);
  return alike ? std::optional<LaneValues>(drawn(id, round)) : std::nullopt;
}

std::optional<LaneValues> LaneEvaluator::atom_lanes(AtomId id, size_t round) {
  const auto& atom = values_.atom(id);
  switch (atom.kind) {
    case Atom::Kind::special: return special(atom, round);
    case Atom::Kind::parameter: {
      auto known = known_.parameters.find(atom.index);
      if (known != known_.parameters.end() && atom.component == 0) return same(known->second);
      const bool pointer =
          atom.index < function_.parameters.size() && isa::bits_of(function_.parameters[atom.index].type) == 64;
      return pointer ? same(int64_t{1} << 40 | int64_t{atom.index} << 34)
                     : drawn(0x9000u + atom.index * 4096u + static_cast<uint32_t>(atom.component), round);
    }
    case Atom::Kind::symbol: return same(0);
    case Atom::Kind::undefined: return same(0);
    case Atom::Kind::phi:
      if (const auto* induction = values_.induction(id)) {
        auto initial = lanes(values_.value(induction->initial), round);
        auto step = lanes(values_.value(induction->step), round);
        if (!initial || !step) return std::nullopt;
        // All lanes are in the same iteration, and so are all variables of one loop.
        const auto turns = static_cast<int64_t>(base::Random(induction->loop * 64 + round + 1).below(6));
        for (size_t l = 0; l < kLanes; ++l) (*initial)[l] = plus((*initial)[l], times((*step)[l], turns));
        return initial;
      }
      [[fallthrough]];
    case Atom::Kind::definition:
      return uniform_.uniform_atom(id) ? std::optional<LaneValues>(drawn(id, round)) : std::nullopt;
    case Atom::Kind::operation: return operation(id, round);
  }
  return std::nullopt;
}

std::optional<LaneValues> LaneEvaluator::lanes(const Affine& value, size_t round) const {
  LaneValues sum = same(value.constant);
  if (rounds_[round].atoms.empty() && !value.terms.empty()) return std::nullopt;
  for (const auto& term : value.terms) {
    LaneValues product = same(term.coefficient);
    for (AtomId id : term.factors) {
      const auto& factor = rounds_[round].atoms[id];
      if (!factor) return std::nullopt;
      for (size_t l = 0; l < kLanes; ++l) product[l] = times(product[l], (*factor)[l]);
    }
    for (size_t l = 0; l < kLanes; ++l) sum[l] = plus(sum[l], product[l]);
  }
  return sum;
}

bool LaneEvaluator::atom_exact(AtomId id) const {
  const auto& atom = values_.atom(id);
  switch (atom.kind) {
    case Atom::Kind::special: {
      const auto name = isa::special_registers()[atom.index].name;
      return name == "%laneid" || ((name == "%tid" || name == "%ntid") && known_.block[0] != 0);
    }
    case Atom::Kind::parameter: return atom.component == 0 && known_.parameters.contains(atom.index);
    case Atom::Kind::operation:
      return std::all_of(atom.operands.begin(), atom.operands.end(),
                         [&](ValueId operand) { return exact(values_.value(operand)); }) &&
             lane_operation_known(atom.words);
    case Atom::Kind::symbol:
    case Atom::Kind::undefined:
    case Atom::Kind::phi:
    case Atom::Kind::definition: return false;
  }
  return false;
}

bool LaneEvaluator::exact(const Affine& value) const {
  for (const auto& term : value.terms)
    for (AtomId id : term.factors)
      if (!exact_[id]) return false;
  return true;
}

std::string_view name_of(StrideClass stride) {
  switch (stride) {
    case StrideClass::uniform: return "uniform";
    case StrideClass::affine: return "affine";
    case StrideClass::tiled: return "tiled";
    case StrideClass::pattern: return "pattern";
    case StrideClass::irregular: return "irregular";
  }
  return "";
}

namespace {

uint32_t sectors_of(const LaneValues& lanes, int64_t bytes) {
  std::set<int64_t> sectors;
  for (int64_t lane : lanes)
    for (int64_t s = lane >> 5, last = plus(lane, bytes - 1) >> 5; s <= last; ++s) sectors.insert(s);
  return static_cast<uint32_t>(sectors.size());
}

uint32_t ideal_sectors_of(const LaneValues& lanes, int64_t bytes) {
  std::set<int64_t> addresses(lanes.begin(), lanes.end());
  int64_t distinct = 0, next = INT64_MIN;
  for (int64_t address : addresses) {
    distinct += minus(plus(address, bytes), std::max(address, next));
    next = plus(address, bytes);
  }
  return static_cast<uint32_t>((distinct + kSector - 1) / kSector);
}

// 64-bit accesses go by half warps, 128-bit ones by quarters: no bank has to give more than one word a thread at a time.
uint32_t group_lanes(int64_t bytes) { return bytes <= 4 ? 32 : bytes <= 8 ? 16 : 8; }

uint32_t wavefronts_of(const LaneValues& lanes, int64_t bytes) {
  uint32_t total = 0;
  const size_t group = group_lanes(bytes);
  for (size_t first = 0; first < kLanes; first += group) {
    std::array<std::set<int64_t>, kBanks> words;
    for (size_t lane = first; lane < first + group; ++lane)
      for (int64_t word = lanes[lane] >> 2, last = plus(lanes[lane], bytes - 1) >> 2; word <= last; ++word)
        words[static_cast<size_t>(word & (kBanks - 1))].insert(word);
    size_t most = 0;
    for (const auto& bank : words) most = std::max(most, bank.size());
    total += static_cast<uint32_t>(most);
  }
  return total;
}

// The constant distance inside each group of `group` lanes; nothing where there is none.
std::optional<int64_t> stride_in_groups(const LaneValues& lanes, size_t group) {
  const int64_t stride = minus(lanes[1], lanes[0]);
  for (size_t l = 1; l < kLanes; ++l)
    if (l % group != 0 && minus(lanes[l], lanes[l - 1]) != stride) return std::nullopt;
  return stride;
}

uint32_t median(std::vector<uint32_t> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

void classify(LanePattern& pattern, const std::vector<LaneValues>& rounds) {
  for (size_t group = kLanes; group >= 2; group /= 2) {
    std::vector<int64_t> strides;
    for (const auto& lanes : rounds)
      if (auto stride = stride_in_groups(lanes, group)) strides.push_back(*stride);
    if (strides.size() != rounds.size()) continue;
    const bool fixed = std::all_of(strides.begin(), strides.end(), [&](int64_t s) { return s == strides[0]; });
    if (!fixed && group < kLanes) break;
    // Pairs that are far apart are no rows of anything.
    if (group == 2 && (strides[0] < -kSector || strides[0] > kSector)) break;
    pattern.group = static_cast<uint32_t>(group);
    if (fixed) pattern.lane_stride = strides[0];
    pattern.stride = group < kLanes             ? StrideClass::tiled
                     : fixed && strides[0] == 0 ? StrideClass::uniform
                                                : StrideClass::affine;
    return;
  }
  pattern.stride = StrideClass::pattern;
}

}  // namespace

LanePattern lane_pattern(const LaneEvaluator& evaluator, const Affine& address, uint32_t bytes) {
  LanePattern pattern;
  std::vector<LaneValues> rounds;
  for (size_t round = 0; round < kRounds; ++round) {
    auto lanes = evaluator.lanes(address, round);
    if (!lanes) return pattern;
    rounds.push_back(*lanes);
  }
  classify(pattern, rounds);
  if (bytes == 0) return pattern;
  std::vector<uint32_t> sectors, ideal, wavefronts;
  for (const auto& lanes : rounds) {
    sectors.push_back(sectors_of(lanes, bytes));
    ideal.push_back(ideal_sectors_of(lanes, bytes));
    wavefronts.push_back(wavefronts_of(lanes, bytes));
  }
  pattern.sectors = median(sectors);
  pattern.ideal_sectors = median(ideal);
  pattern.wavefronts = median(wavefronts);
  pattern.ideal_wavefronts = static_cast<uint32_t>(kLanes) / group_lanes(bytes);
  return pattern;
}

}  // namespace ptxlab::analysis
