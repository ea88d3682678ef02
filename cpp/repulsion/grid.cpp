// Sorting and threads around the kernels of kernels_grid.h.
#include "repulsion/grid.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "common/binning.h"
#include "common/dispatch.h"
#include "common/threads.h"
#include "repulsion/kernels_grid.h"

namespace closeknit {
namespace {

// Rows of a strip. Strips of the same parity may be filled at the same time, because a point that
// starts in one reaches at most `degree` rows into the next.
constexpr std::int64_t STRIP = 16;
constexpr std::int64_t POINTS_PER_TASK = 16384;
// Queries go in pieces of a strip, since points may crowd in few strips.
constexpr std::int64_t QUERIES_PER_TASK = 2048;

std::int64_t strip_of(const Grid& grid, double x) {
  const double u = std::floor((x - grid.origin[0]) / grid.spacing);
  return (static_cast<std::int64_t>(u) - (grid.degree - 1) / 2) / STRIP;
}

// The smallest and largest of D coordinates, out of rows of d.
template <int D>
void find_extremes(const double* points, std::int64_t begin, std::int64_t end, int d, double* low,
                   double* high) {
  double l[D], h[D];
  for (int c = 0; c < D; ++c) l[c] = h[c] = points[begin * d + c];
  for (std::int64_t m = begin; m < end; ++m)
    for (int c = 0; c < D; ++c) {
      const double x = points[m * d + c];
      l[c] = x < l[c] ? x : l[c];
      h[c] = x > h[c] ? x : h[c];
    }
  std::copy(l, l + D, low);
  std::copy(h, h + D, high);
}

// The place of x along an axis, as the kernels compute it.
double place_of(const Grid& grid, int axis, double x) {
  const double inverse = 1.0 / grid.spacing;
  return (x - grid.origin[axis]) * inverse;
}

// The least and the largest coordinate whose splines stay on the grid, or a hair within; NaN, which
// nothing can reach, where numbers are too coarse for the grid. A step is what rounding may do to
// the difference from the origin, which x itself may be far smaller than.
constexpr int MOST_STEPS = 8;
double step_of(const Grid& grid, int axis, double x) {
  const double size = std::max(std::fabs(grid.origin[axis]), std::fabs(x));
  return std::nextafter(size, HUGE_VAL) - size;
}
double least_inside(const Grid& grid, int axis) {
  const auto first = static_cast<double>(first_node(grid));
  double x = grid.origin[axis] + first * grid.spacing;
  for (int i = 0; i < MOST_STEPS; ++i, x += step_of(grid, axis, x))
    if (place_of(grid, axis, x) >= first) return x;
  return std::numeric_limits<double>::quiet_NaN();
}
double largest_inside(const Grid& grid, int axis) {
  const auto end = static_cast<double>(last_node(grid, axis) + 1);
  double x = grid.origin[axis] + end * grid.spacing;
  for (int i = 0; i < MOST_STEPS; ++i, x -= step_of(grid, axis, x))
    if (place_of(grid, axis, x) < end) return x;
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

std::int64_t first_node(const Grid& grid) { return (grid.degree - 1) / 2; }

std::int64_t last_node(const Grid& grid, int axis) {
  const bool in_vectors = axis + 1 == grid.d;  // which are read whole
  return grid.size[axis] - (in_vectors ? lanes(grid.degree) : grid.degree + 1) + first_node(grid);
}

bool covers(const Grid& grid, const double* points, std::int64_t n, ThreadPool& pool) {
  double low[LIMITS], high[LIMITS];
  for (int i = 0; i < LIMITS; ++i) {
    low[i] = least_inside(grid, i % grid.d);
    high[i] = largest_inside(grid, i % grid.d);
  }
  const auto are_inside = CK_DISPATCH(are_between_limits);
  std::atomic<bool> all{true};
  parallel_chunks(pool, n, POINTS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    if (!are_inside(points + begin * grid.d, (end - begin) * grid.d, low, high)) all = false;
  });
  return all;
}

void bounding_box(const double* points, std::int64_t n, int d, double* low, double* high,
                  ThreadPool& pool) {
  const std::int64_t n_tasks = (n + POINTS_PER_TASK - 1) / POINTS_PER_TASK;
  std::vector<double> lows(n_tasks * d), highs(n_tasks * d);
  parallel_chunks(pool, n, POINTS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    double* l = lows.data() + begin / POINTS_PER_TASK * d;
    double* h = highs.data() + begin / POINTS_PER_TASK * d;
    switch (d) {
      case 2:
        return find_extremes<2>(points, begin, end, d, l, h);
      case 3:
        return find_extremes<3>(points, begin, end, d, l, h);
      default:
        for (int c = 0; c < d; ++c) find_extremes<1>(points + c, begin, end, d, l + c, h + c);
    }
  });
  for (std::int64_t task = 0; task < n_tasks; ++task)
    for (int c = 0; c < d; ++c) {
      low[c] = task ? std::min(low[c], lows[task * d + c]) : lows[c];
      high[c] = task ? std::max(high[c], highs[task * d + c]) : highs[c];
    }
}

std::int64_t n_strips(const Grid& grid) { return (grid.size[0] + STRIP - 1) / STRIP; }

void sort_into_strips(const Grid& grid, const double* points, std::int64_t n, const Strips& strips,
                      ThreadPool& pool) {
  const auto strip = [&](std::int64_t m) { return strip_of(grid, points[m * grid.d]); };
  sort_into_bins(n, n_strips(grid), strip, strips.order, strips.starts, pool);
}

template <class T>
void spread(const Grid& grid, const double* points, const double* weights, const Strips& strips,
            T* nodes, ThreadPool& pool) {
  std::int64_t row = 1;
  for (int c = 1; c < grid.d; ++c) row *= grid.size[c];
  const std::int64_t n_bins = n_strips(grid);
  const auto kernel = CK_DISPATCH(spread_points<T>);
  parallel_chunks(pool, grid.size[0], STRIP, [&](std::int64_t begin, std::int64_t end) {
    std::memset(nodes + begin * row, 0, (end - begin) * row * sizeof(T));
  });
  for (int parity = 0; parity < 2; ++parity)
    pool.run((n_bins + 1 - parity) / 2, [&](std::int64_t task) {
      const std::int64_t bin = 2 * task + parity;
      kernel(grid, points, weights, strips.order + strips.starts[bin],
             strips.order + strips.starts[bin + 1], nodes);
    });
}

template <class T>
void gather(const Grid& grid, const Potential<T>& potential, const double* points,
            const double* weights, const Strips& strips, double* value, double* gradient,
            ThreadPool& pool) {
  const auto kernel = CK_DISPATCH(gather_points<T>);
  const std::int64_t n = strips.starts[n_strips(grid)];
  parallel_chunks(pool, n, QUERIES_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    kernel(grid, potential, points, weights, strips.order + begin, strips.order + end, value,
           gradient);
  });
}

#define CK_INSTANTIATE(T)                                                                 \
  template void spread<T>(const Grid&, const double*, const double*, const Strips&, T*,   \
                          ThreadPool&);                                                   \
  template void gather<T>(const Grid&, const Potential<T>&, const double*, const double*, \
                          const Strips&, double*, double*, ThreadPool&);
CK_INSTANTIATE(float)
CK_INSTANTIATE(double)
#undef CK_INSTANTIATE

}  // namespace closeknit
