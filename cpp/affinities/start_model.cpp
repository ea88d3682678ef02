#include "affinities/start_model.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "affinities/bounds.h"
#include "affinities/kernels_entropic.h"
#include "common/dispatch.h"

namespace closeknit {
namespace {

// Distinct ranks around ⌈K⌉, where the distances say most about β.
int choose_ranks(std::int64_t k, double perplexity, std::int64_t* ranks) {
  const double shares[MAX_FEATURES] = {0.125, 0.25, 0.5, 0.75, 1.0, 1.5, 2.2, 1e18};
  int n = 0;
  for (double share : shares) {
    const double wanted = std::ceil(share * perplexity);
    const std::int64_t last = n ? ranks[n - 1] : 0;
    std::int64_t rank =
        wanted < static_cast<double>(k - 1) ? static_cast<std::int64_t>(wanted) : k - 1;
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
StartModel fit_start(const Problem<D>& problem, std::int64_t n_fit, ThreadPool& pool) {
  StartModel model;
  const std::int64_t k = problem.k, n = std::min(n_fit, problem.n);
  if (!problem.one_perplexity || k < 3 || n < 1) return model;
  model.n_features = choose_ranks(k, problem.perplexity[0], model.ranks);

  // A small problem of its own, so that the caller's arrays are not touched.
  std::vector<D> rows(n * k);
  std::vector<double> affinities(n * k), betas(n), sigmas(n), slopes(n);
  std::vector<std::int32_t> evaluations(n);
  std::vector<std::uint8_t> status(n);
  for (std::int64_t i = 0; i < n; ++i) {
    const D* row = problem.sq_distances + (i * problem.n / n) * k;
    std::copy(row, row + k, rows.begin() + i * k);
  }
  Problem<D> sample{rows.data(),
                    n,
                    k,
                    problem.perplexity,
                    true,
                    1e-6,
                    true,
                    affinities.data(),
                    betas.data(),
                    sigmas.data(),
                    slopes.data(),
                    evaluations.data(),
                    status.data()};
  const double lower = lower_constant(k, problem.perplexity[0]);
  const auto solve = CK_DISPATCH(solve_row<D>);
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

template StartModel fit_start<double>(const Problem<double>&, std::int64_t, ThreadPool&);
template StartModel fit_start<float>(const Problem<float>&, std::int64_t, ThreadPool&);

}  // namespace closeknit
