// Threads around the kernels of kernels_edges.h.
#include "objectives/edges.h"

#include <vector>

#include "common/dispatch.h"
#include "common/threads.h"
#include "objectives/kernels_edges.h"

namespace closeknit {
namespace {

constexpr std::int64_t ROWS_PER_TASK = 512;

}  // namespace

template <class T, class I>
double sum_edges(const Edges<T, I>& edges, const Kernel& kernel, double* force, ThreadPool& pool) {
  std::vector<double> parts((edges.graph.n_rows + ROWS_PER_TASK - 1) / ROWS_PER_TASK, 0.0);
  const auto rows = CK_DISPATCH(sum_edges_of_rows<T, I>);
  parallel_chunks(pool, edges.graph.n_rows, ROWS_PER_TASK,
                  [&](std::int64_t begin, std::int64_t end) {
                    parts[begin / ROWS_PER_TASK] = rows(edges, kernel, force, begin, end);
                  });
  double total = 0.0;
  for (double part : parts) total += part;
  return total;
}

template <class T, class I>
void edge_weights(const Edges<T, I>& edges, const Kernel& kernel, T* out, ThreadPool& pool) {
  const auto rows = CK_DISPATCH(edge_weights_of_rows<T, I>);
  parallel_chunks(
      pool, edges.graph.n_rows, ROWS_PER_TASK,
      [&](std::int64_t begin, std::int64_t end) { rows(edges, kernel, begin, end, out); });
}

#define CK_INSTANTIATE(T, I)                                                                \
  template double sum_edges<T, I>(const Edges<T, I>&, const Kernel&, double*, ThreadPool&); \
  template void edge_weights<T, I>(const Edges<T, I>&, const Kernel&, T*, ThreadPool&);
CK_INSTANTIATE(float, std::int32_t)
CK_INSTANTIATE(float, std::int64_t)
CK_INSTANTIATE(double, std::int32_t)
CK_INSTANTIATE(double, std::int64_t)
#undef CK_INSTANTIATE

}  // namespace closeknit
