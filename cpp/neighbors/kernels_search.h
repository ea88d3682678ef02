// One task of search.h, once per instruction set.
#pragma once

#include "common/checkpoint.h"
#include "common/isa.h"
#include "neighbors/search.h"

namespace closeknit {

#define CK_DECLARE(isa)                                                                  \
  namespace isa {                                                                        \
  void search_task(const Points& points, const Queries& queries, const SearchPlan& plan, \
                   const Answers& answers, std::int64_t task, Checkpoint checkpoint);    \
  }
CK_FOR_EACH_ISA(CK_DECLARE)
#undef CK_DECLARE

}  // namespace closeknit
