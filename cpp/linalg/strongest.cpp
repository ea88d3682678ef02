#include "linalg/strongest.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "common/threads.h"
#include "linalg/images.h"

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

// A number in (0, 1) for each row: the finaliser of MurmurHash3. The seed 0 is as good as others.
double uniform(std::uint64_t row, std::uint64_t seed) {
  std::uint64_t h = row + (seed + 1) * 0x9e3779b97f4a7c15U;
  h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdU;
  h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53U;
  return (static_cast<double>((h ^ (h >> 33)) >> 12) + 0.5) * 0x1p-52;
}

// Goes along the row in m equal strides of weight, the first of which is cut to a share: so each
// entry is drawn as often as its weight wants, rounded up or down.
template <class I, class T>
double draw(const Csr<I, T>& weights, std::int64_t i, int m, double start, std::uint8_t* own) {
  const I begin = weights.indptr[i], end = weights.indptr[i + 1];
  double rest = 0.0;
  for (I e = begin; e < end; ++e)
    if (!own[e] && weights.values[e] > 0) rest += static_cast<double>(weights.values[e]);
  const double stride = rest / m;
  if (!(stride > 0.0 && std::isfinite(stride))) return rest;
  double next = start * stride, passed = 0.0;
  for (I e = begin; e < end; ++e) {
    if (own[e] || !(weights.values[e] > 0)) continue;
    passed += static_cast<double>(weights.values[e]);
    for (; next < passed && own[e] < STRONGEST - 1; next += stride) ++own[e];
  }
  return rest;
}

}  // namespace

template <class I, class T>
std::int64_t mirror(const Csr<I, T>& weights, const std::uint8_t* own, std::uint8_t* mirrored,
                    ThreadPool& pool) {
  std::fill(mirrored, mirrored + weights.indptr[weights.n_rows], std::uint8_t{0});
  std::atomic<std::int64_t> alone{-1};
  for_images(
      weights, pool.n_threads(), [&](std::int64_t entry) { return own[entry] != 0; },
      [&](std::int64_t, std::int64_t row, std::int64_t entry, std::int64_t image) {
        if (image >= 0)
          mirrored[image] = own[entry];  // no other row has this mirror image
        else
          alone = row;
        return image >= 0;
      },
      pool);
  return alone;
}

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
  const std::int64_t alone = mirror(weights, chosen.data(), keep, pool);
  parallel_chunks(pool, weights.n_rows, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    for (I e = indptr[begin]; e < indptr[end]; ++e)
      keep[e] = static_cast<std::uint8_t>(keep[e] | chosen[e]);
  });
  return alone;
}

template <class I, class T>
void sample_rows(const Csr<I, T>& weights, std::int64_t k, int m, std::uint64_t seed,
                 std::int64_t first, std::uint8_t* own, double* rest, ThreadPool& pool) {
  const I* indptr = weights.indptr;
  std::fill(own, own + indptr[weights.n_rows], std::uint8_t{0});
  parallel_chunks(pool, weights.n_rows, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    std::vector<T> scratch;
    for (std::int64_t i = begin; i < end; ++i) {
      if (k > 0) choose(weights, indptr[i], indptr[i + 1], k, own, scratch);
      for (I e = indptr[i]; e < indptr[i + 1]; ++e)
        if (own[e]) own[e] = STRONGEST;
      rest[i] = draw(weights, i, m, uniform(static_cast<std::uint64_t>(first + i), seed), own);
    }
  });
}

#define CK_INSTANTIATE(I, T)                                                                       \
  template std::int64_t mirror(const Csr<I, T>&, const std::uint8_t*, std::uint8_t*, ThreadPool&); \
  template std::int64_t mark_strongest(const Csr<I, T>&, std::int64_t, std::uint8_t*,              \
                                       ThreadPool&);                                               \
  template void sample_rows(const Csr<I, T>&, std::int64_t, int, std::uint64_t, std::int64_t,      \
                            std::uint8_t*, double*, ThreadPool&);
CK_INSTANTIATE(std::int32_t, float)
CK_INSTANTIATE(std::int32_t, double)
CK_INSTANTIATE(std::int64_t, float)
CK_INSTANTIATE(std::int64_t, double)
#undef CK_INSTANTIATE

}  // namespace closeknit
