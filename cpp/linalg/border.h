// The points that lie between the parts of a graph.
#pragma once

#include <cstdint>

#include "common/csr.h"

namespace closeknit {

class ThreadPool;

// Labels with −1 an end of every edge that joins two parts: that with more such edges, of two with
// as many the later one. What is left of a part then has edges within it and to the border only.
// Returns how many points are in the border.
template <class I>
std::int64_t mark_border(const Csr<I>& weights, std::int32_t* labels, ThreadPool& pool);

}  // namespace closeknit
