// Symmetric affinities of nearest neighbours, from a pattern that was made once for most of them.
#pragma once

#include <cstdint>

namespace closeknit {

class ThreadPool;

// Pairs of which one is among the nearest of the other, in compressed rows with sorted columns, one
// for each point of `order`. Near points come one after the other there, so that what their rows
// look up of other points is still in the cache.
// A pair (n, m) holds two ranks in 16 bits each: the lower is m's among the neighbours of n, the
// upper n's among those of m; the largest number stands for "not among them".
struct MutualPattern {
  const std::int32_t* indptr;
  const std::int32_t* indices;
  const std::uint32_t* ranks;
  const std::int64_t* order;
  std::int64_t n_rows;
};

// Pairs of each point, in its place, of which one is among the `k` nearest of the other.
void mutual_counts(const MutualPattern& pattern, std::int64_t k, std::int32_t* counts,
                   ThreadPool& pool);

// The mean of p(m|n) and p(n|m) for these pairs, from rows of `k` affinities, nearest first, into
// rows that begin at `indptr`. Throws if a row has another number of pairs than that has room for.
void mutual_mean(const MutualPattern& pattern, const double* affinities, std::int64_t k,
                 const std::int32_t* indptr, std::int32_t* indices, double* data, ThreadPool& pool);

}  // namespace closeknit
