// New points in an embedding whose points stay where they are.
#include "common/graph.h"
#include "embeddings/placing.h"
#include "repulsion/bindings_grid.h"

namespace closeknit {
namespace {

void place_points(const Graph& neighbors, Matrix<const double> points, const KernelCode& code,
                  double repulsion, int max_iter, double tol, const Field* field,
                  Matrix<double> positions, int n_jobs) {
  const int d = static_cast<int>(length(points, 1));
  require(d >= 1 && has_shape(points, neighbors.n_columns(), d) &&
              has_shape(positions, neighbors.n_rows(), d),
          "neighbours, points and positions do not match");
  require(!field || field->grid().d == d, "points and field differ in their dimensions");
  neighbors.check_indices();
  const Kernel kernel = make_kernel(code);
  Work work(n_jobs);
  neighbors.visit_values<double>([&](const auto& csr) {
    const Placing problem{csr, points.data(), d, repulsion, max_iter, tol};
    const auto run = [&](auto zero) {
      using T = decltype(zero);
      const auto view =
          field ? std::optional(GridPotential<T>{field->grid(), field->view<T>(nullptr)})
                : std::nullopt;
      place(problem, kernel, view ? &*view : nullptr, positions.data(), work.pool);
    };
    if (field && field->is_of<float>())
      run(0.0F);
    else
      run(0.0);
  });
}

}  // namespace

void bind_embeddings(nb::module_& m) {
  m.def("place", &place_points, "neighbors"_a, "points"_a, "kernel"_a, "repulsion"_a, "max_iter"_a,
        "tol"_a, "field"_a.none(), output("positions"), "n_jobs"_a);
}

}  // namespace closeknit
