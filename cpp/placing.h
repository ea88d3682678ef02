// Puts new points into an embedding whose points stay where they are.
#pragma once

#include <cstdint>

#include "grid.h"
#include "pairs.h"

namespace closeknit {

// For new point i, minimise  Σ_j q_j (-log K)(t_j) + repulsion Σ_m K(t_m)  over its position x,
// where j runs over its neighbours and m over all points. Each is minimised alone.
template <class I>
struct Placing {
  const I* indptr;           // neighbours of the new points, CSR over the points
  const I* indices;
  const double* weights;     // q, rows sum to 1
  std::int64_t n_new;
  const double* points;      // n_points × d
  std::int64_t n_points;
  int d;
  double repulsion;
  int max_iter;
  double tol;                // stop when a step moves less than tol times the scale of the embedding
};

// Σ_m K as a spline over a box, in place of the sum over all points.
template <class T>
struct Field {
  Grid grid;
  Potential<T> potential;

  bool covers(const double* x) const;
};

// `positions` (n_new × d) holds the starts and receives the answers. `field` may be null; it is used
// where it covers a position.
template <class T, class I>
void place(const Placing<I>& problem, const Kernel& kernel, const Field<T>* field,
           double* positions, int n_jobs);

}  // namespace closeknit
