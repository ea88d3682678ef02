// How far a sparse matrix is from symmetric.
#pragma once

#include "common/csr.h"

namespace closeknit {

class ThreadPool;

// The largest |w_ij − w_ji|; NaN entries are passed over. Rows must be sorted by column, without
// duplicates.
template <class I, class T>
double asymmetry(const Csr<I, T>& weights, ThreadPool& pool);

}  // namespace closeknit
