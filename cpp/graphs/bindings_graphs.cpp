// The mean of a graph and its transpose.
#include "common/graph.h"
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

}  // namespace

void bind_graphs(nb::module_& m) {
  bind_merge<std::int32_t>(m);
  bind_merge<std::int64_t>(m);
}

}  // namespace closeknit
