#include "graphs/symmetrize.h"

#include <stdexcept>

#include "common/threads.h"

namespace closeknit {
namespace {

constexpr std::int64_t ROWS_PER_TASK = 2048;
constexpr char WRONG_ROOM[] = "indptr does not hold the numbers of entries of the sum";

// Calls take(column, sum) for every column of row n of A + B, in order.
template <class I, class Take>
void merge_row(const Csr<I>& a, const Csr<I>& b, std::int64_t n, Take take) {
  I i = a.indptr[n], j = b.indptr[n];
  const I i_end = a.indptr[n + 1], j_end = b.indptr[n + 1];
  while (i < i_end && j < j_end) {
    const I left = a.indices[i], right = b.indices[j];
    double sum = 0.0;
    if (left <= right) sum += a.values[i++];
    if (right <= left) sum += b.values[j++];
    take(left < right ? left : right, sum);
  }
  for (; i < i_end; ++i) take(a.indices[i], a.values[i]);
  for (; j < j_end; ++j) take(b.indices[j], b.values[j]);
}

}  // namespace

template <class I>
void merged_counts(const Csr<I>& a, const Csr<I>& b, I* counts, ThreadPool& pool) {
  parallel_chunks(pool, a.n_rows, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      I count = 0;
      merge_row(a, b, row, [&](I, double) { ++count; });
      counts[row] = count;
    }
  });
}

template <class I>
void merged_mean(const Csr<I>& a, const Csr<I>& b, const I* indptr, I* indices, double* data,
                 ThreadPool& pool) {
  parallel_chunks(pool, a.n_rows, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      I at = indptr[row];
      const I stop = indptr[row + 1];
      merge_row(a, b, row, [&](I column, double sum) {
        if (at == stop) throw std::invalid_argument(WRONG_ROOM);
        indices[at] = column;
        data[at++] = 0.5 * sum;
      });
      if (at != stop) throw std::invalid_argument(WRONG_ROOM);
    }
  });
}

#define CK_INSTANTIATE(I)                                                        \
  template void merged_counts<I>(const Csr<I>&, const Csr<I>&, I*, ThreadPool&); \
  template void merged_mean<I>(const Csr<I>&, const Csr<I>&, const I*, I*, double*, ThreadPool&);
CK_INSTANTIATE(std::int32_t)
CK_INSTANTIATE(std::int64_t)
#undef CK_INSTANTIATE

}  // namespace closeknit
