// Algorithm 1 on one row, whatever the row: every hard case ends here.
//
// The row is shifted by its minimum and divided by a power of four close to its range, so that
// nothing over- or underflows and scaled data give the same bits. The unknown is b = log β in these
// units.
#pragma once

#include <cmath>

#include "affinities/bounds.h"
#include "affinities/kernels_entropic.h"
#include "affinities/root_search.h"

namespace closeknit::CK_ISA {

// The (rank + 1)-th smallest of n numbers, which are reordered. A plain quickselect, because a
// template of the standard library would be shared between instruction sets.
static double select_rank(double* x, std::int64_t n, std::int64_t rank) {
  std::int64_t lo = 0, hi = n - 1;
  while (lo < hi) {
    const double pivot = x[lo + (hi - lo) / 2];
    std::int64_t i = lo, j = hi;
    while (i <= j) {
      while (x[i] < pivot) ++i;
      while (x[j] > pivot) --j;
      if (i > j) break;
      const double swap = x[i];
      x[i++] = x[j];
      x[j--] = swap;
    }
    if (rank <= j)
      hi = j;
    else if (rank >= i)
      lo = i;
    else
      break;
  }
  return x[rank];
}

// The gap that β is measured against: the range, unless that exceeds the smallest gap by more than
// numbers can hold side by side. Then the gap of rank ⌊K⌋: at the root β times it is neither huge
// nor tiny, and whatever lies very much farther has no weight.
template <class D>
static double unit_gap(const D* d, std::int64_t k, const RowStats& stats, double perplexity,
                       double* scratch) {
  const double range = stats.max - stats.min, gap = stats.next - stats.min;
  if (gap > 1e-100 * range && range < HUGE_VAL) return range;
  for (std::int64_t j = 0; j < k; ++j) scratch[j] = static_cast<double>(d[j]);
  return select_rank(scratch, k, static_cast<std::int64_t>(perplexity)) - stats.min;
}

// The even e with 2^e close to `unit`, and (d_j - min) 2^-e, padded to whole blocks. Two factors,
// because 2^-e itself may overflow.
template <class D>
static int normalise_row(const D* d, std::int64_t k, double min, double unit, double* x) {
  int e;
  std::frexp(unit, &e);
  e &= ~1;
  const double half = std::ldexp(1.0, -e / 2);
  for (std::int64_t j = 0; j < k; ++j) {
    const double gap = ((static_cast<double>(d[j]) - min) * half) * half;
    x[j] = gap < FAR ? gap : FAR;  // infinite distances are missing neighbours
  }
  for (std::int64_t j = k; j < padded(k); ++j) x[j] = FAR;
  return e;
}

// Rows without a root: the distribution that the entropy tends to.
template <class D>
static void write_limit(const Problem<D>& problem, std::int64_t i, const RowStats& stats,
                        Status status) {
  const D* d = problem.sq_distances + i * problem.k;
  double* out = problem.affinities + i * problem.k;
  const std::int64_t n_alive = status == TIES ? stats.n_min : stats.n_finite;
  const double share = n_alive > 0 ? 1.0 / static_cast<double>(n_alive) : 0.0;
  const double last = status == TIES ? stats.min : stats.max;
  for (std::int64_t j = 0; j < problem.k; ++j)
    out[j] = n_alive > 0 && static_cast<double>(d[j]) <= last ? share : 0.0;
  problem.betas[i] = status == TIES ? HUGE_VAL : 0.0;
  problem.sigmas[i] = status == TIES ? 0.0 : HUGE_VAL;
  problem.slopes[i] = 0.0;
}

template <class D>
RowStats scan_row(const D* d, std::int64_t k) {
  RowStats s{HUGE_VAL, HUGE_VAL, -HUGE_VAL, 0, 0, false};
  for (std::int64_t j = 0; j < k; ++j) {
    const double v = static_cast<double>(d[j]);
    if (!(v > -HUGE_VAL)) s.invalid = true;
    if (!(v < HUGE_VAL)) continue;
    ++s.n_finite;
    if (v > s.max) s.max = v;
    if (v < s.min) {
      s.next = s.min;
      s.min = v;
      s.n_min = 1;
    } else if (v == s.min) {
      ++s.n_min;
    } else if (v < s.next) {
      s.next = v;
    }
  }
  if (s.next == HUGE_VAL) s.next = s.min;
  return s;
}

template <class D>
void solve_row(const Problem<D>& problem, std::int64_t i, Method method, int max_inner,
               double start_beta, double lower_constant, double* scratch) {
  const std::int64_t k = problem.k;
  const D* d = problem.sq_distances + i * k;
  double* out = problem.affinities + i * k;
  const double perplexity = problem.perplexity[problem.one_perplexity ? 0 : i];
  const RowStats stats = scan_row(d, k);
  Status status = CONVERGED;
  if (stats.invalid)
    status = INVALID;
  else if (!problem.allow_missing && stats.n_finite < k)
    status = MISSING;
  else if (!(static_cast<double>(stats.n_finite) > perplexity))
    status = TOO_FEW;
  else if (stats.n_min == stats.n_finite)
    status = CONSTANT;
  else if (static_cast<double>(stats.n_min) >= perplexity)
    status = TIES;
  problem.status[i] = status;
  problem.evaluations[i] = 0;
  if (status != CONVERGED) {
    write_limit(problem, i, stats, status);
    return;
  }

  double* x = scratch;
  const int e = normalise_row(d, k, stats.min, unit_gap(d, k, stats, perplexity, x), x);
  const RowStats scaled = scan_row(x, k);  // gaps that are nothing beside the unit are ties
  if (static_cast<double>(scaled.n_min) >= perplexity) {
    problem.status[i] = TIES;
    write_limit(problem, i, stats, TIES);
    for (std::int64_t j = 0; j < k; ++j)
      out[j] = x[j] == 0.0 ? 1.0 / static_cast<double>(scaled.n_min) : 0.0;
    return;
  }
  const double n = static_cast<double>(stats.n_finite);
  const double next_gap = scaled.next, range = scaled.max;
  const double lower = stats.n_finite == k && problem.one_perplexity
                           ? lower_constant
                           : simple_lower_constant(n, perplexity);
  const double upper = two_level_root(n, perplexity, static_cast<double>(scaled.n_min));

  Search s;
  s.row = Row<double>{x, padded(k) / BLOCK, nullptr, 0.0};
  s.powers = scratch + padded(k);
  s.log_k = std::log(perplexity);
  s.tol = problem.tol;
  s.lo = std::log(lower / range);
  s.hi = std::log(upper) - std::log(next_gap);
  if (s.hi > LARGEST) s.hi = LARGEST;
  const double start =
      start_beta > 0.0 && start_beta < HUGE_VAL ? std::log(start_beta) + e * LN2 : HUGE_VAL;
  if (!search(s, method, max_inner, start)) problem.status[i] = STALLED;

  problem.evaluations[i] = s.evaluations;
  const double inverse_z = 1.0 / s.z;
  for (std::int64_t j = 0; j < k; ++j) out[j] = s.powers[j] * inverse_z;
  const double beta = std::exp(s.b);
  problem.betas[i] = std::ldexp(beta, -e);
  problem.slopes[i] = s.slope;
  problem.sigmas[i] = std::ldexp(std::sqrt(0.5 / beta), e / 2);
}

}  // namespace closeknit::CK_ISA
