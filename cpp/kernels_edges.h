// The rows of edges.h, once per instruction set.
#pragma once

#include "edges.h"

namespace closeknit {

#define CK_DECLARE_EDGES(isa)                                                                  \
  namespace isa {                                                                              \
  template <class T, class I>                                                                  \
  double sum_edges_of_rows(const Edges<T, I>& edges, const Kernel& kernel, bool value,         \
                           double* force, std::int64_t begin, std::int64_t end);               \
  template <class T, class I>                                                                  \
  void edge_weights_of_rows(const Edges<T, I>& edges, const Kernel& kernel, std::int64_t begin, \
                            std::int64_t end, T* out);                                         \
  }
CK_DECLARE_EDGES(baseline)
#if defined(CK_HAVE_AVX2)
CK_DECLARE_EDGES(avx2)
#endif

}  // namespace closeknit
