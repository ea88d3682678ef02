// Threads and memory around the kernels of kernels_all_pairs.h.
#include "repulsion/all_pairs.h"

#include <algorithm>
#include <vector>

#include "common/dispatch.h"
#include "common/threads.h"
#include "repulsion/kernels_all_pairs.h"

namespace closeknit {
namespace {

// A task has so many rows at least, and so many pairs that starting a thread for it pays.
constexpr std::int64_t LEAST_ROWS = 64, LEAST_PAIRS = 1 << 18;

std::int64_t rows_per_task(std::int64_t n_points) {
  return std::max(LEAST_ROWS, LEAST_PAIRS / std::max<std::int64_t>(n_points, 1));
}

// Rows of d numbers as d columns, padded with a far value so that unused lanes stay finite.
std::vector<double> as_columns(const double* rows, std::int64_t n, int d, std::int64_t n_padded) {
  std::vector<double> columns(static_cast<std::size_t>(d) * n_padded, 0.0);
  for (std::int64_t m = 0; m < n; ++m)
    for (int i = 0; i < d; ++i) columns[i * n_padded + m] = rows[m * d + i];
  return columns;
}

}  // namespace

void sum_all_pairs(const AllPairs& pairs, const Kernel& kernel, Want want, const PairSums& out,
                   ThreadPool& pool) {
  const std::int64_t n_padded = (pairs.n_points + COLUMN_STEP - 1) / COLUMN_STEP * COLUMN_STEP;
  const auto points = as_columns(pairs.points, pairs.n_points, pairs.d, n_padded);
  std::vector<double> vectors, weights;
  if (pairs.vectors) vectors = as_columns(pairs.vectors, pairs.n_points, pairs.d, n_padded);
  if (pairs.point_weights) weights = as_columns(pairs.point_weights, pairs.n_points, 1, n_padded);
  const Columns columns{points.data(), pairs.vectors ? vectors.data() : nullptr,
                        pairs.point_weights ? weights.data() : nullptr, n_padded};
  const auto row = CK_DISPATCH(sum_row);
  const std::int64_t chunk = rows_per_task(pairs.n_points);
  parallel_chunks(pool, pairs.n_queries, chunk, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> scratch(3 * 4 * static_cast<std::size_t>(pairs.d) + 8);
    for (std::int64_t n = begin; n < end; ++n)
      row(pairs, columns, kernel, want, n, out, scratch.data());
  });
}

}  // namespace closeknit
