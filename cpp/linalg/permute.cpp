#include "linalg/permute.h"

#include <algorithm>
#include <stdexcept>

#include "common/threads.h"

namespace closeknit {
namespace {

constexpr std::int64_t ROWS_PER_TASK = 2048;

}  // namespace

template <class I, class T>
void permute(const Csr<I, T>& graph, const std::int64_t* order, const I* indptr, I* position,
             I* indices, T* values, ThreadPool& pool) {
  for (std::int64_t i = 0; i < graph.n_rows; ++i) position[order[i]] = static_cast<I>(i);
  parallel_chunks(pool, graph.n_rows, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const I from = graph.indptr[order[i]], until = graph.indptr[order[i] + 1];
      if (until - from != indptr[i + 1] - indptr[i])
        throw std::invalid_argument("indptr does not hold the numbers of entries in this order");
      I at = indptr[i];
      for (I e = from; e < until; ++e) indices[at++] = position[graph.indices[e]];
      std::copy(graph.values + from, graph.values + until, values + indptr[i]);
    }
  });
}

#define CK_INSTANTIATE(I, T) \
  template void permute(const Csr<I, T>&, const std::int64_t*, const I*, I*, I*, T*, ThreadPool&);
CK_INSTANTIATE(std::int32_t, float)
CK_INSTANTIATE(std::int32_t, double)
CK_INSTANTIATE(std::int64_t, float)
CK_INSTANTIATE(std::int64_t, double)
#undef CK_INSTANTIATE

}  // namespace closeknit
