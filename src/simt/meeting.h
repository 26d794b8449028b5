// Where lanes of a warp wait for one another.
#pragma once
#include "simt/machine.h"

namespace ptxlab::simt {

struct Meeting {
  Flow flow = Flow::next;         // other than next: the handler returns it
  LaneMask lanes = 0;             // those who meet now
  LaneMask members[kLanes] = {};  // each lane's fellows, itself among them
};

// The lanes of `active` meet with the members that each names in `members_slot`. Waits (Flow::wait) until they are here.
Meeting meet(Context& context, const Op& op, LaneMask active, uint32_t members_slot);
// For instructions with .aligned that all 32 lanes execute together. Lanes that have not come yet are waited for; where some
// can never come, the launch ends with RUN0023.
Flow meet_aligned(Context& context, const Op& op, LaneMask active);
void tell_meeting(Context& context, const Op& op, const Meeting& meeting);

}  // namespace ptxlab::simt
