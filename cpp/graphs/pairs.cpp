#include "graphs/pairs.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "common/threads.h"

namespace closeknit {
namespace {

constexpr std::int64_t ROWS_PER_TASK = 1024;
// Parts of the rows that are turned round side by side; each needs a number per point.
constexpr std::int64_t PARTS = 8;

// Neighbours that a walk looks at: more of them do not bring points nearer to each other.
constexpr std::int64_t STEPS = 16;

// Turns lists round: where `each(row, visit)` calls visit(point, rank), the list of `point` gets
// `row` with that rank. Rows are visited in order, so that the lists are sorted.
template <class Each>
RankedLists turned(std::int64_t n, const Each& each, ThreadPool& pool) {
  const std::int64_t part = (n + PARTS - 1) / PARTS;
  const auto rows_of = [&](std::int64_t number, const auto& act) {
    for (std::int64_t row = number * part; row < std::min(n, (number + 1) * part); ++row) act(row);
  };
  std::vector<std::int32_t> next(PARTS * n);  // first counts, then where each part goes on to write
  pool.run(PARTS, [&](std::int64_t number) {
    std::int32_t* counts = next.data() + number * n;
    rows_of(number, [&](std::int64_t row) {
      each(row, [&](std::int32_t point, std::uint16_t) { ++counts[point]; });
    });
  });
  RankedLists lists;
  lists.begins.resize(n + 1);
  std::int32_t total = 0;
  for (std::int64_t point = 0; point < n; ++point) {
    lists.begins[point] = total;
    for (std::int64_t number = 0; number < PARTS; ++number) {
      const std::int32_t count = next[number * n + point];
      next[number * n + point] = total;
      total += count;
    }
  }
  lists.begins[n] = total;
  lists.points.resize(total);
  lists.ranks.resize(total);
  pool.run(PARTS, [&](std::int64_t number) {
    std::int32_t* places = next.data() + number * n;
    rows_of(number, [&](std::int64_t row) {
      each(row, [&](std::int32_t point, std::uint16_t rank) {
        const std::int32_t place = places[point]++;
        lists.points[place] = static_cast<std::int32_t>(row);
        lists.ranks[place] = rank;
      });
    });
  });
  return lists;
}

}  // namespace

void walk_order(const NeighborRows& rows, std::int64_t* order) {
  const std::int64_t k = std::min(rows.k, STEPS);
  std::vector<bool> seen(rows.n_rows, false);
  std::vector<std::pair<std::int64_t, std::int64_t>> way;  // points, and the next rank to look at
  std::int64_t count = 0;
  const auto visit = [&](std::int64_t point) {
    seen[point] = true;
    order[count++] = point;
    way.emplace_back(point, 0);
  };
  for (std::int64_t start = 0; start < rows.n_rows; ++start) {
    if (!seen[start]) visit(start);
    while (!way.empty()) {
      auto& [point, rank] = way.back();
      if (rank == k) {
        way.pop_back();
        continue;
      }
      const std::int32_t next = rows.indices[point * rows.k + rank++];
      if (next >= 0 && !seen[next]) visit(next);
    }
  }
}

NeighborPairs::NeighborPairs(const NeighborRows& rows, ThreadPool& pool) {
  const auto neighbors = [&](std::int64_t row, const auto& visit) {
    for (std::int64_t rank = 0; rank < rows.k; ++rank) {
      const std::int32_t point = rows.indices[row * rows.k + rank];
      if (point >= 0) visit(point, static_cast<std::uint16_t>(rank));
    }
  };
  reverse_ = turned(rows.n_rows, neighbors, pool);
  // Turned round twice they are what they were, but sorted, in less time than sorting takes.
  const auto back = [&](std::int64_t row, const auto& visit) {
    for (std::int32_t i = reverse_.begins[row]; i < reverse_.begins[row + 1]; ++i)
      visit(reverse_.points[i], reverse_.ranks[i]);
  };
  near_ = turned(rows.n_rows, back, pool);
}

template <class Visit>
void NeighborPairs::each_pair(std::int64_t row, const Visit& visit) const {
  std::int32_t i = near_.begins[row], j = reverse_.begins[row];
  const std::int32_t last_i = near_.begins[row + 1], last_j = reverse_.begins[row + 1];
  while (i < last_i && j < last_j) {
    const std::int32_t one = near_.points[i], other = reverse_.points[j];
    const bool forth = one <= other, back = other <= one;
    visit(forth ? one : other, forth ? near_.ranks[i] : NO_RANK,
          back ? reverse_.ranks[j] : NO_RANK);
    i += forth;
    j += back;
  }
  for (; i < last_i; ++i) visit(near_.points[i], near_.ranks[i], NO_RANK);
  for (; j < last_j; ++j) visit(reverse_.points[j], NO_RANK, reverse_.ranks[j]);
}

void NeighborPairs::count(std::int32_t* counts, ThreadPool& pool) const {
  parallel_chunks(pool, n_rows(), ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      std::int32_t count = 0;
      each_pair(row, [&](std::int32_t, std::uint32_t, std::uint32_t) { ++count; });
      counts[row] = count;
    }
  });
}

void NeighborPairs::write(const std::int64_t* order, const std::int32_t* indptr,
                          std::int32_t* indices, std::uint32_t* ranks, ThreadPool& pool) const {
  parallel_chunks(pool, n_rows(), ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      std::int32_t place = indptr[row];
      each_pair(order[row], [&](std::int32_t point, std::uint32_t rank, std::uint32_t back) {
        if (place == indptr[row + 1])
          throw std::invalid_argument("indptr is not that of the pairs");
        indices[place] = point;
        ranks[place++] = back << 16 | rank;
      });
      if (place != indptr[row + 1]) throw std::invalid_argument("indptr is not that of the pairs");
    }
  });
}

}  // namespace closeknit
