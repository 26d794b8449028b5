// Exact tests of two-by-two counts.
#pragma once
#include <cstdint>

namespace ptxlab::stats {

// McNemar's exact test: of pairs in which the two differ, `first` went one way and `second` the other. The probability of so
// uneven a split or a more uneven one if both ways are as likely; two-sided, 1 where nothing differs.
double mcnemar_p(uint64_t first, uint64_t second);

// Fisher's exact test, two-sided: the probability of all tables with these sums that are no likelier than this one.
double fisher_p(uint64_t a, uint64_t b, uint64_t c, uint64_t d);

}  // namespace ptxlab::stats
