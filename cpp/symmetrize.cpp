#include "symmetrize.h"

#include "parallel.h"

namespace closeknit {
namespace {

constexpr std::int64_t ROWS_PER_TASK = 2048;

// Calls take(column, sum) for every column of row n of A + B, in order.
template <class I, class Take>
void merge_row(const SparseRows<I>& a, const SparseRows<I>& b, std::int64_t n, Take take) {
  I i = a.indptr[n], j = b.indptr[n];
  const I i_end = a.indptr[n + 1], j_end = b.indptr[n + 1];
  while (i < i_end && j < j_end) {
    const I left = a.indices[i], right = b.indices[j];
    double sum = 0.0;
    if (left <= right) sum += a.data[i++];
    if (right <= left) sum += b.data[j++];
    take(left < right ? left : right, sum);
  }
  for (; i < i_end; ++i) take(a.indices[i], a.data[i]);
  for (; j < j_end; ++j) take(b.indices[j], b.data[j]);
}

}  // namespace

template <class I>
void merged_counts(const SparseRows<I>& a, const SparseRows<I>& b, std::int64_t n, I* counts,
                   int n_jobs) {
  ThreadPool pool(n_jobs);
  parallel_chunks(pool, n, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      I count = 0;
      merge_row(a, b, row, [&](I, double) { ++count; });
      counts[row] = count;
    }
  });
}

template <class I>
void merged_mean(const SparseRows<I>& a, const SparseRows<I>& b, std::int64_t n, const I* indptr,
                 I* indices, double* data, int n_jobs) {
  ThreadPool pool(n_jobs);
  parallel_chunks(pool, n, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      I at = indptr[row];
      merge_row(a, b, row, [&](I column, double sum) {
        indices[at] = column;
        data[at++] = 0.5 * sum;
      });
    }
  });
}

#define CK_INSTANTIATE(I)                                                                       \
  template void merged_counts<I>(const SparseRows<I>&, const SparseRows<I>&, std::int64_t, I*,  \
                                 int);                                                          \
  template void merged_mean<I>(const SparseRows<I>&, const SparseRows<I>&, std::int64_t,        \
                               const I*, I*, double*, int);
CK_INSTANTIATE(std::int32_t)
CK_INSTANTIATE(std::int64_t)
#undef CK_INSTANTIATE

}  // namespace closeknit
