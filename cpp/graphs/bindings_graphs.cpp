// The mean of a graph and its transpose.
#include <algorithm>
#include <limits>

#include "common/graph.h"
#include "graphs/mutual.h"
#include "graphs/pairs.h"
#include "graphs/symmetrize.h"

namespace closeknit {
namespace {

template <class I>
void require_mergeable(const Graph& a, const Graph& b) {
  if (!a.is_of<I, double>() || !b.is_of<I, double>())
    throw nb::type_error(
        "both matrices must hold float64, and their indices and the result's match");
  require(a.n_rows() == b.n_rows() && a.n_columns() == b.n_columns(),
          "the matrices must be of one shape");
}

template <class I>
void bind_merge(nb::module_& m) {
  m.def(
      "merged_counts",
      [](const Graph& a, const Graph& b, Vector<I> counts, int n_jobs) {
        require_mergeable<I>(a, b);
        require(has_shape(counts, a.n_rows()), "counts must have one entry per row");
        Work work(n_jobs);
        merged_counts(a.view<I, double>(), b.view<I, double>(), counts.data(), work.pool);
      },
      "a"_a, "b"_a, output("counts"), "n_jobs"_a);
  m.def(
      "merged_mean",
      [](const Graph& a, const Graph& b, Vector<const I> indptr, Vector<I> indices,
         Vector<double> data, int n_jobs) {
        require_mergeable<I>(a, b);
        require(has_shape(indptr, a.n_rows() + 1) && has_shape(data, length(indices)) &&
                    are_offsets(indptr.data(), length(indptr), length(indices)),
                "indptr, indices and data are not those of a matrix");
        Work work(n_jobs);
        merged_mean(a.view<I, double>(), b.view<I, double>(), indptr.data(), indices.data(),
                    data.data(), work.pool);
      },
      "a"_a, "b"_a, "indptr"_a, output("indices"), output("data"), "n_jobs"_a);
}

using Offsets = Vector<const std::int32_t>;
using Ranks = Vector<const std::uint32_t>;

MutualPattern as_pattern(const Offsets& indptr, const Offsets& indices, const Ranks& ranks) {
  const std::int64_t n = length(indptr) - 1;
  require(has_shape(ranks, length(indices)) && are_offsets(indptr.data(), n + 1, length(indices)) &&
              are_between(indices.data(), length(indices), 0, n),
          "indptr, indices and ranks are not those of pairs of points");
  return {indptr.data(), indices.data(), ranks.data(), n};
}

using NeighborMatrix = Matrix<const std::int32_t>;

NeighborRows as_rows(const NeighborMatrix& neighbors) {
  const std::int64_t n = length(neighbors), k = length(neighbors, 1);
  require(k < NO_RANK && 2 * n * k < std::numeric_limits<std::int32_t>::max(),
          "there are too many neighbours");
  require(std::all_of(neighbors.data(), neighbors.data() + n * k,
                      [&](std::int32_t point) { return -1 <= point && point < n; }),
          "neighbors must be rows of points, or -1");
  return {neighbors.data(), n, k};
}

void bind_pairs(nb::module_& m) {
  nb::class_<NeighborPairs>(m, "NeighborPairs")
      .def(
          "__init__",
          [](NeighborPairs* self, NeighborMatrix neighbors, int n_jobs) {
            const NeighborRows rows = as_rows(neighbors);
            Work work(n_jobs);
            new (self) NeighborPairs(rows, work.pool);
          },
          "neighbors"_a, "n_jobs"_a)
      .def(
          "count",
          [](const NeighborPairs& self, Vector<std::int32_t> counts, int n_jobs) {
            require(has_shape(counts, self.n_rows()), "counts must have one entry per row");
            Work work(n_jobs);
            self.count(counts.data(), work.pool);
          },
          output("counts"), "n_jobs"_a)
      .def(
          "write",
          [](const NeighborPairs& self, Offsets indptr, Vector<std::int32_t> indices,
             Vector<std::uint32_t> ranks, int n_jobs) {
            require(has_shape(indptr, self.n_rows() + 1) && has_shape(ranks, length(indices)) &&
                        are_offsets(indptr.data(), length(indptr), length(indices)),
                    "indptr, indices and ranks are not those of pairs");
            Work work(n_jobs);
            self.write(indptr.data(), indices.data(), ranks.data(), work.pool);
          },
          "indptr"_a, output("indices"), output("ranks"), "n_jobs"_a);
}

void bind_mutual(nb::module_& m) {
  m.def(
      "mutual_counts",
      [](Offsets indptr, Offsets indices, Ranks ranks, std::int64_t k, Vector<std::int32_t> counts,
         int n_jobs) {
        const MutualPattern pattern = as_pattern(indptr, indices, ranks);
        require(has_shape(counts, pattern.n_rows), "counts must have one entry per row");
        Work work(n_jobs);
        mutual_counts(pattern, k, counts.data(), work.pool);
      },
      "indptr"_a, "indices"_a, "ranks"_a, "k"_a, output("counts"), "n_jobs"_a);
  m.def(
      "mutual_mean",
      [](Offsets indptr, Offsets indices, Ranks ranks, Matrix<const double> affinities,
         Offsets new_indptr, Vector<std::int32_t> new_indices, Vector<double> data, int n_jobs) {
        const MutualPattern pattern = as_pattern(indptr, indices, ranks);
        require(length(affinities) == pattern.n_rows, "affinities must have one row per point");
        require(has_shape(new_indptr, pattern.n_rows + 1) && has_shape(data, length(new_indices)) &&
                    are_offsets(new_indptr.data(), length(new_indptr), length(new_indices)),
                "new_indptr, new_indices and data are not those of a matrix");
        Work work(n_jobs);
        mutual_mean(pattern, affinities.data(), length(affinities, 1), new_indptr.data(),
                    new_indices.data(), data.data(), work.pool);
      },
      "indptr"_a, "indices"_a, "ranks"_a, "affinities"_a, "new_indptr"_a, output("new_indices"),
      output("data"), "n_jobs"_a);
}

}  // namespace

void bind_graphs(nb::module_& m) {
  bind_pairs(m);
  bind_mutual(m);
  bind_merge<std::int32_t>(m);
  bind_merge<std::int64_t>(m);
}

}  // namespace closeknit
