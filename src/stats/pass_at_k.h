// What k tries would bring, from n that were made: without bias, for every k up to n (Chen et al. 2021, "Evaluating large
// language models trained on code", for pass@k; the expected maximum of k values drawn from n is the same count of subsets).
#pragma once
#include <cstddef>
#include <span>

namespace ptxlab::stats {

// The share of the k-subsets of n tries that hold at least one of the c that passed: 1 - C(n - c, k) / C(n, k).
// 1 <= k <= n, c <= n.
double pass_at_k(size_t n, size_t c, size_t k);

// The mean, over all k-subsets of the values, of the largest of each.
double best_of_k(std::span<const double> values, size_t k);

}  // namespace ptxlab::stats
