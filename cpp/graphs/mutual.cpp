#include "graphs/mutual.h"

#include <stdexcept>

#include "common/threads.h"

namespace closeknit {
namespace {

constexpr std::int64_t ROWS_PER_TASK = 2048;
// Pairs ahead for which the other point's affinity is fetched: it may be anywhere in memory.
constexpr std::int32_t AHEAD = 16;

std::int64_t lower(std::uint32_t ranks) { return ranks & 0xffffu; }
std::int64_t upper(std::uint32_t ranks) { return ranks >> 16; }

}  // namespace

void mutual_counts(const MutualPattern& pattern, std::int64_t k, std::int32_t* counts,
                   ThreadPool& pool) {
  parallel_chunks(pool, pattern.n_rows, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      std::int32_t count = 0;
      for (std::int32_t i = pattern.indptr[row]; i < pattern.indptr[row + 1]; ++i)
        count += lower(pattern.ranks[i]) < k || upper(pattern.ranks[i]) < k;
      counts[row] = count;
    }
  });
}

void mutual_mean(const MutualPattern& pattern, const double* affinities, std::int64_t k,
                 const std::int32_t* indptr, std::int32_t* indices, double* data,
                 ThreadPool& pool) {
  const auto affinity_of = [&](std::int32_t i) {
    return affinities + pattern.indices[i] * k + upper(pattern.ranks[i]);
  };
  parallel_chunks(pool, pattern.n_rows, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    const std::int32_t last = pattern.indptr[end];
    for (std::int64_t row = begin; row < end; ++row) {
      const double* own = affinities + row * k;
      std::int32_t at = indptr[row];
      const std::int32_t stop = indptr[row + 1];
      for (std::int32_t i = pattern.indptr[row]; i < pattern.indptr[row + 1]; ++i) {
        if (i + AHEAD < last && upper(pattern.ranks[i + AHEAD]) < k)
          __builtin_prefetch(affinity_of(i + AHEAD));
        const std::int64_t there = lower(pattern.ranks[i]), back = upper(pattern.ranks[i]);
        if (there >= k && back >= k) continue;
        if (at == stop) throw std::invalid_argument("indptr is not that of the pairs");
        const double sum = (there < k ? own[there] : 0.0) + (back < k ? *affinity_of(i) : 0.0);
        indices[at] = pattern.indices[i];
        data[at++] = 0.5 * sum;
      }
      if (at != stop) throw std::invalid_argument("indptr is not that of the pairs");
    }
  });
}

}  // namespace closeknit
