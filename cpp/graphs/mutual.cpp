#include "graphs/mutual.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "common/threads.h"

namespace closeknit {
namespace {

constexpr std::int64_t ROWS_PER_TASK = 1024;
// Pairs ahead for which the other point's affinity is fetched: it may be anywhere in memory.
constexpr std::int32_t AHEAD = 32;

// Both as 32 bits and without branches, so that loops over them are vectorised: which ranks are
// small is as good as random.
std::uint32_t lower(std::uint32_t ranks) { return ranks & 0xffffu; }
std::uint32_t upper(std::uint32_t ranks) { return ranks >> 16; }
std::uint32_t as_rank(std::int64_t k) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(k, 0, 0xffff));
}
bool either_below(std::uint32_t ranks, std::uint32_t k) {
  return (lower(ranks) < k) | (upper(ranks) < k);
}

}  // namespace

void mutual_counts(const MutualPattern& pattern, std::int64_t k, std::int32_t* counts,
                   ThreadPool& pool) {
  const std::uint32_t most = as_rank(k);
  parallel_chunks(pool, pattern.n_rows, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      std::int32_t count = 0;
      for (std::int32_t i = pattern.indptr[row]; i < pattern.indptr[row + 1]; ++i)
        count += either_below(pattern.ranks[i], most);
      counts[pattern.order[row]] = count;
    }
  });
}

void mutual_mean(const MutualPattern& pattern, const double* affinities, std::int64_t k,
                 const std::int32_t* indptr, std::int32_t* indices, double* data,
                 ThreadPool& pool) {
  const std::uint32_t most = as_rank(k);
  parallel_chunks(pool, pattern.n_rows, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::int32_t> ends;  // a row's pairs
    std::vector<std::uint32_t> ranks;
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int32_t first = pattern.indptr[row], size = pattern.indptr[row + 1] - first;
      ends.resize(size + 1);
      ranks.resize(size + 1);
      std::int32_t count = 0;
      for (std::int32_t i = first; i < first + size; ++i) {
        ends[count] = pattern.indices[i];
        ranks[count] = pattern.ranks[i];
        count += either_below(pattern.ranks[i], most);
      }
      const std::int64_t point = pattern.order[row];
      if (count != indptr[point + 1] - indptr[point])
        throw std::invalid_argument("indptr is not that of the pairs");
      const double* own = affinities + point * k;
      const auto affinity_of = [&](std::int32_t j) {
        const std::uint32_t back = upper(ranks[j]);
        return back < most ? affinities + ends[j] * k + back : own;
      };
      std::copy_n(ends.data(), count, indices + indptr[point]);
      double* means = data + indptr[point];
      for (std::int32_t j = 0; j < count; ++j) {
        if (j + AHEAD < count) __builtin_prefetch(affinity_of(j + AHEAD));
        const std::uint32_t there = lower(ranks[j]), back = upper(ranks[j]);
        const double forth = own[there < most ? there : 0], returned = *affinity_of(j);
        means[j] = 0.5 * ((there < most ? forth : 0.0) + (back < most ? returned : 0.0));
      }
    }
  });
}

}  // namespace closeknit
