// A tile of the pairs of distances.h, once per instruction set.
#pragma once

#include <cstdint>

#include "common/checkpoint.h"
#include "common/isa.h"
#include "neighbors/rows.h"

namespace closeknit {

constexpr std::int64_t PAIR_TILE = 256;  // rows, and points that they are paired with

// Those of the pairs whose rows and columns lie in the tiles of these numbers.
#define CK_DECLARE(isa)                                                                      \
  namespace isa {                                                                            \
  void pair_distances_of_tile(const Rows& rows, const std::int64_t* starts,                  \
                              const std::int32_t* columns, std::int64_t row_tile,            \
                              std::int64_t column_tile, double* out, Checkpoint checkpoint); \
  }
CK_FOR_EACH_ISA(CK_DECLARE)
#undef CK_DECLARE

}  // namespace closeknit
