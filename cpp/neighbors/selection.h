// Sorting and selecting for the search, out of its kernels because these use the standard library.
#pragma once

#include <cstdint>

namespace closeknit {

// A point and its estimated distance to a query; of equal ones the lower number comes first, so
// that no answer depends on the order of a scan.
struct Candidate {
  float value;
  std::int32_t point;
};

// A point and its squared distance to a query, compared alike.
struct Neighbor {
  double value;
  std::int32_t point;
};

void sort_keys(std::uint64_t* keys, std::int64_t n);

// Moves the k smallest to the front, the largest of them last.
void select_smallest(Candidate* candidates, std::int64_t n, std::int64_t k);
void sort_by_point(Candidate* candidates, std::int64_t n);

// Heaps with the farthest neighbour first: adds one behind n others, puts one in the place of the
// first of n unless it is farther, and sorts by distance.
void push_neighbor(Neighbor* heap, std::int64_t n, Neighbor neighbor);
void replace_farthest(Neighbor* heap, std::int64_t n, Neighbor neighbor);
void sort_neighbors(Neighbor* heap, std::int64_t n);

}  // namespace closeknit
