// Threads, memory and orders around the kernels of kernels_entropic.h.
#include "entropic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "bounds.h"
#include "dispatch.h"
#include "kernels_entropic.h"
#include "parallel.h"

namespace closeknit {
namespace {

constexpr std::int64_t ROWS_PER_TASK = 512;

template <class D>
double lower_constant_of(const Problem<D>& problem) {
  const double perplexity = problem.perplexity[0];
  if (!problem.one_perplexity || !(perplexity > 1.0 && perplexity < problem.k)) return 0.0;
  return sharp_lower_constant(problem.k, perplexity);
}

// Distinct ranks around ⌈K⌉, where the distances say most about β.
int choose_ranks(std::int64_t k, double perplexity, std::int64_t* ranks) {
  const double shares[MAX_FEATURES] = {0.125, 0.25, 0.5, 0.75, 1.0, 1.5, 2.2, 1e18};
  int n = 0;
  for (double share : shares) {
    const double wanted = std::ceil(share * perplexity);
    const std::int64_t last = n ? ranks[n - 1] : 0;
    std::int64_t rank = wanted < static_cast<double>(k - 1) ? static_cast<std::int64_t>(wanted) : k - 1;
    rank = std::max(rank, last + 1);
    if (rank < k) ranks[n++] = rank;
  }
  return n;
}

// Solves A x = b for symmetric positive definite A (n × n, row-major), overwriting both.
bool cholesky_solve(double* a, double* b, int n) {
  for (int j = 0; j < n; ++j) {
    for (int i = j; i < n; ++i) {
      double s = a[i * n + j];
      for (int l = 0; l < j; ++l) s -= a[i * n + l] * a[j * n + l];
      if (i == j && !(s > 0.0)) return false;
      a[i * n + j] = i == j ? std::sqrt(s) : s / a[j * n + j];
    }
  }
  for (int i = 0; i < n; ++i) {
    for (int l = 0; l < i; ++l) b[i] -= a[i * n + l] * b[l];
    b[i] /= a[i * n + i];
  }
  for (int i = n - 1; i >= 0; --i) {
    for (int l = i + 1; l < n; ++l) b[i] -= a[l * n + i] * b[l];
    b[i] /= a[i * n + i];
  }
  return true;
}

// Least squares of log2 β + log2 g_last on the centred differences log2 g_f - log2 g_last, which
// is the regression on log2 g_f with weights constrained to sum to -1.
bool fit_weights(const std::vector<double>& features, const std::vector<double>& targets,
                 StartModel& model) {
  const int p = model.n_features, q = p - 1;
  const std::size_t n = targets.size();
  std::vector<double> mean(p, 0.0);
  auto entry = [&](std::size_t i, int f) {
    const double last = features[i * p + q];
    return f < q ? features[i * p + f] - last : targets[i] + last;
  };
  for (std::size_t i = 0; i < n; ++i)
    for (int f = 0; f < p; ++f) mean[f] += entry(i, f) / static_cast<double>(n);
  std::vector<double> normal(q * q, 0.0), right(q, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (int f = 0; f < q; ++f) {
      const double x = entry(i, f) - mean[f];
      for (int g = 0; g <= f; ++g) normal[f * q + g] += x * (entry(i, g) - mean[g]);
      right[f] += x * (entry(i, q) - mean[q]);
    }
  double trace = 0.0;
  for (int f = 0; f < q; ++f) trace += normal[f * q + f];
  for (int f = 0; f < q; ++f) normal[f * q + f] += 1e-6 * trace / q + 1e-12;
  if (q > 0 && !cholesky_solve(normal.data(), right.data(), q)) return false;
  model.weights[q] = -1.0;
  model.intercept = mean[q];
  for (int f = 0; f < q; ++f) {
    model.weights[f] = right[f];
    model.weights[q] -= right[f];
    model.intercept -= right[f] * mean[f];
  }
  return true;
}

}  // namespace

template <class D>
StartModel fit_start(const Problem<D>& problem, std::int64_t n_fit, int n_jobs) {
  StartModel model;
  const std::int64_t k = problem.k, n = std::min(n_fit, problem.n);
  if (!problem.one_perplexity || k < 3 || n < 1) return model;
  model.n_features = choose_ranks(k, problem.perplexity[0], model.ranks);

  // A small problem of its own, so that the caller's arrays are not touched.
  std::vector<D> rows(n * k);
  std::vector<double> affinities(n * k), betas(n), sigmas(n);
  std::vector<std::int32_t> evaluations(n);
  std::vector<std::uint8_t> status(n);
  for (std::int64_t i = 0; i < n; ++i) {
    const D* row = problem.sq_distances + (i * problem.n / n) * k;
    std::copy(row, row + k, rows.begin() + i * k);
  }
  Problem<D> sample{rows.data(), n, k, problem.perplexity, true, 1e-6, true, affinities.data(),
                    betas.data(), sigmas.data(), evaluations.data(), status.data()};
  const double lower = lower_constant_of(problem);
  const auto solve = CK_DISPATCH(solve_row<D>);
  ThreadPool pool(n_jobs);
  parallel_chunks(pool, n, 32, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> scratch(row_scratch(k));
    for (std::int64_t i = begin; i < end; ++i)
      solve(sample, i, Method::HALLEY, 50, 0.0, lower, scratch.data());
  });

  std::vector<double> features, targets;
  for (std::int64_t i = 0; i < n; ++i) {
    const D* row = rows.data() + i * k;
    bool usable = status[i] == CONVERGED;
    for (int f = 0; f < model.n_features; ++f)
      usable = usable && row[model.ranks[f]] > row[0] && row[model.ranks[f]] < HUGE_VAL;
    if (!usable) continue;
    // In units of a power of four near the row's range, so that scaled data give the same bits.
    int e;
    std::frexp(static_cast<double>(row[k - 1]) - static_cast<double>(row[0]), &e);
    e &= ~1;
    targets.push_back(std::log2(std::ldexp(betas[i], e)));
    for (int f = 0; f < model.n_features; ++f) {
      const double gap = static_cast<double>(row[model.ranks[f]]) - static_cast<double>(row[0]);
      features.push_back(std::log2(std::ldexp(gap, -e)));
    }
  }
  const std::size_t enough = 3 * static_cast<std::size_t>(model.n_features);
  if (targets.size() < enough || !fit_weights(features, targets, model)) model.n_features = 0;
  return model;
}

template <class D>
void solve_from_model(const Problem<D>& problem, const StartModel& model, int n_jobs) {
  const double lower = lower_constant_of(problem);
  const auto solve = CK_DISPATCH(solve_batch<D>);
  ThreadPool pool(n_jobs);
  parallel_chunks(pool, problem.n, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> scratch(batch_scratch(problem.k));
    for (std::int64_t i = begin; i < end; i += BATCH)
      solve(problem, i, std::min<std::int64_t>(end, i + BATCH), model, lower, scratch.data());
  });
}

template <class D>
void solve_in_order(const Problem<D>& problem, Method method, int max_inner, const Order& order,
                    int n_jobs) {
  const double lower = lower_constant_of(problem);
  const auto solve = CK_DISPATCH(solve_row<D>);
  ThreadPool pool(n_jobs);
  for (std::int64_t wave = 0; wave < order.n_waves; ++wave) {
    const std::int64_t first_run = order.wave_offsets[wave];
    pool.run(order.wave_offsets[wave + 1] - first_run, [&](std::int64_t run) {
      std::vector<double> scratch(row_scratch(problem.k));
      const std::int64_t* bounds = order.run_offsets + first_run + run;
      for (std::int64_t position = bounds[0]; position < bounds[1]; ++position) {
        const std::int64_t row = order.sequence[position], parent = order.parent[position];
        const double start = parent >= 0 ? problem.betas[parent] : order.starts ? order.starts[row] : 0.0;
        solve(problem, row, method, max_inner, start, lower, scratch.data());
      }
    });
  }
}

template <class D>
void affinities_at(const D* sq_distances, std::int64_t n, std::int64_t k, const double* betas,
                   bool sorted, double* affinities, double* perplexities, int n_jobs) {
  const auto pass = CK_DISPATCH(affinities_row<D>);
  ThreadPool pool(n_jobs);
  parallel_chunks(pool, n, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> scratch(padded(k) + 16);
    for (std::int64_t i = begin; i < end; ++i)
      pass(sq_distances + i * k, k, betas[i], sorted, affinities + i * k,
           perplexities ? perplexities + i : nullptr, scratch.data());
  });
}

void entropy_at(const double* sq_distances, std::int64_t n, std::int64_t k, const double* log_betas,
                double* out, int n_jobs) {
  const auto entropy = CK_DISPATCH(entropy_row);
  ThreadPool pool(n_jobs);
  parallel_chunks(pool, n, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> scratch(padded(k));
    for (std::int64_t i = begin; i < end; ++i)
      entropy(sq_distances + i * k, k, log_betas[i], out + 4 * i, scratch.data());
  });
}

void bounds_of_rows(const double* sq_distances, std::int64_t n, std::int64_t k,
                    const double* perplexity, bool one_perplexity, bool sharp, double* lower,
                    double* upper, int n_jobs) {
  // The constants of a full row, which nearly all rows are.
  double full_lower = 0.0, full_upper = 0.0;
  if (one_perplexity && perplexity[0] > 1.0 && perplexity[0] < k) {
    full_lower = sharp ? sharp_lower_constant(k, perplexity[0]) : 0.0;
    full_upper = paper_upper_constant(static_cast<double>(k), perplexity[0]);
  }
  const auto scan = CK_DISPATCH(scan_row<double>);
  ThreadPool pool(n_jobs);
  parallel_chunks(pool, n, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const RowStats s = scan(sq_distances + i * k, k);
      const double big_k = perplexity[one_perplexity ? 0 : i], size = static_cast<double>(s.n_finite);
      lower[i] = upper[i] = std::numeric_limits<double>::quiet_NaN();
      if (s.invalid || !(s.n_finite > big_k) || s.n_min >= big_k) continue;
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
  template StartModel fit_start<D>(const Problem<D>&, std::int64_t, int);                        \
  template void solve_from_model<D>(const Problem<D>&, const StartModel&, int);                  \
  template void solve_in_order<D>(const Problem<D>&, Method, int, const Order&, int);            \
  template void affinities_at<D>(const D*, std::int64_t, std::int64_t, const double*, bool,      \
                                 double*, double*, int);
CK_INSTANTIATE(double)
CK_INSTANTIATE(float)

}  // namespace closeknit
