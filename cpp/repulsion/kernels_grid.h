// One strip of grid.h, once per instruction set.
#pragma once

#include "common/isa.h"
#include "repulsion/grid.h"

namespace closeknit {

// Limits of the coordinates of points in turn, whatever their dimension: a multiple of 1, 2 and 3.
constexpr int LIMITS = 12;

#define CK_DECLARE(isa)                                                                         \
  namespace isa {                                                                               \
  bool are_between_limits(const double* values, std::int64_t n, const double* low,              \
                          const double* high);                                                  \
  template <class T>                                                                            \
  void spread_points(const Grid& grid, const double* points, const double* weights,             \
                     const std::int64_t* begin, const std::int64_t* end, T* nodes);             \
  template <class T>                                                                            \
  void gather_points(const Grid& grid, const Potential<T>& potential, const double* points,     \
                     const double* weights, const std::int64_t* begin, const std::int64_t* end, \
                     double* value, double* gradient);                                          \
  }
CK_FOR_EACH_ISA(CK_DECLARE)
#undef CK_DECLARE

}  // namespace closeknit
