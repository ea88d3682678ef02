// The rows of distances.h, once per instruction set.
#pragma once

#include <cstdint>

#include "common/isa.h"
#include "neighbors/rows.h"

namespace closeknit {

// The basis of dense rows comes in panels of TILE_DOUBLES components; `scratch` has room for
// TILE_ROWS rows.
#define CK_DECLARE(isa)                                                                          \
  namespace isa {                                                                                \
  void candidate_distances_of_rows(const Rows& queries, const Rows& points,                      \
                                   const double* sq_offsets, const std::int64_t* candidates,     \
                                   std::int64_t n_candidates, std::int64_t begin,                \
                                   std::int64_t end, double* out);                               \
  void project_dense_rows(const Rows& rows, const double* center, const double* panels,          \
                          std::int64_t n_components, std::int64_t begin, std::int64_t end,       \
                          double* out, double* sq_norms, double* scratch);                       \
  void project_sparse_rows(const Rows& rows, const double* basis, std::int64_t n_components,     \
                           std::int64_t begin, std::int64_t end, double* out, double* sq_norms); \
  }
CK_FOR_EACH_ISA(CK_DECLARE)
#undef CK_DECLARE

}  // namespace closeknit
