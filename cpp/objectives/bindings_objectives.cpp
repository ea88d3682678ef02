// The attraction along the edges of a graph.
#include "common/graph.h"
#include "objectives/edges.h"
#include "objectives/order.h"

namespace closeknit {
namespace {

template <class T>
void require_matching(const Graph& graph, const Matrix<const T>& from,
                      const Matrix<const T>& points) {
  require(has_shape(from, graph.n_rows(), length(points, 1)) &&
              has_shape(points, graph.n_columns(), length(from, 1)) && length(points, 1) >= 1,
          "graph and positions do not match");
  graph.check_indices();
}

template <class T>
void bind_edges(nb::module_& m) {
  m.def(
      "sum_edges",
      [](const Graph& graph, Matrix<const T> from, Matrix<const T> points, const KernelCode& code,
         Maybe<Matrix<double>> force, int n_jobs) {
        require_matching(graph, from, points);
        const Kernel kernel = make_kernel(code);
        const int d = static_cast<int>(length(points, 1));
        require(has_shape(force, length(from), d), "force must be shaped as the positions");
        double* out = data_or_null(force);
        Work work(n_jobs);
        return graph.visit_values<T>([&](const auto& csr) {
          return sum_edges(Edges{csr, from.data(), points.data(), d}, kernel, out, work.pool);
        });
      },
      "graph"_a, nb::arg("from_points").noconvert(), nb::arg("points").noconvert(), "kernel"_a,
      output("force").none(), "n_jobs"_a);
  m.def(
      "edge_weights",
      [](const Graph& graph, Matrix<const T> points, const KernelCode& code, Vector<T> out,
         int n_jobs) {
        require_matching(graph, points, points);
        const Kernel kernel = make_kernel(code);
        const int d = static_cast<int>(length(points, 1));
        require(has_shape(out, graph.n_entries()), "out must have one entry per edge");
        Work work(n_jobs);
        graph.visit_values<T>([&](const auto& csr) {
          edge_weights(Edges{csr, points.data(), points.data(), d}, kernel, out.data(), work.pool);
        });
      },
      "graph"_a, nb::arg("points").noconvert(), "kernel"_a, output("out"), "n_jobs"_a);
  m.def(
      "sum_entropy",
      [](Vector<const T> weights, int n_jobs) {
        Work work(n_jobs);
        return sum_entropy(weights.data(), length(weights), work.pool);
      },
      nb::arg("weights").noconvert(), "n_jobs"_a);
}

void take_rows_of(Matrix<const double> X, Vector<const std::int64_t> rows, Matrix<double> out,
                  int n_jobs) {
  const std::int64_t n = length(rows), d = length(X, 1);
  require(has_shape(out, n, d), "out must have one row for each that is taken");
  require(are_between(rows.data(), n, 0, length(X)), "rows must be those of X");
  Work work(n_jobs);
  take_rows(X.data(), d, rows.data(), n, out.data(), work.pool);
}

void join_forces_of(Matrix<const double> attractive, Matrix<const double> repulsive, double lam,
                    Maybe<Vector<const std::int64_t>> places, Matrix<double> out, int n_jobs) {
  const std::int64_t n = length(attractive), d = length(attractive, 1);
  require(has_shape(repulsive, n, d) && has_shape(out, n, d), "forces and out must have one shape");
  require(has_shape(places, n) && (!places || are_between(places->data(), n, 0, n)),
          "places must be those of the points");
  Work work(n_jobs);
  join_forces(attractive.data(), repulsive.data(), lam, d, data_or_null(places), n, out.data(),
              work.pool);
}

}  // namespace

void bind_objectives(nb::module_& m) {
  bind_edges<float>(m);
  bind_edges<double>(m);
  m.def("take_rows", &take_rows_of, "X"_a, "rows"_a, output("out"), "n_jobs"_a);
  m.def("join_forces", &join_forces_of, "attractive"_a, "repulsive"_a, "lam"_a, "places"_a.none(),
        output("out"), "n_jobs"_a);
}

}  // namespace closeknit
