#include "products.h"

#include <algorithm>

#include "parallel.h"

namespace closeknit {

template <class I>
void multiply(const Weights<I>& matrix, const double* X, std::int64_t k, double* out, int n_jobs) {
  constexpr std::int64_t ROWS_PER_TASK = 2048;
  ThreadPool pool(n_jobs);
  parallel_chunks(pool, matrix.n, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      double* sums = out + i * k;
      std::fill(sums, sums + k, 0.0);
      for (I e = matrix.indptr[i]; e < matrix.indptr[i + 1]; ++e) {
        const double w = matrix.values[e];
        const double* x = X + static_cast<std::int64_t>(matrix.indices[e]) * k;
        for (std::int64_t c = 0; c < k; ++c) sums[c] += w * x[c];
      }
    }
  });
}

template void multiply(const Weights<std::int32_t>&, const double*, std::int64_t, double*, int);
template void multiply(const Weights<std::int64_t>&, const double*, std::int64_t, double*, int);

}  // namespace closeknit
