// Close pairs of some points, once per instruction set.
#pragma once

#include "close_pairs.h"

namespace closeknit {

// Points sorted by cell, coordinate by coordinate. A vector may be read from any of them.
template <class T>
struct SortedPoints {
  const T* columns;  // d × stride, relative to the middle of the box
  std::int64_t stride;
  const T* weights;           // or null
  const std::int64_t* order;  // which point each one is
  const std::int64_t* starts;  // of the cells, and the end
};

#define CK_DECLARE_CLOSE(isa)                                                              \
  namespace isa {                                                                          \
  template <class T>                                                                       \
  void close_pairs_of(const Cells& cells, const Taper& taper, const SortedPoints<T>& sorted, \
                      const double* points, std::int64_t begin, std::int64_t end,          \
                      double* value, double* gradient);                                    \
  }
CK_DECLARE_CLOSE(baseline)
#if defined(CK_HAVE_AVX2)
CK_DECLARE_CLOSE(avx2)
#endif

}  // namespace closeknit
