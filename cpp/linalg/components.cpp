#include "linalg/components.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace closeknit {
namespace {

std::int32_t root_of(std::vector<std::int32_t>& parent, std::int32_t v) {
  while (parent[v] != v) v = parent[v] = parent[parent[v]];
  return v;
}

}  // namespace

template <class I>
std::int64_t label_components(const Csr<I>& weights, const double* degrees, double share,
                              std::int32_t* labels) {
  std::vector<std::int32_t> parent(weights.n_rows);
  std::iota(parent.begin(), parent.end(), 0);
  for (std::int64_t i = 0; i < weights.n_rows; ++i)
    for (I e = weights.indptr[i]; e < weights.indptr[i + 1]; ++e) {
      const I j = weights.indices[e];
      if (!(weights.values[e] > share * std::min(degrees[i], degrees[j]))) continue;
      const std::int32_t a = root_of(parent, static_cast<std::int32_t>(i));
      const std::int32_t b = root_of(parent, static_cast<std::int32_t>(j));
      // The lower number is the root, so that components are met at their first points below.
      parent[std::max(a, b)] = std::min(a, b);
    }
  std::int32_t count = 0;
  for (std::int64_t i = 0; i < weights.n_rows; ++i) {
    const std::int32_t root = root_of(parent, static_cast<std::int32_t>(i));
    labels[i] = root == i ? count++ : labels[root];
  }
  return count;
}

template std::int64_t label_components(const Csr<std::int32_t>&, const double*, double,
                                       std::int32_t*);
template std::int64_t label_components(const Csr<std::int64_t>&, const double*, double,
                                       std::int32_t*);

}  // namespace closeknit
