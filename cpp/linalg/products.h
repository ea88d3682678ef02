// A sparse matrix times a block of vectors, and its row sums, on several threads.
#pragma once

#include <cstdint>

#include "common/csr.h"

namespace closeknit {

class ThreadPool;

// out = W X for X with k numbers per row; the matrix need not be square, symmetric or sorted. Each
// row is added up in the order in which it is stored. Throws if an index is out of range: that is
// looked at on the way, because a product reads every index once anyhow.
template <class I, class T>
void multiply(const Csr<I, T>& matrix, const double* X, std::int64_t k, double* out,
              ThreadPool& pool);

// The sum of each row, in double precision.
template <class I, class T>
void sum_rows(const Csr<I, T>& matrix, double* sums, ThreadPool& pool);

}  // namespace closeknit
