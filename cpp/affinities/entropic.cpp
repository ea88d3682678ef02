// Threads and memory around the kernels of kernels_entropic.h.
#include "affinities/entropic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "affinities/bounds.h"
#include "affinities/kernels_entropic.h"
#include "common/dispatch.h"
#include "common/threads.h"

namespace closeknit {
namespace {

constexpr std::int64_t ROWS_PER_TASK = 512;
constexpr std::int64_t ROWS_PER_CHECK = 64;  // in a run, which may be as long as all rows

template <class D>
double lower_constant_of(const Problem<D>& problem) {
  return problem.one_perplexity ? lower_constant(problem.k, problem.perplexity[0]) : 0.0;
}

}  // namespace

template <class D>
void solve_from_model(const Problem<D>& problem, const StartModel& model, ThreadPool& pool) {
  const double lower = lower_constant_of(problem);
  const auto solve = CK_DISPATCH(solve_batch<D>);
  parallel_chunks(pool, problem.n, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> scratch(batch_scratch(problem.k));
    for (std::int64_t i = begin; i < end; i += BATCH)
      solve(problem, i, std::min<std::int64_t>(end, i + BATCH), model, lower, scratch.data());
  });
}

template <class D>
void solve_in_order(const Problem<D>& problem, Method method, int max_inner, const RowOrder& order,
                    ThreadPool& pool) {
  const double lower = lower_constant_of(problem);
  const auto solve = CK_DISPATCH(solve_row<D>);
  for (std::int64_t wave = 0; wave < order.n_waves; ++wave) {
    const std::int64_t first_run = order.wave_offsets[wave];
    pool.run(order.wave_offsets[wave + 1] - first_run, [&](std::int64_t run) {
      std::vector<double> scratch(row_scratch(problem.k));
      const std::int64_t* bounds = order.run_offsets + first_run + run;
      for (std::int64_t position = bounds[0]; position < bounds[1]; ++position) {
        const std::int64_t row = order.sequence[position], parent = order.parent[position];
        const double start = parent >= 0    ? problem.betas[parent]
                             : order.starts ? order.starts[row]
                                            : 0.0;
        solve(problem, row, method, max_inner, start, lower, scratch.data());
        if (position % ROWS_PER_CHECK == 0) pool.check();
      }
    });
  }
}

template <class D>
void affinities_at(const D* sq_distances, std::int64_t n, std::int64_t k, const double* betas,
                   bool sorted, double* affinities, double* perplexities, ThreadPool& pool) {
  const auto pass = CK_DISPATCH(affinities_row<D>);
  parallel_chunks(pool, n, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> scratch(padded(k) + 16);
    for (std::int64_t i = begin; i < end; ++i)
      pass(sq_distances + i * k, k, betas[i], sorted, affinities + i * k,
           perplexities ? perplexities + i : nullptr, scratch.data());
  });
}

void entropy_at(const double* sq_distances, std::int64_t n, std::int64_t k, const double* log_betas,
                double* out, ThreadPool& pool) {
  const auto entropy = CK_DISPATCH(entropy_row);
  parallel_chunks(pool, n, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> scratch(padded(k));
    for (std::int64_t i = begin; i < end; ++i)
      entropy(sq_distances + i * k, k, log_betas[i], out + 4 * i, scratch.data());
  });
}

void bounds_of_rows(const double* sq_distances, std::int64_t n, std::int64_t k,
                    const double* perplexity, bool one_perplexity, bool sharp, double* lower,
                    double* upper, ThreadPool& pool) {
  // The constants of a full row, which nearly all rows are.
  double full_lower = 0.0, full_upper = 0.0;
  if (one_perplexity && perplexity[0] > 1.0 && perplexity[0] < static_cast<double>(k)) {
    full_lower = sharp ? sharp_lower_constant(k, perplexity[0]) : 0.0;
    full_upper = paper_upper_constant(static_cast<double>(k), perplexity[0]);
  }
  const auto scan = CK_DISPATCH(scan_row<double>);
  parallel_chunks(pool, n, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const RowStats s = scan(sq_distances + i * k, k);
      const double big_k = perplexity[one_perplexity ? 0 : i],
                   size = static_cast<double>(s.n_finite);
      lower[i] = upper[i] = std::numeric_limits<double>::quiet_NaN();
      if (s.invalid || !(size > big_k) || static_cast<double>(s.n_min) >= big_k) continue;
      const bool full = one_perplexity && s.n_finite == k;
      const double range = s.max - s.min, gap = s.next - s.min;
      if (sharp) {
        lower[i] = (full ? full_lower : sharp_lower_constant(s.n_finite, big_k)) / range;
        upper[i] = two_level_root(size, big_k, static_cast<double>(s.n_min)) / gap;
      } else {
        // Theorem 1.1, eqs. (7) and (8).
        const double log_ratio = std::log(size / big_k);
        const double left = size * log_ratio / ((size - 1.0) * range);
        const double right = std::sqrt(log_ratio / range / (s.max + s.min));
        lower[i] = std::max(left, right);
        upper[i] = (full ? full_upper : paper_upper_constant(size, big_k)) / gap;
      }
    }
  });
}

#define CK_INSTANTIATE(D)                                                                        \
  template void solve_from_model<D>(const Problem<D>&, const StartModel&, ThreadPool&);          \
  template void solve_in_order<D>(const Problem<D>&, Method, int, const RowOrder&, ThreadPool&); \
  template void affinities_at<D>(const D*, std::int64_t, std::int64_t, const double*, bool,      \
                                 double*, double*, ThreadPool&);
CK_INSTANTIATE(double)
CK_INSTANTIATE(float)
#undef CK_INSTANTIATE

}  // namespace closeknit
