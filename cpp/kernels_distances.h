// Squared Euclidean distances between chosen pairs of rows.
#pragma once

#include "parallel.h"
#include "rows.h"

#include <cstdint>

#define CK_DECLARE(ISA)                                                                          \
  namespace closeknit::ISA {                                                                     \
  /* out[i, j] = ‖queries[i] - points[candidates[i, j]]‖² + addend[candidates[i, j]];          */ \
  /* infinity where the candidate is negative. `addend` may be null.                           */ \
  void candidate_distances(const Rows& queries, const Rows& points, const double* addend,        \
                           const std::int64_t* candidates, std::int64_t n_candidates,            \
                           double* out, ThreadPool& pool);                                       \
  /* out = (rows - center) · basis in float64, and the squared norms of rows - center. The      */ \
  /* basis is (n_features, n_components). Sparse rows are not centred. Each row's result is the  */ \
  /* same whatever the other rows are.                                                           */ \
  void project(const Rows& rows, const double* center, const double* basis,                      \
               std::int64_t n_components, double* out, double* sq_norms, ThreadPool& pool);      \
  }
CK_DECLARE(baseline)
#if defined(CK_HAVE_AVX2)
CK_DECLARE(avx2)
#endif
#undef CK_DECLARE
