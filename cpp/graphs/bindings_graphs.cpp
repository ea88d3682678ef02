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
using Order = Vector<const std::int64_t>;

void require_order(const Order& order, std::int64_t n) {
  require(has_shape(order, n) && is_permutation(order.data(), n),
          "order must hold each point once");
}

// Pairs of points that came from Python. They are looked at when this is made, not at every use,
// and must not change while it lives.
class MutualPairs {
 public:
  MutualPairs(Offsets indptr, Offsets indices, Ranks ranks, Order order)
      : indptr_(indptr), indices_(indices), ranks_(ranks), order_(order) {
    const std::int64_t n = length(indptr) - 1;
    require(has_shape(ranks, length(indices)) &&
                are_offsets(indptr.data(), n + 1, length(indices)) &&
                are_between(indices.data(), length(indices), 0, n),
            "indptr, indices and ranks are not those of pairs of points");
    require_order(order, n);
  }

  MutualPattern pattern() const {
    return {indptr_.data(), indices_.data(), ranks_.data(), order_.data(), length(indptr_) - 1};
  }

 private:
  Offsets indptr_, indices_;
  Ranks ranks_;
  Order order_;
};

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
          [](const NeighborPairs& self, Order order, Offsets indptr, Vector<std::int32_t> indices,
             Vector<std::uint32_t> ranks, int n_jobs) {
            require_order(order, self.n_rows());
            require(has_shape(indptr, self.n_rows() + 1) && has_shape(ranks, length(indices)) &&
                        are_offsets(indptr.data(), length(indptr), length(indices)),
                    "indptr, indices and ranks are not those of pairs");
            Work work(n_jobs);
            self.write(order.data(), indptr.data(), indices.data(), ranks.data(), work.pool);
          },
          "order"_a, "indptr"_a, output("indices"), output("ranks"), "n_jobs"_a);
}

void bind_mutual(nb::module_& m) {
  m.def(
      "walk_order",
      [](NeighborMatrix neighbors, Vector<std::int64_t> order) {
        const NeighborRows rows = as_rows(neighbors);
        require(has_shape(order, rows.n_rows), "order must have one entry per point");
        walk_order(rows, order.data());
      },
      "neighbors"_a, output("order"));
  nb::class_<MutualPairs>(m, "MutualPairs")
      .def(nb::init<Offsets, Offsets, Ranks, Order>(), "indptr"_a, "indices"_a, "ranks"_a,
           "order"_a)
      .def(
          "count",
          [](const MutualPairs& self, std::int64_t k, Vector<std::int32_t> counts, int n_jobs) {
            const MutualPattern pattern = self.pattern();
            require(has_shape(counts, pattern.n_rows), "counts must have one entry per row");
            Work work(n_jobs);
            mutual_counts(pattern, k, counts.data(), work.pool);
          },
          "k"_a, output("counts"), "n_jobs"_a)
      .def(
          "mean",
          [](const MutualPairs& self, Matrix<const double> affinities, Offsets indptr,
             Vector<std::int32_t> indices, Vector<double> data, int n_jobs) {
            const MutualPattern pattern = self.pattern();
            require(length(affinities) == pattern.n_rows, "affinities must have one row per point");
            require(has_shape(indptr, pattern.n_rows + 1) && has_shape(data, length(indices)) &&
                        are_offsets(indptr.data(), length(indptr), length(indices)),
                    "indptr, indices and data are not those of a matrix");
            Work work(n_jobs);
            mutual_mean(pattern, affinities.data(), length(affinities, 1), indptr.data(),
                        indices.data(), data.data(), work.pool);
          },
          "affinities"_a, "indptr"_a, output("indices"), output("data"), "n_jobs"_a);
}

}  // namespace

void bind_graphs(nb::module_& m) {
  bind_pairs(m);
  bind_mutual(m);
  bind_merge<std::int32_t>(m);
  bind_merge<std::int64_t>(m);
}

}  // namespace closeknit
