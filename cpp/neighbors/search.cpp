// Threads around the kernel of kernels_search.h.
#include "neighbors/search.h"

#include "common/dispatch.h"
#include "common/threads.h"
#include "neighbors/kernels_search.h"

namespace closeknit {

void search_cells(const Points& points, const Queries& queries, const SearchPlan& plan,
                  const Answers& answers, std::int64_t first_task, std::int64_t n_tasks,
                  ThreadPool& pool) {
  const auto search = CK_DISPATCH(search_task);
  pool.run(n_tasks, [&](std::int64_t task) {
    search(points, queries, plan, answers, first_task + task, pool.checkpoint());
  });
}

}  // namespace closeknit
