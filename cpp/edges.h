// Sums over the edges of a graph between points of an embedding: the attraction.
#pragma once

#include <cstdint>

#include "kernel.h"

namespace closeknit {

// A graph in CSR form over the rows of `queries`, pointing to rows of `points`. T is the precision
// of weights, positions and arithmetic.
template <class T, class I>
struct Edges {
  const I* indptr;
  const I* indices;
  const T* weights;
  std::int64_t n;
  const T* queries;
  const T* points;
  int d;
};

// Σ w (-log K) if `value`, and per row Σ w (-log K)' (x_n - x_m) if `force` is given.
template <class T, class I>
double sum_edges(const Edges<T, I>& edges, const Kernel& kernel, bool value, double* force,
                 int n_jobs);

// w (-log K)' of every edge: the weights of the attractive Laplacian.
template <class T, class I>
void edge_weights(const Edges<T, I>& edges, const Kernel& kernel, T* out, int n_jobs);

}  // namespace closeknit
