// The strongest edges of a weighted graph.
#pragma once

#include <cstdint>

#include "common/csr.h"

namespace closeknit {

class ThreadPool;

// Sets keep[e] for each stored entry e that is among the k largest of its row or of its column; of
// equal weights the first. The matrix is symmetric, with ascending indices in each row. Returns a
// row with an entry whose mirror image is not stored, or −1.
template <class I, class T>
std::int64_t mark_strongest(const Csr<I, T>& weights, std::int64_t k, std::uint8_t* keep,
                            ThreadPool& pool);

}  // namespace closeknit
