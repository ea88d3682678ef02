// The mean of a sparse matrix and its transpose, both in CSR form with sorted rows.
#pragma once

#include <cstdint>

#include "common/csr.h"

namespace closeknit {

class ThreadPool;

// Entries in each row of A + B.
template <class I>
void merged_counts(const Csr<I>& a, const Csr<I>& b, I* counts, ThreadPool& pool);

// (A + B) / 2, into rows that begin at `indptr`. Throws if a row has another number of entries than
// `indptr` has room for.
template <class I>
void merged_mean(const Csr<I>& a, const Csr<I>& b, const I* indptr, I* indices, double* data,
                 ThreadPool& pool);

}  // namespace closeknit
