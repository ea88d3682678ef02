// Squared Euclidean distances between chosen pairs of rows, and projections of rows.
#pragma once

#include <cstdint>

#include "neighbors/rows.h"

namespace closeknit {

class ThreadPool;

// out[i, j] = ‖queries[i] - points[candidates[i, j]]‖² + sq_offsets[candidates[i, j]]; infinity
// where the candidate is negative. `sq_offsets` may be null.
void candidate_distances(const Rows& queries, const Rows& points, const double* sq_offsets,
                         const std::int64_t* candidates, std::int64_t n_candidates, double* out,
                         ThreadPool& pool);

// out[p] = ‖rows[i] - rows[columns[p]]‖² for starts[i] ≤ p < starts[i + 1], to the bits of
// candidate_distances. Rows are dense, and the columns of each ascend.
void pair_distances(const Rows& rows, const std::int64_t* starts, const std::int32_t* columns,
                    double* out, ThreadPool& pool);

// out = (rows - center) · basis in float64, and the squared norms of rows - center. The basis is
// (n_features, n_components). Sparse rows are not centred. Each row's result is the same whatever
// the other rows are.
void project(const Rows& rows, const double* center, const double* basis, std::int64_t n_components,
             double* out, double* sq_norms, ThreadPool& pool);

}  // namespace closeknit
