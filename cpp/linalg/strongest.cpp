#include "linalg/strongest.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <vector>

#include "common/threads.h"

namespace closeknit {
namespace {

constexpr std::int64_t ROWS_PER_TASK = 1024;

// Sets chosen[e] for the k heaviest of the row's entries.
template <class I, class T>
void choose(const Csr<I, T>& weights, I begin, I end, std::int64_t k, std::uint8_t* chosen,
            std::vector<T>& scratch) {
  if (end - begin <= k) {
    std::fill(chosen + begin, chosen + end, std::uint8_t{1});
    return;
  }
  // NaN has no place in the order: the selection might run beyond the row.
  constexpr T LEAST = -std::numeric_limits<T>::infinity();
  scratch.resize(static_cast<std::size_t>(end - begin));
  std::transform(weights.values + begin, weights.values + end, scratch.begin(),
                 [](T w) { return w == w ? w : LEAST; });
  std::nth_element(scratch.begin(), scratch.begin() + (k - 1), scratch.end(), std::greater<>());
  const T least = scratch[k - 1];
  auto ties = k - std::count_if(weights.values + begin, weights.values + end,
                                [=](T w) { return w > least; });
  for (I e = begin; e < end; ++e)
    chosen[e] = weights.values[e] > least || (weights.values[e] == least && ties-- > 0);
}

}  // namespace

template <class I, class T>
std::int64_t mark_strongest(const Csr<I, T>& weights, std::int64_t k, std::uint8_t* keep,
                            ThreadPool& pool) {
  const I* indptr = weights.indptr;
  std::vector<std::uint8_t> chosen(indptr[weights.n_rows]);
  std::fill(keep, keep + indptr[weights.n_rows], std::uint8_t{0});
  if (k == 0) return -1;
  parallel_chunks(pool, weights.n_rows, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    std::vector<T> scratch;
    for (std::int64_t i = begin; i < end; ++i)
      choose(weights, indptr[i], indptr[i + 1], k, chosen.data(), scratch);
  });
  std::atomic<std::int64_t> alone{-1};
  parallel_chunks(pool, weights.n_rows, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      for (I e = indptr[i]; e < indptr[i + 1]; ++e) {
        if (!chosen[e]) continue;
        const I j = weights.indices[e];
        const I* last = weights.indices + indptr[j + 1];
        const I* mirror = std::lower_bound(weights.indices + indptr[j], last, static_cast<I>(i));
        if (mirror == last || *mirror != static_cast<I>(i)) {
          alone = i;
          return;
        }
        // A byte is set by its own row, or by the one row that holds its mirror image.
        keep[mirror - weights.indices] = 1;
      }
  });
  // An entry that its own row chose is kept too; the above only knew of the mirror images.
  for (I e = 0; e < indptr[weights.n_rows]; ++e)
    keep[e] = static_cast<std::uint8_t>(keep[e] | chosen[e]);
  return alone;
}

#define CK_INSTANTIATE(I, T) \
  template std::int64_t mark_strongest(const Csr<I, T>&, std::int64_t, std::uint8_t*, ThreadPool&);
CK_INSTANTIATE(std::int32_t, float)
CK_INSTANTIATE(std::int32_t, double)
CK_INSTANTIATE(std::int64_t, float)
CK_INSTANTIATE(std::int64_t, double)
#undef CK_INSTANTIATE

}  // namespace closeknit
