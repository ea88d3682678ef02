// A sparse matrix times a block of vectors, on several threads.
#pragma once

#include <cstdint>

#include "strongest.h"

namespace closeknit {

// out = W X for X with k numbers a row; the matrix need not be symmetric or sorted. Each row is
// added up in the order in which it is stored.
template <class I>
void multiply(const Weights<I>& matrix, const double* X, std::int64_t k, double* out, int n_jobs);

}  // namespace closeknit
