// Sums over the edges of a graph between points of an embedding: the attraction.
#pragma once

#include <cstdint>

#include "common/csr.h"
#include "common/kernel.h"

namespace closeknit {

class ThreadPool;

// Edges from the points `from`, one per row of the graph, to the rows of `points`; the two are the
// same for a whole graph. T is the precision of weights, positions and arithmetic.
template <class T, class I>
struct Edges {
  Csr<I, T> graph;
  const T* from;
  const T* points;
  int d;
};
template <class T, class I>
Edges(Csr<I, T>, const T*, const T*, int) -> Edges<T, I>;

// Σ w (-log K), and per row Σ w (-log K)' (x_n - x_m) if `force` is given.
template <class T, class I>
double sum_edges(const Edges<T, I>& edges, const Kernel& kernel, double* force, ThreadPool& pool);

// w (-log K)' of every edge: the weights of the attractive Laplacian.
template <class T, class I>
void edge_weights(const Edges<T, I>& edges, const Kernel& kernel, T* out, ThreadPool& pool);

// -Σ p log p of weights, of which those below the normal numbers count as nothing.
template <class T>
double sum_entropy(const T* weights, std::int64_t n, ThreadPool& pool);

}  // namespace closeknit
