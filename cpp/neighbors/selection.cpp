#include "neighbors/selection.h"

#include <algorithm>

namespace closeknit {
namespace {

struct Before {
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return a.value < b.value || (a.value == b.value && a.point < b.point);
  }
};

}  // namespace

void sort_keys(std::uint64_t* keys, std::int64_t n) { std::sort(keys, keys + n); }

void select_smallest(Candidate* candidates, std::int64_t n, std::int64_t k) {
  std::nth_element(candidates, candidates + (k - 1), candidates + n, Before());
}

void sort_by_point(Candidate* candidates, std::int64_t n) {
  std::sort(candidates, candidates + n,
            [](const Candidate& a, const Candidate& b) { return a.point < b.point; });
}

void push_neighbor(Neighbor* heap, std::int64_t n, Neighbor neighbor) {
  heap[n] = neighbor;
  std::push_heap(heap, heap + n + 1, Before());
}

void replace_farthest(Neighbor* heap, std::int64_t n, Neighbor neighbor) {
  if (!Before()(neighbor, heap[0])) return;
  std::pop_heap(heap, heap + n, Before());
  heap[n - 1] = neighbor;
  std::push_heap(heap, heap + n, Before());
}

void sort_neighbors(Neighbor* heap, std::int64_t n) { std::sort_heap(heap, heap + n, Before()); }

}  // namespace closeknit
