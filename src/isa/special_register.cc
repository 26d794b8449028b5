#include "isa/special_register.h"

#include <algorithm>
#include <array>
#include <string>

namespace ptxlab::isa {
namespace {

constexpr Gate kAlways{};
constexpr Gate kCluster{78, 90};
constexpr Gate kReserved{76, 80};

#define PTXLAB_NUMBERED_8(text) text "0", text "1", text "2", text "3", text "4", text "5", text "6", text "7"

constexpr SpecialRegister kPlain[] = {
    {"%tid", Type::u32, 4, kAlways},
    {"%ntid", Type::u32, 4, kAlways},
    {"%laneid", Type::u32, 1, kAlways},
    {"%warpid", Type::u32, 1, kAlways, false, true},
    {"%nwarpid", Type::u32, 1, {20, 20}, false, true},
    {"%ctaid", Type::u32, 4, kAlways},
    {"%nctaid", Type::u32, 4, kAlways},
    {"%smid", Type::u32, 1, kAlways, false, true},
    {"%nsmid", Type::u32, 1, {20, 20}, false, true},
    {"%gridid", Type::u64, 1, kAlways, false, true},
    {"%is_explicit_cluster", Type::pred, 1, kCluster},
    {"%clusterid", Type::u32, 4, kCluster},
    {"%nclusterid", Type::u32, 4, kCluster},
    {"%cluster_ctaid", Type::u32, 4, kCluster},
    {"%cluster_nctaid", Type::u32, 4, kCluster},
    {"%cluster_ctarank", Type::u32, 1, kCluster},
    {"%cluster_nctarank", Type::u32, 1, kCluster},
    {"%lanemask_eq", Type::u32, 1, {20, 20}},
    {"%lanemask_le", Type::u32, 1, {20, 20}},
    {"%lanemask_lt", Type::u32, 1, {20, 20}},
    {"%lanemask_ge", Type::u32, 1, {20, 20}},
    {"%lanemask_gt", Type::u32, 1, {20, 20}},
    {"%clock", Type::u32, 1, kAlways, true},
    {"%clock_hi", Type::u32, 1, {50, 20}, true},
    {"%clock64", Type::u64, 1, {20, 20}, true},
    {"%globaltimer", Type::u64, 1, {31, 30}, true},
    {"%globaltimer_lo", Type::u32, 1, {31, 30}, true},
    {"%globaltimer_hi", Type::u32, 1, {31, 30}, true},
    {"%reserved_smem_offset_begin", Type::b32, 1, kReserved},
    {"%reserved_smem_offset_end", Type::b32, 1, kReserved},
    {"%reserved_smem_offset_cap", Type::b32, 1, kReserved},
    {"%reserved_smem_offset_0", Type::b32, 1, kReserved},
    {"%reserved_smem_offset_1", Type::b32, 1, kReserved},
    {"%total_smem_size", Type::u32, 1, {41, 20}},
    {"%aggr_smem_size", Type::u32, 1, {81, 90}},
    {"%dynamic_smem_size", Type::u32, 1, {41, 20}},
    {"%current_graph_exec", Type::u64, 1, {80, 50}},
};

constexpr std::string_view kPm[] = {PTXLAB_NUMBERED_8("%pm")};
constexpr std::string_view kPm64[] = {"%pm0_64", "%pm1_64", "%pm2_64", "%pm3_64",
                                      "%pm4_64", "%pm5_64", "%pm6_64", "%pm7_64"};
constexpr std::string_view kEnvreg[] = {PTXLAB_NUMBERED_8("%envreg"),
                                        "%envreg8",
                                        "%envreg9",
                                        PTXLAB_NUMBERED_8("%envreg1"),
                                        "%envreg18",
                                        "%envreg19",
                                        PTXLAB_NUMBERED_8("%envreg2"),
                                        "%envreg28",
                                        "%envreg29",
                                        "%envreg30",
                                        "%envreg31"};
static_assert(std::size(kEnvreg) == 32);

#undef PTXLAB_NUMBERED_8

constexpr size_t kCount = std::size(kPlain) + std::size(kPm) + std::size(kPm64) + std::size(kEnvreg);

constexpr auto kAll = [] {
  std::array<SpecialRegister, kCount> all{};
  size_t at = 0;
  for (const SpecialRegister& reg : kPlain) all[at++] = reg;
  for (std::string_view name : kPm) all[at++] = {name, Type::u32, 1, kAlways, true};
  for (std::string_view name : kPm64) all[at++] = {name, Type::u64, 1, {40, 50}, true};
  for (std::string_view name : kEnvreg) all[at++] = {name, Type::b32, 1, {21, 0}};
  return all;
}();

// Indices into kAll by name, so that the parser's look-up of every %word is a binary search.
constexpr auto kByName = [] {
  std::array<uint16_t, kCount> order{};
  for (size_t i = 0; i < kCount; ++i) order[i] = static_cast<uint16_t>(i);
  std::sort(order.begin(), order.end(), [](uint16_t a, uint16_t b) { return kAll[a].name < kAll[b].name; });
  return order;
}();

}  // namespace

std::span<const SpecialRegister> special_registers() { return kAll; }

std::optional<uint16_t> special_register_named(std::string_view name) {
  auto found = std::lower_bound(kByName.begin(), kByName.end(), name,
                                [](uint16_t index, std::string_view wanted) { return kAll[index].name < wanted; });
  if (found == kByName.end() || kAll[*found].name != name) return std::nullopt;
  return *found;
}

}  // namespace ptxlab::isa
