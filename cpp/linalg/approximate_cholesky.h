// Approximate Cholesky factorisation of Laplacians plus a non-negative diagonal.
//
// Eliminating a vertex exactly would join all its neighbours to each other. Here each neighbour,
// from the lightest on, is joined to one heavier neighbour drawn by weight, with all the weight
// that it would have shared out among them, so that the expectation is that of exact elimination
// and no elimination adds edges (R. Kyng and S. Sachdeva, FOCS 2016; Y. Gao, R. Kyng and D.
// Spielman, "Robust and practical solution of Laplacian equations by approximate elimination",
// 2023).
#pragma once

#include <cstdint>
#include <vector>

#include "common/csr.h"

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

// F D Fᵀ ≈ the matrix, with F unit lower triangular in the order of elimination. Symmetric and
// positive definite whatever was drawn, since F has an inverse and D is a sum of weights. Only a
// connected component without any excess leaves a zero in D, at its last vertex; there the
// constants are projected out, as by the pseudo-inverse.
class ApproximateCholesky {
 public:
  // Eliminates by least degree, which is found on the way.
  template <class I>
  ApproximateCholesky(const Laplacian<I>& matrix, std::uint64_t seed, ThreadPool& pool);

  // Eliminates in a given order: a permutation of 0 … n − 1, such as another factor's.
  template <class I>
  ApproximateCholesky(const Laplacian<I>& matrix, std::uint64_t seed,
                      const std::vector<std::int32_t>& order, ThreadPool& pool);

  // The approximate inverse times n rows of d numbers; `out` may be `rhs`.
  void solve(const double* rhs, std::int64_t d, double* out, ThreadPool& pool) const;

  std::int64_t n() const { return static_cast<std::int64_t>(order_.size()); }
  // Entries of F with its diagonal.
  std::int64_t nnz() const { return n() + static_cast<std::int64_t>(rows_.size()); }
  const std::vector<std::int32_t>& order() const { return order_; }
  const std::vector<std::int64_t>& offsets() const { return offsets_; }
  const std::vector<std::int32_t>& rows() const { return rows_; }
  const std::vector<double>& values() const { return values_; }
  const std::vector<double>& pivots() const { return pivots_; }

 private:
  friend class Elimination;

  void reserve(std::int64_t n, std::int64_t n_entries);
  void find_floating();
  void centre(double* work, std::int64_t d) const;
  template <int D>
  void substitute(double* work) const;
  // The k ≤ 4 columns from the first on, of d.
  void solve_some(const double* rhs, std::int64_t first, std::int64_t k, std::int64_t d,
                  double* out) const;

  std::vector<std::int32_t> order_;     // order_[t] is the t-th vertex to go
  std::vector<std::int64_t> offsets_;   // of F's columns, without the diagonal
  std::vector<std::int32_t> rows_;      // positions in the order, all later than the column's
  std::vector<double> values_;          // −F's entries, which are shares: positive, at most 1
  std::vector<double> pivots_;          // D
  std::vector<std::int32_t> floating_;  // per position the component without excess, or −1
  std::vector<double> sizes_;           // of those components
};

}  // namespace closeknit
