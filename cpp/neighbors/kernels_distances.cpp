// Distances and projections of rows, compiled once per instruction set.
#include "neighbors/kernels_distances.h"

#include "neighbors/panels.h"
#include "neighbors/row_distance.h"

namespace closeknit::CK_ISA {

void candidate_distances_of_rows(const Rows& queries, const Rows& points, const double* sq_offsets,
                                 const std::int64_t* candidates, std::int64_t n_candidates,
                                 std::int64_t begin, std::int64_t end, double* out) {
  with_rows(queries, points, [&](const auto& a, const auto& b) {
    for (std::int64_t i = begin; i < end; ++i)
      for (std::int64_t c = i * n_candidates; c < (i + 1) * n_candidates; ++c) {
        const std::int64_t j = candidates[c];
        out[c] = j < 0 ? INFINITE
                       : sq_distance(a, i, b, j, INFINITE) + (sq_offsets ? sq_offsets[j] : 0.0);
      }
  });
}

template <class T>
static void project_tiles(const DenseRows<T>& rows, const double* center, const double* panels,
                          std::int64_t n_components, std::int64_t begin, std::int64_t end,
                          double* out, double* sq_norms, double* scratch) {
  const std::int64_t n_features = rows.n_features;
  double tile[TILE_ROWS * TILE_DOUBLES];
  for (std::int64_t i = begin; i < end; i += TILE_ROWS) {
    const std::int64_t n_here = smaller(TILE_ROWS, end - i);
    for (std::int64_t r = 0; r < n_here; ++r) {
      const T* row = rows.row(i + r);
      double sq_norm = 0;
      for (std::int64_t k = 0; k < n_features; ++k) {
        const double value = static_cast<double>(row[k]) - center[k];
        scratch[k * TILE_ROWS + r] = value;
        sq_norm += value * value;
      }
      sq_norms[i + r] = sq_norm;
    }
    for (std::int64_t first = 0; first < n_components; first += TILE_DOUBLES) {
      const std::int64_t n_columns = smaller(TILE_DOUBLES, n_components - first);
      tile_products(n_features, scratch, panels + first * n_features, tile, TILE_DOUBLES);
      for (std::int64_t r = 0; r < n_here; ++r)
        for (std::int64_t c = 0; c < n_columns; ++c)
          out[(i + r) * n_components + first + c] = tile[r * TILE_DOUBLES + c];
    }
  }
}

void project_dense_rows(const Rows& rows, const double* center, const double* panels,
                        std::int64_t n_components, std::int64_t begin, std::int64_t end,
                        double* out, double* sq_norms, double* scratch) {
  if (rows.is_double)
    return project_tiles(DenseRows<double>(rows), center, panels, n_components, begin, end, out,
                         sq_norms, scratch);
  project_tiles(DenseRows<float>(rows), center, panels, n_components, begin, end, out, sq_norms,
                scratch);
}

template <class T>
static void project_each(const SparseRows<T>& rows, const double* basis, std::int64_t n_components,
                         std::int64_t begin, std::int64_t end, double* out, double* sq_norms) {
  for (std::int64_t i = begin; i < end; ++i) {
    double* row = out + i * n_components;
    double sq_norm = 0;
    for (std::int64_t c = 0; c < n_components; ++c) row[c] = 0.0;
    for (std::int64_t p = rows.indptr[i]; p < rows.indptr[i + 1]; ++p) {
      const double value = rows.values[p];
      const double* direction = basis + rows.indices[p] * n_components;
      for (std::int64_t c = 0; c < n_components; ++c) row[c] += value * direction[c];
      sq_norm += value * value;
    }
    sq_norms[i] = sq_norm;
  }
}

void project_sparse_rows(const Rows& rows, const double* basis, std::int64_t n_components,
                         std::int64_t begin, std::int64_t end, double* out, double* sq_norms) {
  if (rows.is_double)
    return project_each(SparseRows<double>(rows), basis, n_components, begin, end, out, sq_norms);
  project_each(SparseRows<float>(rows), basis, n_components, begin, end, out, sq_norms);
}

}  // namespace closeknit::CK_ISA
