// Graphs, products and factors of Laplacians.
#include <limits>
#include <utility>
#include <vector>

#include "common/graph.h"
#include "linalg/approximate_cholesky.h"
#include "linalg/border.h"
#include "linalg/components.h"
#include "linalg/permute.h"
#include "linalg/products.h"
#include "linalg/strongest.h"
#include "linalg/symmetry.h"

namespace closeknit {
namespace {

// Of any type, and written to.
using AnyVector = nb::ndarray<nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
using Owned = nb::ndarray<nb::numpy, const T, nb::ndim<1>>;

// An array that owns the numbers.
template <class Numbers, class T = typename Numbers::value_type>
Owned<T> owned(Numbers values) {
  auto* kept = new Numbers(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Numbers*>(p); });
  return Owned<T>(kept->data(), {kept->size()}, owner);
}

// Points are numbered by 32 bits where lists of edges are kept.
void require_points(const Graph& graph) {
  require(graph.is_square(), "the matrix must be square");
  require(graph.n_rows() <= std::numeric_limits<std::int32_t>::max(), "the matrix is too large");
  graph.check_indices();
}

void multiply_with(const Graph& matrix, Matrix<const double> X, Matrix<double> out, int n_jobs) {
  const std::int64_t k = length(X, 1);
  require(has_shape(X, matrix.n_columns(), k) && has_shape(out, matrix.n_rows(), k),
          "X must have one row per column of the matrix, and out one row per row of the matrix");
  Work work(n_jobs);
  matrix.visit([&](const auto& csr) { multiply(csr, X.data(), k, out.data(), work.pool); });
}

void sum_rows_of(const Graph& matrix, Vector<double> sums, int n_jobs) {
  require(has_shape(sums, matrix.n_rows()), "sums must have one entry per row");
  Work work(n_jobs);
  matrix.visit([&](const auto& csr) { sum_rows(csr, sums.data(), work.pool); });
}

double asymmetry_of(const Graph& weights, int n_jobs) {
  require_points(weights);
  Work work(n_jobs);
  return weights.visit([&](const auto& csr) { return asymmetry(csr, work.pool); });
}

std::int64_t mark_strongest_of(const Graph& weights, std::int64_t k, Vector<std::uint8_t> keep,
                               int n_jobs) {
  require_points(weights);
  require(k >= 0, "k must not be negative");
  require(has_shape(keep, weights.n_entries()), "keep must have one entry per entry of weights");
  Work work(n_jobs);
  return weights.visit(
      [&](const auto& csr) { return mark_strongest(csr, k, keep.data(), work.pool); });
}

std::int64_t sample_entries_of(const Graph& weights, std::tuple<std::int64_t, int> counts,
                               std::uint64_t seed, std::int64_t first, Vector<std::uint8_t> own,
                               Maybe<Vector<std::uint8_t>> mirrored, Vector<double> rest,
                               int n_jobs) {
  const auto [k, m] = counts;
  require(k >= 0 && m >= 1 && m < STRONGEST, "k must not be negative, and m from 1 to 254");
  require(has_shape(own, weights.n_entries()) && has_shape(mirrored, weights.n_entries()),
          "own and mirrored must have one entry per entry of weights");
  require(has_shape(rest, weights.n_rows()), "rest must have one entry per row");
  if (mirrored) require_points(weights);
  Work work(n_jobs);
  return weights.visit([&, k = k, m = m](const auto& csr) -> std::int64_t {
    sample_rows(csr, k, m, seed, first, own.data(), rest.data(), work.pool);
    return mirrored ? mirror(csr, own.data(), mirrored->data(), work.pool) : -1;
  });
}

std::int64_t label_components_of(const Graph& weights, Vector<const double> degrees, double share,
                                 Vector<std::int32_t> labels) {
  require_points(weights);
  require(has_shape(degrees, weights.n_rows()) && has_shape(labels, weights.n_rows()),
          "degrees and labels must have one entry per row");
  Work work(1);
  return weights.visit_values<double>(
      [&](const auto& csr) { return label_components(csr, degrees.data(), share, labels.data()); });
}

void permute_points(const Graph& graph, Vector<const std::int64_t> order, AnyVector indptr,
                    AnyVector indices, AnyVector values, int n_jobs) {
  require_points(graph);
  const std::int64_t n = graph.n_rows(), n_entries = graph.n_entries();
  require(length(order) == n && is_permutation(order.data(), n),
          "order must name every point once");
  require(length(indptr) == n + 1 && length(indices) == n_entries && length(values) == n_entries,
          "the outputs must have the lengths of the graph's arrays");
  graph.visit([&](const auto& csr) {
    using I = std::remove_const_t<std::remove_pointer_t<decltype(csr.indices)>>;
    using T = std::remove_const_t<std::remove_pointer_t<decltype(csr.values)>>;
    if (!holds<I>(indptr) || !holds<I>(indices) || !holds<T>(values))
      throw nb::type_error("the outputs must have the types of the graph's arrays");
    const I* offsets = static_cast<const I*>(indptr.data());
    require(are_offsets(offsets, n + 1, n_entries), "indptr does not hold offsets");
    std::vector<I> position(static_cast<std::size_t>(n));
    Work work(n_jobs);
    permute(csr, order.data(), offsets, position.data(), static_cast<I*>(indices.data()),
            static_cast<T*>(values.data()), work.pool);
  });
}

std::int64_t mark_border_of(const Graph& weights, Vector<std::int32_t> labels, int n_jobs) {
  require_points(weights);
  require(has_shape(labels, weights.n_rows()), "labels must have one entry per row");
  Work work(n_jobs);
  return weights.visit_values<double>(
      [&](const auto& csr) { return mark_border(csr, labels.data(), work.pool); });
}

ApproximateCholesky factorize(const Graph& weights, Vector<const double> excess, std::uint64_t seed,
                              const ApproximateCholesky* like,
                              Maybe<Vector<const std::int32_t>> parts, int n_jobs) {
  require_points(weights);
  const std::int64_t n = weights.n_rows();
  require(has_shape(excess, n) && has_shape(parts, n) && (!like || like->n() == n),
          "graph, excess, parts and earlier factor do not match");
  require(!parts || are_between(parts->data(), n, -1, n), "parts must be from -1 to n - 1");
  Work work(n_jobs);
  return weights.visit_values<double>([&](const auto& csr) {
    const Laplacian matrix{csr, excess.data()};
    if (like) return ApproximateCholesky(matrix, seed, *like, work.pool);
    Division division = parts ? Division::of(parts->data(), n) : Division::none(n);
    return ApproximateCholesky(matrix, seed, std::move(division), work.pool);
  });
}

void solve(const ApproximateCholesky& factor, Matrix<const double> rhs, Matrix<double> out,
           int n_jobs) {
  const std::int64_t d = length(rhs, 1);
  require(has_shape(rhs, factor.n(), d) && has_shape(out, factor.n(), d),
          "rhs and out must have one row per point");
  Work work(n_jobs);
  factor.solve(rhs.data(), d, out.data(), work.pool);
}

void bind_factor(nb::module_& m) {
  using Factor = ApproximateCholesky;
  nb::class_<Factor>(m, "ApproximateCholesky")
      .def("solve", &solve, "rhs"_a, output("out"), "n_jobs"_a)
      .def_prop_ro("nnz", &Factor::nnz)
      .def("order", [](const Factor& f) { return owned(f.order()); })
      .def("columns", [](const Factor& f) {
        Columns all = f.columns();
        return nb::make_tuple(owned(std::move(all.offsets)), owned(std::move(all.rows)),
                              owned(std::move(all.values)), owned(std::move(all.pivots)));
      });
  m.def("approximate_cholesky", &factorize, "weights"_a, "excess"_a, "seed"_a, "like"_a.none(),
        "parts"_a.none(), "n_jobs"_a);
}

}  // namespace

void bind_linalg(nb::module_& m) {
  nb::class_<Graph>(m, "Graph")
      .def(nb::init<nb::object>(), "matrix"_a)
      .def("__reduce__", [](nb::handle self) {
        return nb::make_tuple(self.type(), nb::make_tuple(nb::cast<const Graph&>(self).matrix()));
      });
  bind_factor(m);
  m.def("multiply", &multiply_with, "matrix"_a, "X"_a, output("out"), "n_jobs"_a);
  m.def("sum_rows", &sum_rows_of, "matrix"_a, output("sums"), "n_jobs"_a);
  m.def("asymmetry", &asymmetry_of, "weights"_a, "n_jobs"_a);
  m.def("mark_strongest", &mark_strongest_of, "weights"_a, "k"_a, output("keep"), "n_jobs"_a);
  m.def("sample_entries", &sample_entries_of, "weights"_a, "counts"_a, "seed"_a, "first"_a,
        output("own"), output("mirrored").none(), output("rest"), "n_jobs"_a);
  m.def("permute", &permute_points, "graph"_a, "order"_a, output("indptr"), output("indices"),
        output("values"), "n_jobs"_a);
  m.def("mark_border", &mark_border_of, "weights"_a, output("labels"), "n_jobs"_a);
  m.def("label_components", &label_components_of, "weights"_a, "degrees"_a, "share"_a,
        output("labels"));
}

}  // namespace closeknit
