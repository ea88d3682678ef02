// The mean of a sparse matrix and its transpose, both in CSR form with sorted rows.
#pragma once

#include <cstdint>

namespace closeknit {

template <class I>
struct SparseRows {
  const I* indptr;
  const I* indices;
  const double* data;
};

// Entries in each row of A + B.
template <class I>
void merged_counts(const SparseRows<I>& a, const SparseRows<I>& b, std::int64_t n, I* counts,
                   int n_jobs);

// (A + B) / 2, into rows that begin at `indptr`.
template <class I>
void merged_mean(const SparseRows<I>& a, const SparseRows<I>& b, std::int64_t n, const I* indptr,
                 I* indices, double* data, int n_jobs);

}  // namespace closeknit
