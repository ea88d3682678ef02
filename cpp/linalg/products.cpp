#include "linalg/products.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "common/threads.h"

namespace closeknit {
namespace {

constexpr std::int64_t ROWS_PER_TASK = 2048;

// Rows of a product; false if an index is out of range.
template <class I, class T>
bool multiply_rows(const Csr<I, T> matrix, const double* X, const std::int64_t k,
                   std::int64_t begin, std::int64_t end, double* out) {
  for (std::int64_t i = begin; i < end; ++i) {
    double* sums = out + i * k;
    std::fill(sums, sums + k, 0.0);
    for (I e = matrix.indptr[i]; e < matrix.indptr[i + 1]; ++e) {
      const auto j = static_cast<std::int64_t>(matrix.indices[e]);
      if (j < 0 || j >= matrix.n_columns) return false;
      const double w = matrix.values[e];
      const double* x = X + j * k;
      for (std::int64_t c = 0; c < k; ++c) sums[c] += w * x[c];
    }
  }
  return true;
}

}  // namespace

template <class I, class T>
void multiply(const Csr<I, T>& matrix, const double* X, std::int64_t k, double* out,
              ThreadPool& pool) {
  parallel_chunks(pool, matrix.n_rows, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    if (!multiply_rows(matrix, X, k, begin, end, out))
      throw std::invalid_argument("an index of the matrix is out of range");
  });
}

template <class I, class T>
void sum_rows(const Csr<I, T>& matrix, double* sums, ThreadPool& pool) {
  parallel_chunks(pool, matrix.n_rows, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      sums[i] = std::accumulate(matrix.values + matrix.indptr[i],
                                matrix.values + matrix.indptr[i + 1], 0.0);
  });
}

#define CK_INSTANTIATE(I, T)                                                                   \
  template void multiply(const Csr<I, T>&, const double*, std::int64_t, double*, ThreadPool&); \
  template void sum_rows(const Csr<I, T>&, double*, ThreadPool&);
CK_INSTANTIATE(std::int32_t, float)
CK_INSTANTIATE(std::int32_t, double)
CK_INSTANTIATE(std::int64_t, float)
CK_INSTANTIATE(std::int64_t, double)
#undef CK_INSTANTIATE

}  // namespace closeknit
