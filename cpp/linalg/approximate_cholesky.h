// Approximate Cholesky factorisation of Laplacians plus a non-negative diagonal.
//
// Eliminating a vertex exactly would join all its neighbours to each other. Here each neighbour,
// from the lightest on, is joined to one heavier neighbour drawn by weight, with all the weight
// that it would have shared out among them, so that the expectation is that of exact elimination
// and no elimination adds edges (R. Kyng and S. Sachdeva, FOCS 2016; Y. Gao, R. Kyng and D.
// Spielman, "Robust and practical solution of Laplacian equations by approximate elimination",
// 2023).
//
// A graph may come in parts that no edge joins, and a border that all of them may touch. Parts are
// eliminated, and solved, each on its own, and the border after them: on several threads, and in
// memory that the cache can hold.
#pragma once

#include <cstdint>
#include <vector>

#include "common/csr.h"
#include "linalg/columns.h"

namespace closeknit {

class ThreadPool;

// The matrix diag(excess + row sums of W) − W, with W symmetric and non-negative in compressed
// sparse rows. What is stored on W's diagonal is ignored.
template <class I>
struct Laplacian {
  Csr<I> weights;
  const double* excess;
};
template <class I>
Laplacian(Csr<I>, const double*) -> Laplacian<I>;

// A part of the graph, or the border, which is a part that touches nothing else.
struct Part {
  std::vector<std::int32_t> points;   // in the order of elimination
  std::vector<std::int32_t> touched;  // points of the border, by their place in its order
  Columns columns;  // numbered by that order; `touched` comes after the part's own points
};

// How the points of a graph are shared out.
struct Division {
  std::vector<std::vector<std::int32_t>> parts;
  std::vector<std::int32_t> border;

  // From the part of each of n points, −1 for the border.
  static Division of(const std::int32_t* labels, std::int64_t n);
  // All points are the border.
  static Division none(std::int64_t n);
};

// F D Fᵀ ≈ the matrix, with F unit lower triangular in the order of elimination. Symmetric and
// positive definite whatever was drawn, since F has an inverse and D is a sum of weights. Only a
// connected component without any excess leaves a zero in D, at its last vertex; there the
// constants are projected out, as by the pseudo-inverse.
class ApproximateCholesky {
 public:
  // Eliminates the points of each part by least degree, which is found on the way.
  template <class I>
  ApproximateCholesky(const Laplacian<I>& matrix, std::uint64_t seed, Division division,
                      ThreadPool& pool);

  // Eliminates in the order of another factor of as many points.
  template <class I>
  ApproximateCholesky(const Laplacian<I>& matrix, std::uint64_t seed,
                      const ApproximateCholesky& like, ThreadPool& pool);

  // The approximate inverse times n rows of d numbers; `out` may be `rhs`.
  void solve(const double* rhs, std::int64_t d, double* out, ThreadPool& pool) const;

  std::int64_t n() const { return n_; }
  // Entries of F with its diagonal.
  std::int64_t nnz() const;
  // All points in the order of their elimination, and F and D in that order.
  std::vector<std::int32_t> order() const;
  Columns columns() const;

 private:
  template <class I>
  void factorize(const Laplacian<I>& matrix, std::uint64_t seed, bool by_degree, ThreadPool& pool);
  void find_floating();
  void centre(double* rows, std::int64_t d) const;
  template <int D>
  void solve_some(const double* rhs, std::int64_t first, std::int64_t d, double* out,
                  ThreadPool& pool) const;
  void solve_columns(const double* rhs, std::int64_t first, std::int64_t k, std::int64_t d,
                     double* out, ThreadPool& pool) const;

  std::int64_t n_;
  std::vector<Part> parts_;
  Part border_;
  std::vector<std::int32_t> floating_;  // per point the component without excess, or −1
  std::vector<double> sizes_;           // of those components
};

}  // namespace closeknit
