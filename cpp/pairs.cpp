// Threads and memory around the kernels of kernels_pairs.h.
#include "pairs.h"

#include <vector>

#include "dispatch.h"
#include "kernels_pairs.h"
#include "parallel.h"

namespace closeknit {
namespace {

constexpr std::int64_t ROWS_PER_TASK = 64;
constexpr std::int64_t EDGE_ROWS_PER_TASK = 1024;

// Rows of d numbers as d columns, padded with a far value so that unused lanes stay finite.
std::vector<double> as_columns(const double* rows, std::int64_t n, int d, std::int64_t n_padded) {
  std::vector<double> columns(static_cast<std::size_t>(d) * n_padded, 0.0);
  for (std::int64_t m = 0; m < n; ++m)
    for (int i = 0; i < d; ++i) columns[i * n_padded + m] = rows[m * d + i];
  return columns;
}

}  // namespace

void sum_all_pairs(const AllPairs& pairs, Kernel kernel, Want want, const PairSums& out, int n_jobs) {
  const std::int64_t n_padded = (pairs.n_points + COLUMN_STEP - 1) / COLUMN_STEP * COLUMN_STEP;
  const auto points = as_columns(pairs.points, pairs.n_points, pairs.d, n_padded);
  std::vector<double> vectors, weights;
  if (pairs.vectors) vectors = as_columns(pairs.vectors, pairs.n_points, pairs.d, n_padded);
  if (pairs.point_weights) weights = as_columns(pairs.point_weights, pairs.n_points, 1, n_padded);
  const Columns columns{points.data(), pairs.vectors ? vectors.data() : nullptr,
                        pairs.point_weights ? weights.data() : nullptr, n_padded};
  const auto row = CK_DISPATCH(sum_row);
  ThreadPool pool(n_jobs);
  parallel_chunks(pool, pairs.n_queries, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> scratch(3 * 4 * static_cast<std::size_t>(pairs.d) + 8);
    for (std::int64_t n = begin; n < end; ++n)
      row(pairs, columns, kernel, want, n, out, scratch.data());
  });
}

template <class I>
double sum_edges(const Edges<I>& edges, Kernel kernel, double* force, int n_jobs) {
  const std::int64_t n_tasks = (edges.n + EDGE_ROWS_PER_TASK - 1) / EDGE_ROWS_PER_TASK;
  std::vector<double> parts(n_tasks, 0.0);
  const auto rows = CK_DISPATCH(sum_edges_of_rows<I>);
  ThreadPool pool(n_jobs);
  parallel_chunks(pool, edges.n, EDGE_ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    parts[begin / EDGE_ROWS_PER_TASK] = rows(edges, kernel, force, begin, end);
  });
  double total = 0.0;
  for (double part : parts) total += part;
  return total;
}

template <class I>
void edge_weights(const Edges<I>& e, Kernel kernel, double* out, int n_jobs) {
  ThreadPool pool(n_jobs);
  parallel_chunks(pool, e.n, EDGE_ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n)
      for (I j = e.indptr[n]; j < e.indptr[n + 1]; ++j) {
        out[j] = e.weights[j];
        if (kernel != Kernel::STUDENT) continue;
        const double* x = e.queries + n * e.d;
        const double* y = e.points + static_cast<std::int64_t>(e.indices[j]) * e.d;
        double t = 0.0;
        for (int i = 0; i < e.d; ++i) t += (x[i] - y[i]) * (x[i] - y[i]);
        out[j] /= 1.0 + t;
      }
  });
}

template double sum_edges<std::int32_t>(const Edges<std::int32_t>&, Kernel, double*, int);
template double sum_edges<std::int64_t>(const Edges<std::int64_t>&, Kernel, double*, int);
template void edge_weights<std::int32_t>(const Edges<std::int32_t>&, Kernel, double*, int);
template void edge_weights<std::int64_t>(const Edges<std::int64_t>&, Kernel, double*, int);

}  // namespace closeknit
