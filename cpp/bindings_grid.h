// Grids and potentials out of NumPy arrays, for more than one file of bindings.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "grid.h"

namespace nb = nanobind;

template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

namespace closeknit {

inline Grid make_grid(const Vector<const double>& origin, const Vector<const std::int64_t>& size,
                      double spacing, int degree) {
  Grid grid{static_cast<int>(origin.shape(0)), degree, {1, 1, 1}, {0.0, 0.0, 0.0}, spacing};
  if (grid.d < 1 || grid.d > MAX_DIMENSIONS || size.shape(0) != origin.shape(0) ||
      (degree != 3 && degree != 5) || !(spacing > 0.0))
    throw nb::value_error("no such grid");
  for (int c = 0; c < grid.d; ++c) {
    grid.size[c] = size(c);
    grid.origin[c] = origin(c);
  }
  return grid;
}

template <class T>
Potential<T> make_potential(const Grid& grid, const nb::ndarray<const T, nb::device::cpu>& nodes,
                            const T* own) {
  Potential<T> potential{nodes.data(), {1, 1, 1}, own};
  if (static_cast<int>(nodes.ndim()) != grid.d) throw nb::value_error("dimensions differ");
  for (int c = 0; c < grid.d; ++c) potential.stride[c] = nodes.stride(c);
  if (potential.stride[grid.d - 1] != 1) throw nb::value_error("rows must be contiguous");
  return potential;
}

}  // namespace closeknit
