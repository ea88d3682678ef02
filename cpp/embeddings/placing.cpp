#include "embeddings/placing.h"

#include <cmath>
#include <vector>

#include "common/dispatch.h"
#include "common/threads.h"
#include "repulsion/kernels_all_pairs.h"
#include "repulsion/kernels_grid.h"

namespace closeknit {
namespace {

// A fraction of a millisecond's work, and what reading the field costs of it.
constexpr std::int64_t PAIRS_PER_CHECK = 1 << 18, PAIRS_PER_READ = 256;
constexpr std::int64_t POINTS_PER_TASK = 16;

// Value, gradient and a positive diagonal of the Hessian at one position.
struct Local {
  double value;
  std::vector<double> gradient, diagonal;
};

template <class T, class I>
class Placer {
 public:
  Placer(const Placing<I>& problem, const Kernel& kernel, const GridPotential<T>* field,
         const Columns& columns, ThreadPool& pool)
      : p_(problem),
        kernel_(kernel),
        field_(field),
        columns_(columns),
        pool_(pool),
        row_(CK_DISPATCH(sum_row)),
        read_(CK_DISPATCH(gather_points<T>)),
        scratch_(12 * static_cast<std::size_t>(p_.d) + 8),
        force_(p_.d),
        curvature_(p_.d) {}

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
    const double value = repel(x);
    if (work_ >= PAIRS_PER_CHECK) {
      pool_.check();
      work_ = 0;
    }
    double stiffness = 0.0;
    for (I j = p_.neighbors.indptr[i]; j < p_.neighbors.indptr[i + 1]; ++j) {
      const double* y = p_.points + static_cast<std::int64_t>(p_.neighbors.indices[j]) * d;
      double t = 0.0;
      for (int c = 0; c < d; ++c) t += (x[c] - y[c]) * (x[c] - y[c]);
      const bool student = kernel_.family == Family::STUDENT;
      const double slope = p_.neighbors.values[j] * kernel_.power / kernel_.scale;
      const double w = slope / (student ? 1.0 + t / kernel_.scale : 1.0);
      out.value += student ? p_.neighbors.values[j] * kernel_.power * std::log1p(t / kernel_.scale)
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

  // Σ_m K at x; also Σ_m K' (x - x_m) and Σ_m K'' (x - x_m)² into force_ and curvature_.
  double repel(const double* x) {
    double value = 0.0, slope = 0.0;
    if (field_ && field_->covers(x)) {
      const std::int64_t first = 0;
      work_ += PAIRS_PER_READ;
      read_(field_->grid, field_->potential, x, nullptr, &first, &first + 1, &value, force_.data());
      for (int c = 0; c < p_.d; ++c) {
        force_[c] *= 0.5;
        curvature_[c] = 0.5 * value;  // at least that of Student's t, whose K'' dx² ≤ K / 2
      }
      return value;
    }
    work_ += p_.neighbors.n_columns;
    const AllPairs pairs{x,       1,       p_.points, p_.neighbors.n_columns, p_.d, false,
                         nullptr, nullptr, nullptr};
    row_(pairs, columns_, kernel_, Want::CURVATURE, 0,
         PairSums{&value, &slope, force_.data(), curvature_.data()}, scratch_.data());
    return value;
  }

  const Placing<I>& p_;
  const Kernel& kernel_;
  const GridPotential<T>* field_;
  const Columns& columns_;
  ThreadPool& pool_;
  decltype(&baseline::sum_row) row_;
  decltype(&baseline::gather_points<T>) read_;
  std::vector<double> scratch_, force_, curvature_;
  std::int64_t work_ = 0;  // since the last look for an interrupt, in pairs
};

}  // namespace

template <class T>
bool GridPotential<T>::covers(const double* x) const {
  const double inverse = 1.0 / grid.spacing;  // as the kernels compute a place
  for (int c = 0; c < grid.d; ++c) {
    const double u = (x[c] - grid.origin[c]) * inverse;
    const bool inside =
        u >= static_cast<double>(first_node(grid)) && u < static_cast<double>(last_node(grid, c));
    if (!inside) return false;
  }
  return true;
}

template <class T, class I>
void place(const Placing<I>& problem, const Kernel& kernel, const GridPotential<T>* field,
           double* positions, ThreadPool& pool) {
  const std::int64_t n = problem.neighbors.n_columns;
  const std::int64_t n_padded = (n + COLUMN_STEP - 1) / COLUMN_STEP * COLUMN_STEP;
  std::vector<double> points(static_cast<std::size_t>(problem.d) * n_padded, 0.0);
  for (std::int64_t m = 0; m < n; ++m)
    for (int c = 0; c < problem.d; ++c)
      points[c * n_padded + m] = problem.points[m * problem.d + c];
  const Columns columns{points.data(), nullptr, nullptr, n_padded};
  parallel_chunks(pool, problem.neighbors.n_rows, POINTS_PER_TASK,
                  [&](std::int64_t begin, std::int64_t end) {
                    Placer<T, I> placer(problem, kernel, field, columns, pool);
                    for (std::int64_t i = begin; i < end; ++i)
                      placer.place(i, positions + i * problem.d);
                  });
}

#define CK_INSTANTIATE(T, I)                                                                    \
  template void place<T, I>(const Placing<I>&, const Kernel&, const GridPotential<T>*, double*, \
                            ThreadPool&);
CK_INSTANTIATE(float, std::int32_t)
CK_INSTANTIATE(float, std::int64_t)
CK_INSTANTIATE(double, std::int32_t)
CK_INSTANTIATE(double, std::int64_t)
#undef CK_INSTANTIATE

}  // namespace closeknit
