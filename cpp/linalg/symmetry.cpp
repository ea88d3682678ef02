#include "linalg/symmetry.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "linalg/images.h"

namespace closeknit {

template <class I, class T>
double asymmetry(const Csr<I, T>& weights, ThreadPool& pool) {
  std::vector<double> largest(static_cast<std::size_t>(pool.n_threads()), 0.0);
  const T* values = weights.values;
  for_images(
      weights, pool.n_threads(), [](std::int64_t) { return true; },
      [&](std::int64_t task, std::int64_t, std::int64_t entry, std::int64_t image) {
        const double other = image < 0 ? 0.0 : static_cast<double>(values[image]);
        const double gap = std::fabs(static_cast<double>(values[entry]) - other);
        if (gap > largest[task]) largest[task] = gap;
        return true;
      },
      pool);
  return *std::max_element(largest.begin(), largest.end());
}

template double asymmetry(const Csr<std::int32_t, float>&, ThreadPool&);
template double asymmetry(const Csr<std::int32_t, double>&, ThreadPool&);
template double asymmetry(const Csr<std::int64_t, float>&, ThreadPool&);
template double asymmetry(const Csr<std::int64_t, double>&, ThreadPool&);

}  // namespace closeknit
