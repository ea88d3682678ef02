// Entropic affinities: for each row of squared distances the precision β = 1/(2σ²) at which
// p_j ∝ exp(-β d_j) has perplexity K.
#pragma once

#include <cstdint>

#include "affinities/problem.h"
#include "common/threads.h"

namespace closeknit {

// An order of processing: wave after wave; the runs of one wave in parallel; the rows of a run one
// after the other, each starting from the root of its parent, or without one (-1) from its own
// entry of `starts`, or without that from the middle of its bounds.
struct RowOrder {
  const std::int64_t* sequence;
  const std::int64_t* parent;  // by position in the sequence; a row number
  const double* starts;        // β by row, or null
  const std::int64_t* run_offsets;
  const std::int64_t* wave_offsets;
  std::int64_t n_waves;
};

// Algorithm 1 of the paper, or a derivative-free method, in the given order.
template <class D>
void solve_in_order(const Problem<D>& problem, Method method, int max_inner, const RowOrder& order,
                    ThreadPool& pool);

// The order-free solver: start model, one single-precision pass, one double-precision pass whose
// last small step is applied to the affinities as a polynomial. Rows that fail a test go to
// Algorithm 1 with Halley's method.
template <class D>
void solve_from_model(const Problem<D>& problem, const StartModel& model, ThreadPool& pool);

// p_j ∝ exp(-β d_j) at given β, and its perplexity: one pass. Rows are taken to be sorted if the
// caller says so.
template <class D>
void affinities_at(const D* sq_distances, std::int64_t n, std::int64_t k, const double* betas,
                   bool sorted, double* affinities, double* perplexities, ThreadPool& pool);

// H and its first three derivatives with respect to log β, at one log β per row: n × 4.
void entropy_at(const double* sq_distances, std::int64_t n, std::int64_t k, const double* log_betas,
                double* out, ThreadPool& pool);

// Bounds of β per row: the sharp ones, or those of Theorem 1.1. NaN where no root exists.
void bounds_of_rows(const double* sq_distances, std::int64_t n, std::int64_t k,
                    const double* perplexity, bool one_perplexity, bool sharp, double* lower,
                    double* upper, ThreadPool& pool);

}  // namespace closeknit
