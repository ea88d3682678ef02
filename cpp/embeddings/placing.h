// Puts new points into an embedding whose points stay where they are.
#pragma once

#include <cstdint>

#include "common/csr.h"
#include "repulsion/all_pairs.h"
#include "repulsion/grid.h"

namespace closeknit {

class ThreadPool;

// For new point i, minimise  Σ_j q_j (-log K)(t_j) + repulsion Σ_m K(t_m)  over its position x,
// where j runs over its neighbours and m over all points. Each is minimised alone.
template <class I>
struct Placing {
  Csr<I> neighbors;      // of the new points among the points: q, rows sum to 1
  const double* points;  // n_points × d
  int d;
  double repulsion;
  int max_iter;
  double tol;  // stop when a step moves less than tol times the scale of the embedding
};
template <class I>
Placing(Csr<I>, const double*, int, double, int, double) -> Placing<I>;

// Σ_m K as a spline over a box, in place of the sum over all points.
template <class T>
struct GridPotential {
  Grid grid;
  Potential<T> potential;

  bool covers(const double* x) const;
};

// `positions` (n_new × d) holds the starts and receives the answers. `field` may be null; it is
// used where it covers a position.
template <class T, class I>
void place(const Placing<I>& problem, const Kernel& kernel, const GridPotential<T>* field,
           double* positions, ThreadPool& pool);

}  // namespace closeknit
