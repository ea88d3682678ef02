// Bounds of the root, in units of the precision beta (Theorem 1.1 of the entropic affinities paper
// and sharper ones that survive ties).
#pragma once

#include <cstdint>

namespace closeknit {

// c(N, K, m): the precision at which m points at squared distance 0 and N - m at 1 have perplexity
// K. Needs 0 < m < K < N.
double two_level_root(double n, double perplexity, double m);

// min over 1 ≤ m < K of c(N, K, m): β (d_N - d_1) is never smaller. Needs 1 < K < N.
double sharp_lower_constant(std::int64_t n, double perplexity);

// The same where it is defined, else 0.
double lower_constant(std::int64_t n, double perplexity);

// A closed form below every c(N, K, m), for rows whose constants are not worth a search.
double simple_lower_constant(double n, double perplexity);

// p_1 of eq. (9) and the numerator of eq. (8): β_U = paper_upper_constant / Δ_2².
double paper_p1(double n, double perplexity);
double paper_upper_constant(double n, double perplexity);

}  // namespace closeknit
