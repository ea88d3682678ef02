// Rows of squared distances and what is wanted of them: the precision β = 1/(2σ²) at which
// p_j ∝ exp(-β d_j) has perplexity K.
#pragma once

#include <cstdint>

namespace closeknit {

// What became of a row.
enum Status : std::uint8_t {
  CONVERGED = 0,
  TIES = 1,      // K or more neighbours tie at the smallest distance: uniform over them, β = inf
  CONSTANT = 2,  // all distances are equal: uniform, β = 0
  TOO_FEW = 3,   // no more than K finite distances: uniform over those, β = 0
  INVALID = 4,   // NaN or -inf
  STALLED = 5,   // tolerance not reached
  MISSING = 6,   // an infinite distance where none is allowed
};

enum class Method : int { BISECTION, BRENT, RIDDERS, NEWTON, HALLEY, EULER };

// Rows of squared distances, contiguous, and where the answers go (one entry or row each).
template <class D>
struct Problem {
  const D* sq_distances;
  std::int64_t n, k;
  const double* perplexity;  // one value, or n
  bool one_perplexity;
  double tol;
  bool allow_missing;  // whether +inf may mark a neighbour that is not there
  double* affinities;  // n × k
  double* betas;
  double* sigmas;
  double* slopes;             // dH / d log β there; 0 where there is no root
  std::int32_t* evaluations;  // passes over the row
  std::uint8_t* status;
};

// log2 β ≈ intercept + Σ weights[f] log2(d[ranks[f]] - d[0]) with weights that sum to -1, so that
// the guess scales as the root does.
constexpr int MAX_FEATURES = 8;
struct StartModel {
  int n_features = 0;
  std::int64_t ranks[MAX_FEATURES];
  double weights[MAX_FEATURES];
  double intercept = 0.0;
};

}  // namespace closeknit
