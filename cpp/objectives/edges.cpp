// Threads around the kernels of kernels_edges.h.
#include "objectives/edges.h"

#include <vector>

#include "common/dispatch.h"
#include "common/threads.h"
#include "objectives/kernels_edges.h"

namespace closeknit {
namespace {

constexpr std::int64_t ROWS_PER_TASK = 512, WEIGHTS_PER_TASK = 65536;

// The sum of body(begin, end) over consecutive ranges, in their order.
template <class Body>
double sum_chunks(ThreadPool& pool, std::int64_t n, std::int64_t chunk, const Body& body) {
  std::vector<double> parts((n + chunk - 1) / chunk, 0.0);
  parallel_chunks(pool, n, chunk, [&](std::int64_t begin, std::int64_t end) {
    parts[begin / chunk] = body(begin, end);
  });
  double total = 0.0;
  for (double part : parts) total += part;
  return total;
}

}  // namespace

template <class T, class I>
double sum_edges(const Edges<T, I>& edges, const Kernel& kernel, double* force, ThreadPool& pool) {
  const auto rows = CK_DISPATCH(sum_edges_of_rows<T, I>);
  return sum_chunks(
      pool, edges.graph.n_rows, ROWS_PER_TASK,
      [&](std::int64_t begin, std::int64_t end) { return rows(edges, kernel, force, begin, end); });
}

template <class T, class I>
void edge_weights(const Edges<T, I>& edges, const Kernel& kernel, T* out, ThreadPool& pool) {
  const auto rows = CK_DISPATCH(edge_weights_of_rows<T, I>);
  parallel_chunks(
      pool, edges.graph.n_rows, ROWS_PER_TASK,
      [&](std::int64_t begin, std::int64_t end) { rows(edges, kernel, begin, end, out); });
}

template <class T>
double sum_entropy(const T* weights, std::int64_t n, ThreadPool& pool) {
  const auto part = CK_DISPATCH(entropy_of_weights<T>);
  return sum_chunks(pool, n, WEIGHTS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    return part(weights, begin, end);
  });
}

template double sum_entropy<float>(const float*, std::int64_t, ThreadPool&);
template double sum_entropy<double>(const double*, std::int64_t, ThreadPool&);

#define CK_INSTANTIATE(T, I)                                                                \
  template double sum_edges<T, I>(const Edges<T, I>&, const Kernel&, double*, ThreadPool&); \
  template void edge_weights<T, I>(const Edges<T, I>&, const Kernel&, T*, ThreadPool&);
CK_INSTANTIATE(float, std::int32_t)
CK_INSTANTIATE(float, std::int64_t)
CK_INSTANTIATE(double, std::int32_t)
CK_INSTANTIATE(double, std::int64_t)
#undef CK_INSTANTIATE

}  // namespace closeknit
