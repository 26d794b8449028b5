// What a worker measured, as the plain numbers that stats/ decides by.
#pragma once
#include <chrono>
#include <optional>
#include <string>

#include "gpu/contest.h"
#include "stats/looks.h"

namespace ptxlab::judge {

stats::EpochTimes times_of(const gpu::Epoch& epoch);
void add(stats::Sample& sample, const gpu::Measured& measured);

// Steps of the event clock, relative to what lies between two events: below them no two times can be told apart.
double resolution_of(const gpu::Opened& opened);

// How long a worker may take, with room for a slow machine: for opening with so many bytes to carry, and for epochs of it.
std::chrono::milliseconds open_limit(const gpu::Contest& contest);
std::chrono::milliseconds measure_limit(const gpu::Opened& opened, uint32_t epochs);

// "13.0" of 13000
std::string driver_text(uint32_t driver);

}  // namespace ptxlab::judge
