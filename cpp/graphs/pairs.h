// Pairs of points of which one is among the nearest of the other, with both ranks.
#pragma once

#include <cstdint>
#include <vector>

namespace closeknit {

class ThreadPool;

// Stands for "not among the neighbours"; ranks are below.
constexpr std::uint32_t NO_RANK = 0xffff;

// Rows of `k` neighbours each, nearest first; −1 stands for one that is missing.
struct NeighborRows {
  const std::int32_t* indices;
  std::int64_t n_rows, k;
};

// The points, each once, in the order of a walk that goes on to the nearest neighbour not seen yet,
// and back where there is none: near points come one after the other.
void walk_order(const NeighborRows& rows, std::int64_t* order);

// Points with ranks, from begins[n] on those that belong to point n, in ascending order.
struct RankedLists {
  std::vector<std::int32_t> begins, points;
  std::vector<std::uint16_t> ranks;
};

// Neighbours, and of whom each point is one. There must be fewer than 2³¹ neighbours, fewer than
// 2¹⁶ − 1 in a row, and none twice in a row.
class NeighborPairs {
 public:
  NeighborPairs(const NeighborRows& rows, ThreadPool& pool);

  std::int64_t n_rows() const { return static_cast<std::int64_t>(near_.begins.size()) - 1; }

  // Pairs of each point.
  void count(std::int32_t* counts, ThreadPool& pool) const;

  // Writes the pairs (n, m) of each n of `order`, one row after the other, in ascending order of m:
  // m, and in 16 bits each its rank among the neighbours of n and, above, the rank of n among its
  // own. Throws if a row has another number of pairs than `indptr` has room for.
  void write(const std::int64_t* order, const std::int32_t* indptr, std::int32_t* indices,
             std::uint32_t* ranks, ThreadPool& pool) const;

 private:
  // Calls visit(m, rank, back) for the pairs of a point.
  template <class Visit>
  void each_pair(std::int64_t row, const Visit& visit) const;

  RankedLists reverse_, near_;
};

}  // namespace closeknit
