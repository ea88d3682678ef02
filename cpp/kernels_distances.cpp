// Squared Euclidean distances between chosen pairs of rows, and projections of rows.
#include "kernels_distances.h"

#include "panels.h"
#include "row_distance.h"

#include <algorithm>
#include <limits>
#include <memory>

namespace closeknit::CK_ISA {

void candidate_distances(const Rows& queries, const Rows& points, const double* addend,
                         const std::int64_t* candidates, std::int64_t n_candidates, double* out,
                         ThreadPool& pool) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  with_rows(queries, points, [&](const auto& a, const auto& b) {
    parallel_chunks(pool, queries.n_rows, 64, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        for (std::int64_t c = i * n_candidates; c < (i + 1) * n_candidates; ++c) {
          const std::int64_t j = candidates[c];
          out[c] = j < 0 ? infinity
                         : sq_distance(a, i, b, j, infinity) + (addend ? addend[j] : 0.0);
        }
      }
    });
  });
}

namespace {

// The basis in panels of kTileColumns components, the last one filled up with zeros.
std::unique_ptr<double[]> pack_basis(const double* basis, std::int64_t n_features,
                                     std::int64_t n_components) {
  constexpr int width = kTileColumns<double>;
  const std::int64_t n_panels = (n_components + width - 1) / width;
  std::unique_ptr<double[]> panels(new double[n_panels * n_features * width]());
  for (std::int64_t k = 0; k < n_features; ++k) {
    for (std::int64_t c = 0; c < n_components; ++c) {
      panels[((c / width) * n_features + k) * width + c % width] = basis[k * n_components + c];
    }
  }
  return panels;
}

template <class T>
void project_rows(const DenseRows<T>& rows, std::int64_t n_rows, const double* center,
                  const double* basis, std::int64_t n_components, double* out, double* sq_norms,
                  ThreadPool& pool) {
  constexpr int width = kTileColumns<double>;
  const std::int64_t n_features = rows.n_features;
  const auto panels = pack_basis(basis, n_features, n_components);
  parallel_chunks(pool, n_rows, 8 * kTileRows, [&](std::int64_t begin, std::int64_t end) {
    std::unique_ptr<double[]> packed(new double[n_features * kTileRows]());
    double tile[kTileRows * width];
    for (std::int64_t i = begin; i < end; i += kTileRows) {
      const int n_here = static_cast<int>(std::min<std::int64_t>(kTileRows, end - i));
      for (int r = 0; r < n_here; ++r) {
        const T* row = rows[i + r];
        double sq_norm = 0;
        for (std::int64_t k = 0; k < n_features; ++k) {
          const double value = static_cast<double>(row[k]) - center[k];
          packed[k * kTileRows + r] = value;
          sq_norm += value * value;
        }
        sq_norms[i + r] = sq_norm;
      }
      for (std::int64_t first = 0; first < n_components; first += width) {
        const std::int64_t n_columns = std::min<std::int64_t>(width, n_components - first);
        tile_products(n_features, packed.get(), panels.get() + first * n_features, tile, width);
        for (int r = 0; r < n_here; ++r) {
          std::copy(tile + r * width, tile + r * width + n_columns,
                    out + (i + r) * n_components + first);
        }
      }
    }
  });
}

template <class T>
void project_rows(const SparseRows<T>& rows, std::int64_t n_rows, const double* /*center*/,
                  const double* basis, std::int64_t n_components, double* out, double* sq_norms,
                  ThreadPool& pool) {
  parallel_chunks(pool, n_rows, 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      double* row = out + i * n_components;
      double sq_norm = 0;
      std::fill(row, row + n_components, 0.0);
      for (std::int64_t p = rows.indptr[i]; p < rows.indptr[i + 1]; ++p) {
        const double value = rows.values[p];
        const double* direction = basis + rows.indices[p] * n_components;
        for (std::int64_t c = 0; c < n_components; ++c) row[c] += value * direction[c];
        sq_norm += value * value;
      }
      sq_norms[i] = sq_norm;
    }
  });
}

}  // namespace

void project(const Rows& rows, const double* center, const double* basis,
             std::int64_t n_components, double* out, double* sq_norms, ThreadPool& pool) {
  with_rows(rows, rows, [&](const auto& r, const auto&) {
    project_rows(r, rows.n_rows, center, basis, n_components, out, sq_norms, pool);
  });
}

}  // namespace closeknit::CK_ISA
