// The strongest edges of a weighted graph, and the components that its edges form.
#pragma once

#include <cstdint>

namespace closeknit {

// A symmetric matrix of weights in compressed sparse rows, ascending within each row.
template <class I, class T = double>
struct Weights {
  const I* indptr;
  const I* indices;
  const T* values;
  std::int64_t n;
};

// Sets keep[e] for each stored entry e that is among the k largest of its row or of its column; of
// equal weights the first. Returns a row with an entry whose mirror image is not stored, or −1.
template <class I, class T>
std::int64_t mark_strongest(const Weights<I, T>& weights, std::int64_t k, std::uint8_t* keep,
                            int n_jobs);

// The sum of each row, in double precision.
template <class I, class T>
void sum_rows(const Weights<I, T>& weights, double* sums, int n_jobs);

// Numbers the connected components of the edges heavier than `share` of the lesser degree of their
// ends, in the order of their first points; returns how many there are.
template <class I>
std::int64_t label_components(const Weights<I>& weights, const double* degrees, double share,
                              std::int32_t* labels);

}  // namespace closeknit
