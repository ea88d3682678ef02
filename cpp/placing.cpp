#include "placing.h"

#include <cmath>
#include <vector>

#include "dispatch.h"
#include "kernels_pairs.h"
#include "parallel.h"

namespace closeknit {
namespace {

// Value, gradient and a positive diagonal of the Hessian at one position.
struct Local {
  double value;
  std::vector<double> gradient, diagonal;
};

template <class I>
class Placer {
 public:
  Placer(const Placing<I>& problem, const Kernel& kernel, const Columns& columns)
      : p_(problem), kernel_(kernel), columns_(columns), row_(CK_DISPATCH(sum_row)),
        scratch_(12 * static_cast<std::size_t>(p_.d) + 8), force_(p_.d), curvature_(p_.d) {}

  // Scaled gradient steps: the diagonal is the attraction's plus the convex part of the
  // repulsion's, so that a step of one rarely needs to be cut.
  void place(std::int64_t i, double* x) {
    const int d = p_.d;
    Local here = at(i, x), there = here;
    std::vector<double> trial(d);
    double step = 1.0;
    for (int iteration = 0; iteration < p_.max_iter; ++iteration) {
      double slope = 0.0;
      for (int c = 0; c < d; ++c) slope -= here.gradient[c] * here.gradient[c] / here.diagonal[c];
      if (!(slope < 0.0)) return;
      step = step < 0.5 ? 2.0 * step : 1.0;
      double moved = 0.0;
      for (;; step *= 0.5) {
        if (step < 1e-10) return;
        moved = 0.0;
        for (int c = 0; c < d; ++c) {
          const double move = -step * here.gradient[c] / here.diagonal[c];
          trial[c] = x[c] + move;
          moved += move * move;
        }
        there = at(i, trial.data());
        if (there.value <= here.value + 0.1 * step * slope) break;
      }
      for (int c = 0; c < d; ++c) x[c] = trial[c];
      std::swap(here, there);
      if (std::sqrt(moved) <= p_.tol) return;
    }
  }

 private:
  Local at(std::int64_t i, const double* x) {
    const int d = p_.d;
    Local out{0.0, std::vector<double>(d, 0.0), std::vector<double>(d, 0.0)};
    double value = 0.0, slope = 0.0;
    const AllPairs pairs{x, 1, p_.points, p_.n_points, d, false, nullptr, nullptr, nullptr};
    row_(pairs, columns_, kernel_, Want::CURVATURE, 0,
         PairSums{&value, &slope, force_.data(), curvature_.data()}, scratch_.data());
    double stiffness = 0.0;
    for (I j = p_.indptr[i]; j < p_.indptr[i + 1]; ++j) {
      const double* y = p_.points + static_cast<std::int64_t>(p_.indices[j]) * d;
      double t = 0.0;
      for (int c = 0; c < d; ++c) t += (x[c] - y[c]) * (x[c] - y[c]);
      const bool student = kernel_.family == Family::STUDENT;
      const double slope = p_.weights[j] * kernel_.power / kernel_.scale;
      const double w = slope / (student ? 1.0 + t / kernel_.scale : 1.0);
      out.value += student ? p_.weights[j] * kernel_.power * std::log1p(t / kernel_.scale)
                           : slope * t;
      stiffness += 2.0 * w;
      for (int c = 0; c < d; ++c) out.gradient[c] += 2.0 * w * (x[c] - y[c]);
    }
    out.value += p_.repulsion * value;
    for (int c = 0; c < d; ++c) {
      out.gradient[c] += 2.0 * p_.repulsion * force_[c];
      out.diagonal[c] = stiffness + 4.0 * p_.repulsion * curvature_[c] + 1e-12;
    }
    return out;
  }

  const Placing<I>& p_;
  const Kernel& kernel_;
  const Columns& columns_;
  decltype(&baseline::sum_row) row_;
  std::vector<double> scratch_, force_, curvature_;
};

}  // namespace

template <class I>
void place(const Placing<I>& problem, const Kernel& kernel, double* positions, int n_jobs) {
  const std::int64_t n = problem.n_points;
  const std::int64_t n_padded = (n + COLUMN_STEP - 1) / COLUMN_STEP * COLUMN_STEP;
  std::vector<double> points(static_cast<std::size_t>(problem.d) * n_padded, 0.0);
  for (std::int64_t m = 0; m < n; ++m)
    for (int c = 0; c < problem.d; ++c)
      points[c * n_padded + m] = problem.points[m * problem.d + c];
  const Columns columns{points.data(), nullptr, nullptr, n_padded};
  ThreadPool pool(n_jobs);
  parallel_chunks(pool, problem.n_new, 16, [&](std::int64_t begin, std::int64_t end) {
    Placer<I> placer(problem, kernel, columns);
    for (std::int64_t i = begin; i < end; ++i) placer.place(i, positions + i * problem.d);
  });
}

template void place<std::int32_t>(const Placing<std::int32_t>&, const Kernel&, double*, int);
template void place<std::int64_t>(const Placing<std::int64_t>&, const Kernel&, double*, int);

}  // namespace closeknit
