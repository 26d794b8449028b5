#include "isa/type.h"

#include "isa/type_names.h"

namespace ptxlab::isa {
namespace {

// A row in the wrong place of kTypeInfo would give a type another one's width: single-lane rows name themselves.
constexpr bool in_order() {
  for (size_t i = 0; i < kTypes; ++i) {
    if (kTypeInfo[i].lanes == 1 && kTypeInfo[i].element != static_cast<Type>(i)) return false;
    if (find_type(kTypeInfo[i].name) != static_cast<Type>(i)) return false;
  }
  return true;
}
static_assert(in_order());
static_assert(kTypeInfo[static_cast<size_t>(Type::bf16x2)].name == "bf16x2");
static_assert(kTypeInfo[static_cast<size_t>(Type::surfref)].name == "surfref");

}  // namespace

const TypeInfo& info(Type type) { return kTypeInfo[static_cast<size_t>(type)]; }

std::optional<Type> type_named(std::string_view word) {
  Type type = find_type(word);
  if (type == Type::none) return std::nullopt;
  return type;
}

std::string_view name_of(Space space) {
  switch (space) {
    case Space::none: return "";
    case Space::generic: return "";
    case Space::reg: return "reg";
    case Space::constant: return "const";
    case Space::global: return "global";
    case Space::local: return "local";
    case Space::param: return "param";
    case Space::shared: return "shared";
    case Space::shared_cluster: return "shared::cluster";
    case Space::param_func: return "param::func";
    case Space::tex: return "tex";
  }
  return "";
}

std::optional<Space> space_named(std::string_view word) {
  Space space = find_space(word);
  if (space == Space::none) return std::nullopt;
  return space;
}

}  // namespace ptxlab::isa
