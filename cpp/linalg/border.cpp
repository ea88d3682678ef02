#include "linalg/border.h"

#include <vector>

#include "common/threads.h"

namespace closeknit {

constexpr std::int64_t POINTS_PER_TASK = 8192;

template <class I>
std::int64_t mark_border(const Csr<I>& weights, std::int32_t* labels, ThreadPool& pool) {
  const std::int64_t n = weights.n_rows;
  std::vector<std::int32_t> n_cut(n, 0);
  const auto is_cut = [&](std::int64_t v, I e) {
    return weights.values[e] > 0.0 && labels[v] != labels[weights.indices[e]];
  };
  parallel_chunks(pool, n, POINTS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v)
      for (I e = weights.indptr[v]; e < weights.indptr[v + 1]; ++e) n_cut[v] += is_cut(v, e);
  });
  std::vector<std::uint8_t> in_border(n, 0);
  parallel_chunks(pool, n, POINTS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v)
      for (I e = weights.indptr[v]; n_cut[v] && e < weights.indptr[v + 1]; ++e) {
        const auto u = static_cast<std::int64_t>(weights.indices[e]);
        const bool more = n_cut[v] > n_cut[u] || (n_cut[v] == n_cut[u] && v > u);
        if (more && is_cut(v, e)) in_border[v] = 1;
      }
  });
  std::int64_t count = 0;
  for (std::int64_t v = 0; v < n; ++v)
    if (in_border[v]) {
      labels[v] = -1;
      ++count;
    }
  return count;
}

template std::int64_t mark_border(const Csr<std::int32_t>&, std::int32_t*, ThreadPool&);
template std::int64_t mark_border(const Csr<std::int64_t>&, std::int32_t*, ThreadPool&);

}  // namespace closeknit
