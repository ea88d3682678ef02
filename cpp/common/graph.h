// A sparse matrix that came from Python, checked.
#pragma once

#include <atomic>

#include "common/bindings_common.h"
#include "common/csr.h"

namespace closeknit {

// Holds the arrays of a SciPy matrix in CSR form. Types and offsets are checked when it is made.
// Indices are checked once, when first used, because products look at them on the way and row sums
// not at all. The arrays must not change while it lives.
class Graph {
 public:
  explicit Graph(nb::object matrix);

  std::int64_t n_rows() const { return n_rows_; }
  std::int64_t n_columns() const { return n_columns_; }
  std::int64_t n_entries() const { return length(values_); }
  bool is_square() const { return n_rows_ == n_columns_; }

  // For loops that trust indices.
  void check_indices() const;

  // What it was made of, so that whatever holds a graph can be pickled.
  const nb::object& matrix() const { return matrix_; }

  // Calls body(matrix) with the matrix as what it is.
  template <class Body>
  auto visit(const Body& body) const {
    if (holds<float>(values_)) return visit_values<float>(body);
    return visit_values<double>(body);
  }
  // The same where values must be of one type.
  template <class T, class Body>
  auto visit_values(const Body& body) const {
    require(holds<T>(values_), sizeof(T) == 8 ? "the values of the matrix must be float64"
                                              : "the values of the matrix must be float32");
    if (holds<std::int32_t>(indices_)) return body(view<std::int32_t, T>());
    return body(view<std::int64_t, T>());
  }
  // For loops over two matrices, which must be of one type.
  template <class I, class T>
  bool is_of() const {
    return holds<I>(indices_) && holds<T>(values_);
  }
  template <class I, class T>
  Csr<I, T> view() const {
    return {static_cast<const I*>(indptr_.data()), static_cast<const I*>(indices_.data()),
            static_cast<const T*>(values_.data()), n_rows_, n_columns_};
  }

 private:
  nb::object matrix_;
  AnyArray indptr_, indices_, values_;
  std::int64_t n_rows_, n_columns_;
  mutable std::atomic<bool> indices_checked_{false};
};

}  // namespace closeknit
