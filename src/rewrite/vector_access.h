// One access of a group of neighbouring elements: as few and as wide vector loads or stores as the hardware has, with narrow
// elements packed into 32-bit registers on the way.
#pragma once
#include <vector>

#include "rewrite/editor.h"
#include "rewrite/element_region.h"

namespace ptxlab::rewrite {

// The type of the registers that the access's elements travel in.
isa::Type value_type(const ElementAccess& access, const ptx::Function& function);

// Bytes of each of the accesses that `width` elements come in.
int chunk_bytes(const ElementAccess& access, int width, const ptx::Function& function);

// Loads into or stores from `elements` (all lanes of the first element, then of the second ...), at `address`.
void vector_access(const ElementAccess& access, const ptx::Function& function, int width, uint32_t address,
                   const std::vector<uint32_t>& elements, Editor& editor);

}  // namespace ptxlab::rewrite
