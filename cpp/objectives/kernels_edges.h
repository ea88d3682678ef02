// The rows of edges.h, once per instruction set.
#pragma once

#include "common/isa.h"
#include "objectives/edges.h"

namespace closeknit {

#define CK_DECLARE(isa)                                                                         \
  namespace isa {                                                                               \
  template <class T, class I>                                                                   \
  double sum_edges_of_rows(const Edges<T, I>& edges, const Kernel& kernel, double* force,       \
                           std::int64_t begin, std::int64_t end);                               \
  template <class T, class I>                                                                   \
  void edge_weights_of_rows(const Edges<T, I>& edges, const Kernel& kernel, std::int64_t begin, \
                            std::int64_t end, T* out);                                          \
  template <class T>                                                                            \
  double entropy_of_weights(const T* weights, std::int64_t begin, std::int64_t end);            \
  }
CK_FOR_EACH_ISA(CK_DECLARE)
#undef CK_DECLARE

}  // namespace closeknit
