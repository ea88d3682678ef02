// Threads and memory around the kernels of kernels_distances.h.
#include "neighbors/distances.h"

#include <vector>

#include "common/dispatch.h"
#include "common/threads.h"
#include "neighbors/kernels_distances.h"
#include "neighbors/kernels_pairs.h"
#include "neighbors/tiles.h"

namespace closeknit {
namespace {

constexpr std::int64_t ROWS_PER_TASK = 64;
constexpr std::int64_t TILES_PER_TASK = 8;

// The basis in panels of TILE_DOUBLES components, the last one filled up with zeros.
std::vector<double> pack_basis(const double* basis, std::int64_t n_features,
                               std::int64_t n_components) {
  const std::int64_t n_panels = (n_components + TILE_DOUBLES - 1) / TILE_DOUBLES;
  std::vector<double> panels(n_panels * n_features * TILE_DOUBLES, 0.0);
  for (std::int64_t k = 0; k < n_features; ++k)
    for (std::int64_t c = 0; c < n_components; ++c)
      panels[((c / TILE_DOUBLES) * n_features + k) * TILE_DOUBLES + c % TILE_DOUBLES] =
          basis[k * n_components + c];
  return panels;
}

}  // namespace

void candidate_distances(const Rows& queries, const Rows& points, const double* sq_offsets,
                         const std::int64_t* candidates, std::int64_t n_candidates, double* out,
                         ThreadPool& pool) {
  const auto rows = CK_DISPATCH(candidate_distances_of_rows);
  parallel_chunks(pool, queries.n_rows, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    rows(queries, points, sq_offsets, candidates, n_candidates, begin, end, out);
  });
}

void pair_distances(const Rows& rows, const std::int64_t* starts, const std::int32_t* columns,
                    double* out, ThreadPool& pool) {
  const auto kernel = CK_DISPATCH(pair_distances_of_tile);
  const std::int64_t n_tiles = (rows.n_rows + PAIR_TILE - 1) / PAIR_TILE;
  pool.run(n_tiles * n_tiles, [&](std::int64_t tile) {
    kernel(rows, starts, columns, tile / n_tiles, tile % n_tiles, out, pool.checkpoint());
  });
}

void project(const Rows& rows, const double* center, const double* basis, std::int64_t n_components,
             double* out, double* sq_norms, ThreadPool& pool) {
  if (rows.indptr) {
    const auto kernel = CK_DISPATCH(project_sparse_rows);
    parallel_chunks(pool, rows.n_rows, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
      kernel(rows, basis, n_components, begin, end, out, sq_norms);
    });
    return;
  }
  const auto panels = pack_basis(basis, rows.n_features, n_components);
  const auto kernel = CK_DISPATCH(project_dense_rows);
  parallel_chunks(pool, rows.n_rows, TILES_PER_TASK * TILE_ROWS,
                  [&](std::int64_t begin, std::int64_t end) {
                    std::vector<double> scratch(rows.n_features * TILE_ROWS, 0.0);
                    kernel(rows, center, panels.data(), n_components, begin, end, out, sq_norms,
                           scratch.data());
                  });
}

}  // namespace closeknit
