// Sorting and threads around the kernels of kernels_close_pairs.h.
#include "repulsion/close_pairs.h"

#include <algorithm>
#include <vector>

#include "common/binning.h"
#include "common/dispatch.h"
#include "common/threads.h"
#include "repulsion/kernels_close_pairs.h"

namespace closeknit {
namespace {

constexpr std::int64_t POINTS_PER_TASK = 65536;
constexpr std::int64_t QUERIES_PER_TASK = 2048;
constexpr std::int64_t PADDING = 8;  // numbers that a vector may read beyond the last point

// Rows are the cells that differ in the last coordinate only.
std::int64_t row_of(const Cells& cells, const double* x) {
  std::int64_t index = 0;
  for (int c = 0; c + 1 < cells.d; ++c) index = index * cells.size[c] + cell_along(cells, c, x[c]);
  return index;
}

std::int64_t n_rows_of(const Cells& cells) {
  std::int64_t n = 1;
  for (int c = 0; c + 1 < cells.d; ++c) n *= cells.size[c];
  return n;
}

// Points sorted by cell, stably: by row first, which threads can share, and then each row.
struct CellOrder {
  std::vector<std::int64_t> points;
  std::vector<std::int64_t> starts;  // of the cells, and the end
};

CellOrder sort_by_cell(const Cells& cells, const double* points, std::int64_t n, ThreadPool& pool) {
  const std::int64_t columns = cells.size[cells.d - 1], n_rows = n_rows_of(cells);
  std::vector<std::int64_t> cell(n), by_row(n), row_starts(n_rows + 1);
  const auto find_row = [&](std::int64_t m) {
    const double* x = points + m * cells.d;
    const std::int64_t row = row_of(cells, x);
    cell[m] = row * columns + cell_along(cells, cells.d - 1, x[cells.d - 1]);
    return row;
  };
  sort_into_bins(n, n_rows, find_row, by_row.data(), row_starts.data(), pool);
  CellOrder order{std::vector<std::int64_t>(n), std::vector<std::int64_t>(n_rows * columns + 1)};
  pool.run(n_rows, [&](std::int64_t row) {
    std::vector<std::int64_t> next(columns + 1, 0);
    const std::int64_t first = row * columns;
    for (std::int64_t i = row_starts[row]; i < row_starts[row + 1]; ++i)
      ++next[cell[by_row[i]] - first + 1];
    next[0] = row_starts[row];
    for (std::int64_t c = 0; c < columns; ++c) {
      next[c + 1] += next[c];
      order.starts[first + c] = next[c];
    }
    for (std::int64_t i = row_starts[row]; i < row_starts[row + 1]; ++i)
      order.points[next[cell[by_row[i]] - first]++] = by_row[i];
  });
  order.starts[n_rows * columns] = n;
  return order;
}

}  // namespace

double crowding(const Cells& cells, const double* points, std::int64_t n, ThreadPool& pool) {
  const CellOrder order = sort_by_cell(cells, points, n, pool);
  double squares = 0.0;
  for (std::size_t i = 1; i < order.starts.size(); ++i) {
    const auto count = static_cast<double>(order.starts[i] - order.starts[i - 1]);
    squares += count * count;
  }
  return squares / static_cast<double>(n);
}

template <class T>
void add_close_pairs(const Cells& cells, const Taper& taper, const double* points, std::int64_t n,
                     const double* weights, double* value, double* gradient, ThreadPool& pool) {
  const CellOrder order = sort_by_cell(cells, points, n, pool);
  const std::int64_t stride = n + PADDING;
  std::vector<T> columns(cells.d * stride, T(0)), sorted_weights(weights ? stride : 0, T(0));
  double middle[MAX_DIMENSIONS];
  for (int c = 0; c < cells.d; ++c)
    middle[c] = cells.low[c] + 0.5 * cells.side * static_cast<double>(cells.size[c]);
  parallel_chunks(pool, n, POINTS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t m = order.points[i];
      for (int c = 0; c < cells.d; ++c)
        columns[c * stride + i] = static_cast<T>(points[m * cells.d + c] - middle[c]);
      if (weights) sorted_weights[i] = static_cast<T>(weights[m]);
    }
  });
  const SortedPoints<T> sorted{columns.data(), stride, weights ? sorted_weights.data() : nullptr,
                               order.points.data(), order.starts.data()};
  const auto kernel = CK_DISPATCH(close_pairs_of<T>);
  parallel_chunks(pool, n, QUERIES_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    kernel(cells, taper, sorted, points, begin, end, value, gradient);
  });
}

template void add_close_pairs<float>(const Cells&, const Taper&, const double*, std::int64_t,
                                     const double*, double*, double*, ThreadPool&);
template void add_close_pairs<double>(const Cells&, const Taper&, const double*, std::int64_t,
                                      const double*, double*, double*, ThreadPool&);

}  // namespace closeknit
