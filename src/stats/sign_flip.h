// Whether differences of pairs could have come out as they did by chance: if neither side is better, each difference is as likely
// to have the other sign.
#pragma once
#include <cstdint>
#include <span>

namespace ptxlab::stats {

// The probability that their mean is as far from 0 as it is, or further, if signs are drawn: over all draws where there are few
// differences, else over 20,000 of them. It holds for any number and any distribution, and is never below 2 / 2^n.
double sign_flip_p(std::span<const double> differences, uint64_t seed = 1);

}  // namespace ptxlab::stats
