// The rows of all_pairs.h, once per instruction set.
#pragma once

#include "common/isa.h"
#include "repulsion/all_pairs.h"

namespace closeknit {

// Points as the vectorised loops want them: coordinate by coordinate, each padded to whole vectors.
struct Columns {
  const double* points;   // d × n_padded
  const double* vectors;  // d × n_padded, or null
  const double* weights;  // n_padded, or null
  std::int64_t n_padded;
};
constexpr std::int64_t COLUMN_STEP = 8;

#define CK_DECLARE(isa)                                                                        \
  namespace isa {                                                                              \
  void sum_row(const AllPairs& pairs, const Columns& columns, const Kernel& kernel, Want want, \
               std::int64_t n, const PairSums& out, double* scratch);                          \
  }
CK_FOR_EACH_ISA(CK_DECLARE)
#undef CK_DECLARE

}  // namespace closeknit
