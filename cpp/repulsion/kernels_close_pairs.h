// Close pairs of some points, once per instruction set.
#pragma once

#include "common/isa.h"
#include "repulsion/close_pairs.h"

namespace closeknit {

// Points sorted by cell, coordinate by coordinate. A vector may be read from any of them.
template <class T>
struct SortedPoints {
  const T* columns;  // d × stride, relative to the middle of the box
  std::int64_t stride;
  const T* weights;            // or null
  const std::int64_t* order;   // which point each one is
  const std::int64_t* starts;  // of the cells, and the end
};

#define CK_DECLARE(isa)                                                                          \
  namespace isa {                                                                                \
  template <class T>                                                                             \
  void close_pairs_of(const Cells& cells, const Taper& taper, const SortedPoints<T>& sorted,     \
                      const double* points, std::int64_t begin, std::int64_t end, double* value, \
                      double* gradient);                                                         \
  }
CK_FOR_EACH_ISA(CK_DECLARE)
#undef CK_DECLARE

}  // namespace closeknit
