#include "strongest.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
#include <vector>

#include "parallel.h"

namespace closeknit {
namespace {

constexpr std::int64_t ROWS_PER_TASK = 1024;

// Sets chosen[e] for the k heaviest of the row's entries.
template <class I, class T>
void choose(const Weights<I, T>& weights, I begin, I end, std::int64_t k, std::uint8_t* chosen,
            std::vector<T>& scratch) {
  if (end - begin <= k) {
    std::fill(chosen + begin, chosen + end, std::uint8_t{1});
    return;
  }
  scratch.assign(weights.values + begin, weights.values + end);
  std::nth_element(scratch.begin(), scratch.begin() + (k - 1), scratch.end(), std::greater<>());
  const T least = scratch[k - 1];
  auto ties = k - std::count_if(weights.values + begin, weights.values + end,
                                [=](T w) { return w > least; });
  for (I e = begin; e < end; ++e)
    chosen[e] = weights.values[e] > least || (weights.values[e] == least && ties-- > 0);
}

std::int32_t root_of(std::vector<std::int32_t>& parent, std::int32_t v) {
  while (parent[v] != v) v = parent[v] = parent[parent[v]];
  return v;
}

}  // namespace

template <class I, class T>
std::int64_t mark_strongest(const Weights<I, T>& weights, std::int64_t k, std::uint8_t* keep,
                            int n_jobs) {
  const I* indptr = weights.indptr;
  std::vector<std::uint8_t> chosen(indptr[weights.n]);
  std::fill(keep, keep + indptr[weights.n], std::uint8_t{0});
  if (k == 0) return -1;
  ThreadPool pool(n_jobs);
  parallel_chunks(pool, weights.n, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    std::vector<T> scratch;
    for (std::int64_t i = begin; i < end; ++i)
      choose(weights, indptr[i], indptr[i + 1], k, chosen.data(), scratch);
  });
  std::atomic<std::int64_t> alone{-1};
  parallel_chunks(pool, weights.n, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
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
  for (I e = 0; e < indptr[weights.n]; ++e) keep[e] |= chosen[e];
  return alone;
}

template <class I, class T>
void sum_rows(const Weights<I, T>& weights, double* sums, int n_jobs) {
  ThreadPool pool(n_jobs);
  parallel_chunks(pool, weights.n, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      sums[i] = std::accumulate(weights.values + weights.indptr[i],
                                weights.values + weights.indptr[i + 1], 0.0);
  });
}

template <class I>
std::int64_t label_components(const Weights<I>& weights, const double* degrees, double share,
                              std::int32_t* labels) {
  std::vector<std::int32_t> parent(weights.n);
  std::iota(parent.begin(), parent.end(), 0);
  for (std::int64_t i = 0; i < weights.n; ++i)
    for (I e = weights.indptr[i]; e < weights.indptr[i + 1]; ++e) {
      const I j = weights.indices[e];
      if (!(weights.values[e] > share * std::min(degrees[i], degrees[j]))) continue;
      const std::int32_t a = root_of(parent, static_cast<std::int32_t>(i));
      const std::int32_t b = root_of(parent, static_cast<std::int32_t>(j));
      // The lower number is the root, so that components are met at their first points below.
      parent[std::max(a, b)] = std::min(a, b);
    }
  std::int32_t count = 0;
  for (std::int64_t i = 0; i < weights.n; ++i) {
    const std::int32_t root = root_of(parent, static_cast<std::int32_t>(i));
    labels[i] = root == i ? count++ : labels[root];
  }
  return count;
}

#define CK_INSTANTIATE(I, T)                                                                       \
  template std::int64_t mark_strongest(const Weights<I, T>&, std::int64_t, std::uint8_t*, int);    \
  template void sum_rows(const Weights<I, T>&, double*, int);
CK_INSTANTIATE(std::int32_t, float)
CK_INSTANTIATE(std::int32_t, double)
CK_INSTANTIATE(std::int64_t, float)
CK_INSTANTIATE(std::int64_t, double)
#undef CK_INSTANTIATE
template std::int64_t label_components(const Weights<std::int32_t>&, const double*, double,
                                       std::int32_t*);
template std::int64_t label_components(const Weights<std::int64_t>&, const double*, double,
                                       std::int32_t*);

}  // namespace closeknit
