// Threads and memory around the kernels of kernels_pairs.h.
#include "repulsion/all_pairs.h"

#include <vector>

#include "common/dispatch.h"
#include "common/threads.h"
#include "repulsion/kernels_all_pairs.h"

namespace closeknit {
namespace {

constexpr std::int64_t ROWS_PER_TASK = 64;

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
  parallel_chunks(pool, pairs.n_queries, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> scratch(3 * 4 * static_cast<std::size_t>(pairs.d) + 8);
    for (std::int64_t n = begin; n < end; ++n)
      row(pairs, columns, kernel, want, n, out, scratch.data());
  });
}

}  // namespace closeknit
