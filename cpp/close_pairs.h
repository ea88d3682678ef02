// Sums over the pairs of points that are closer than some radius, found by cells as wide as that.
#pragma once

#include <cstdint>

#include "grid.h"
#include "kernel.h"

namespace closeknit {

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

  std::int64_t along(int axis, double x) const {
    const auto cell = static_cast<std::int64_t>((x - low[axis]) / side);
    return cell < 0 ? 0 : cell < size[axis] ? cell : size[axis] - 1;
  }
  // Rows are the cells that differ in the last coordinate only.
  std::int64_t row(const double* x) const {
    std::int64_t index = 0;
    for (int c = 0; c + 1 < d; ++c) index = index * size[c] + along(c, x[c]);
    return index;
  }
  std::int64_t n_rows() const {
    std::int64_t n = 1;
    for (int c = 0; c + 1 < d; ++c) n *= size[c];
    return n;
  }
};

// How many points share a point's cell, itself included, on average over points.
double crowding(const Cells& cells, const double* points, std::int64_t n, int n_jobs);

// value_n += Σ_m w_m K and gradient_n += Σ_m 2 w_m K' (x_n - x_m) over all other points m within the
// radius, which must not exceed the cells' side. Weights and gradient may be null. T is the precision
// of a pair; each point's neighbours are added up in the order of cells, and within a cell as given.
template <class T>
void add_close_pairs(const Cells& cells, const Taper& taper, const double* points, std::int64_t n,
                     const double* weights, double* value, double* gradient, int n_jobs);

}  // namespace closeknit
