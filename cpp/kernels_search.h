// The nearest points to each query, by sketches first and true distances last.
#pragma once

#include "parallel.h"
#include "search.h"

#define CK_DECLARE(ISA)                                                                         \
  namespace closeknit::ISA {                                                                    \
  void search_cells(const Rows& query_rows, const Rows& point_rows, const double* addend,       \
                    const Sketch& sketch, const Queries& queries, const SearchPlan& plan,       \
                    const Answers& answers, ThreadPool& pool);                                  \
  }
CK_DECLARE(baseline)
#if defined(CK_HAVE_AVX2)
CK_DECLARE(avx2)
#endif
#undef CK_DECLARE
