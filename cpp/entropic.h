// Entropic affinities: for each row of squared distances the precision β = 1/(2σ²) at which
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
  const double* perplexity;   // one value, or n
  bool one_perplexity;
  double tol;
  bool allow_missing;         // whether +inf may mark a neighbour that is not there
  double* affinities;         // n × k
  double* betas;
  double* sigmas;
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

// An order of processing: wave after wave; the runs of one wave in parallel; the rows of a run one
// after the other, each starting from the root of its parent, or without one (-1) from its own
// entry of `starts`, or without that from the middle of its bounds.
struct Order {
  const std::int64_t* sequence;
  const std::int64_t* parent;  // by position in the sequence; a row number
  const double* starts;        // β by row, or null
  const std::int64_t* run_offsets;
  const std::int64_t* wave_offsets;
  std::int64_t n_waves;
};

// Algorithm 1 of the paper, or a derivative-free method, in the given order.
template <class D>
void solve_in_order(const Problem<D>& problem, Method method, int max_inner, const Order& order,
                    int n_jobs);

// Fits the start model on about `n_fit` rows at equal stride; n_features = 0 if too few have a root.
template <class D>
StartModel fit_start(const Problem<D>& problem, std::int64_t n_fit, int n_jobs);

// The order-free solver: start model, one single-precision pass, one double-precision pass whose
// last small step is applied to the affinities as a polynomial. Rows that fail a test go to
// Algorithm 1 with Halley's method.
template <class D>
void solve_from_model(const Problem<D>& problem, const StartModel& model, int n_jobs);

// p_j ∝ exp(-β d_j) at given β, and its perplexity: one pass. Rows are taken to be sorted if the
// caller says so.
template <class D>
void affinities_at(const D* sq_distances, std::int64_t n, std::int64_t k, const double* betas,
                   bool sorted, double* affinities, double* perplexities, int n_jobs);

// H and its first three derivatives with respect to log β, at one log β per row: n × 4.
void entropy_at(const double* sq_distances, std::int64_t n, std::int64_t k, const double* log_betas,
                double* out, int n_jobs);

// Bounds of β per row: the sharp ones, or those of Theorem 1.1. NaN where no root exists.
void bounds_of_rows(const double* sq_distances, std::int64_t n, std::int64_t k,
                    const double* perplexity, bool one_perplexity, bool sharp, double* lower,
                    double* upper, int n_jobs);

}  // namespace closeknit
