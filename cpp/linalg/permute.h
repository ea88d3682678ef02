// A graph with its points renumbered.
#pragma once

#include "common/csr.h"

namespace closeknit {

class ThreadPool;

// Writes the graph in which point i is point order[i] of `graph`: offsets, columns and values.
// Columns of a row keep the order they had. `order` must be a permutation and `indptr` must hold
// the offsets already; `position` has room for its inverse.
template <class I, class T>
void permute(const Csr<I, T>& graph, const std::int64_t* order, const I* indptr, I* position,
             I* indices, T* values, ThreadPool& pool);

}  // namespace closeknit
