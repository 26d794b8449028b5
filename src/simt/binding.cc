// Picks the lane handlers for the processor that this runs on.
#include "simt/binding.h"

#include <cstring>

#include "simt/lane_access.h"

namespace ptxlab::simt {

namespace v2 {
extern const LaneBinding* const bindings;
extern const AccessLoops* const loops;
}  // namespace v2
namespace v3 {
extern const LaneBinding* const bindings;
extern const AccessLoops* const loops;
}  // namespace v3
namespace v4 {
extern const LaneBinding* const bindings;
extern const AccessLoops* const loops;
}  // namespace v4

namespace {

struct Level {
  const char* name;
  const LaneBinding* bindings;
  const AccessLoops* loops;
  bool available;
};

const Level* levels() {
  static const Level all[] = {
      {"v4", v4::bindings, v4::loops, static_cast<bool>(__builtin_cpu_supports("x86-64-v4"))},
      {"v3", v3::bindings, v3::loops, static_cast<bool>(__builtin_cpu_supports("x86-64-v3"))},
      {"v2", v2::bindings, v2::loops, true},
      {nullptr, nullptr, nullptr, false},
  };
  return all;
}

const Level*& chosen() {
  static const Level* level = [] {
    const Level* l = levels();
    while (!l->available) ++l;
    return l;
  }();
  return level;
}

}  // namespace

const LaneBinding* lane_bindings() { return chosen()->bindings; }
const AccessLoops& access_loops() { return *chosen()->loops; }
const char* lane_level() { return chosen()->name; }

bool use_lane_level(const char* name) {
  for (const Level* l = levels(); l->name; ++l) {
    if (std::strcmp(l->name, name) != 0 || !l->available) continue;
    chosen() = l;
    return true;
  }
  return false;
}

}  // namespace ptxlab::simt
