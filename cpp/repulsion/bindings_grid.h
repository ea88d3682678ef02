// Grids and potentials that came from Python, checked, for more than one file of bindings.
#pragma once

#include "common/bindings_common.h"
#include "repulsion/grid.h"

namespace closeknit {

Grid make_grid(const Vector<const double>& origin, const Vector<const std::int64_t>& size,
               double spacing, int degree);

bool operator==(const Grid& a, const Grid& b);

// The coefficients of a spline on the nodes of a grid, which may be part of a larger array.
class Field {
 public:
  using Nodes = nb::ndarray<nb::ro, nb::device::cpu>;

  Field(const Grid& grid, Nodes nodes);

  const Grid& grid() const { return grid_; }

  template <class T>
  bool is_of() const {
    return holds<T>(nodes_);
  }
  template <class T>
  Potential<T> view(const T* own) const {
    Potential<T> potential{static_cast<const T*>(nodes_.data()), {1, 1, 1}, own};
    for (int c = 0; c < grid_.d; ++c)
      potential.stride[c] = nodes_.stride(static_cast<std::size_t>(c));
    return potential;
  }

 private:
  Grid grid_;
  Nodes nodes_;
};

}  // namespace closeknit
