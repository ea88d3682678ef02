// Sums over the pairs of points that are closer than some radius, found by cells as wide as that.
#pragma once

#include <cstdint>

#include "common/kernel.h"
#include "repulsion/grid.h"

namespace closeknit {

class ThreadPool;

// What is left of a Student kernel K after its Taylor polynomial at the radius r is taken away:
// K(t) - Σ_j c_j v^j with v = (r² - t) / (scale + r²) for t < r², and nothing beyond.
constexpr int TAPER_ORDER = 3;
struct Taper {
  Kernel kernel;
  double radius;
  double coefficients[TAPER_ORDER + 1];
};

// A box of cells; every point lies in it.
struct Cells {
  int d;
  double low[MAX_DIMENSIONS];
  double side;
  std::int64_t size[MAX_DIMENSIONS];
};

// The cell of a coordinate; the first or last one if it lies outside or is no number.
static inline std::int64_t cell_along(const Cells& cells, int axis, double x) {
  const double cell = (x - cells.low[axis]) / cells.side;
  if (!(cell > 0.0)) return 0;
  const std::int64_t last = cells.size[axis] - 1;
  return cell < static_cast<double>(last) ? static_cast<std::int64_t>(cell) : last;
}

// How many points share a point's cell, itself included, on average over points.
double crowding(const Cells& cells, const double* points, std::int64_t n, ThreadPool& pool);

// value_n += Σ_m w_m K and gradient_n += Σ_m 2 w_m K' (x_n - x_m) over all other points m within
// the radius, which must not exceed the cells' side. Weights and gradient may be null. T is the
// precision of a pair; each point's neighbours are added up in the order of cells, and within a
// cell as given.
template <class T>
void add_close_pairs(const Cells& cells, const Taper& taper, const double* points, std::int64_t n,
                     const double* weights, double* value, double* gradient, ThreadPool& pool);

}  // namespace closeknit
