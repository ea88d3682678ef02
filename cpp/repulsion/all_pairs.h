// Sums over all pairs of points of an embedding: the repulsion, exactly.
//
// With t = ‖x_n - x_m‖² and a kernel K(t), the objectives and their derivatives are built from
// Σ_m K, Σ_m K', Σ_m K' (x_n - x_m) and Σ_m K'' (x_n - x_m)_i². Nothing of size n × n is stored.
#pragma once

#include <cstdint>

#include "common/kernel.h"

namespace closeknit {

class ThreadPool;

// What each row sums up, besides Σ K.
enum class Want : int {
  VALUE,      // nothing
  FORCE,      // Σ K' and Σ K' (x_n - x_m)
  CURVATURE,  // also Σ K'' (x_n - x_m)_i²
  PRODUCT     // Σ K'' (x_n - x_m)_i² v_im instead
};

// All pairs of a query and a point. Rows are points, d numbers each.
struct AllPairs {
  const double* queries;
  std::int64_t n_queries;
  const double* points;
  std::int64_t n_points;
  int d;
  bool same;                    // queries are the points: leave out each with itself
  const double* point_weights;  // w_m, or null
  const double* pair_weights;   // w_nm, n_queries × n_points, or null
  const double* vectors;        // v, n_points × d, for PRODUCT
};

struct PairSums {
  double* value;      // n_queries: Σ w K
  double* slope;      // n_queries: Σ w K'
  double* force;      // n_queries × d: Σ w K' (x_n - x_m)
  double* curvature;  // n_queries × d: Σ w K'' (x_n - x_m)_i², times v_im for PRODUCT
};

void sum_all_pairs(const AllPairs& pairs, const Kernel& kernel, Want want, const PairSums& out,
                   ThreadPool& pool);

}  // namespace closeknit
