// Sums over pairs of points of an embedding: all pairs (repulsion) or those of a graph (attraction).
//
// With t = ‖x_n - x_m‖² and a kernel K(t), the objectives and their derivatives are built from
// Σ_m K, Σ_m K', Σ_m K' (x_n - x_m) and Σ_m K'' (x_n - x_m)_i². Nothing of size n × n is stored.
#pragma once

#include <cstdint>

namespace closeknit {

enum class Kernel : int { GAUSSIAN, STUDENT, EPANECHNIKOV };

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

void sum_all_pairs(const AllPairs& pairs, Kernel kernel, Want want, const PairSums& out, int n_jobs);

// The edges of a graph in CSR form over the rows of `queries`, pointing to rows of `points`.
template <class I>
struct Edges {
  const I* indptr;
  const I* indices;
  const double* weights;
  std::int64_t n;
  const double* queries;
  const double* points;
  int d;
};

// Σ w (-log K), and per row Σ w (-log K)' (x_n - x_m) if `force` is given.
template <class I>
double sum_edges(const Edges<I>& edges, Kernel kernel, double* force, int n_jobs);

// w (-log K)' of every edge: the weights of the attractive Laplacian.
template <class I>
void edge_weights(const Edges<I>& edges, Kernel kernel, double* out, int n_jobs);

}  // namespace closeknit
