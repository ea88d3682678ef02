// Translates between NumPy arrays and the neighbour kernels; nothing is computed here.
#include "dispatch.h"
#include "kernels_distances.h"
#include "kernels_search.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <class T, int N>
using In = nb::ndarray<const T, nb::numpy, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T, int N>
using Out = nb::ndarray<T, nb::numpy, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<nb::ro, nb::numpy, nb::c_contig, nb::device::cpu>;

void require(bool condition, const char* message) {
  if (!condition) throw nb::value_error(message);
}

// A matrix's rows; keeps the arrays alive.
struct RowsOwner {
  Matrix values;
  std::optional<In<std::int64_t, 1>> indptr;
  std::optional<In<std::int32_t, 1>> indices;
  closeknit::Rows view;

  RowsOwner(Matrix dense) : values(dense) {
    require(values.ndim() == 2, "values must be a matrix");
    view.n_rows = static_cast<std::int64_t>(values.shape(0));
    view.n_features = static_cast<std::int64_t>(values.shape(1));
    set_values();
  }

  RowsOwner(Matrix stored, In<std::int64_t, 1> row_pointers, In<std::int32_t, 1> columns,
            std::int64_t n_features)
      : values(stored), indptr(row_pointers), indices(columns) {
    require(values.ndim() == 1 && values.shape(0) == indices->shape(0), "malformed sparse rows");
    view.n_rows = static_cast<std::int64_t>(indptr->shape(0)) - 1;
    view.n_features = n_features;
    view.indptr = indptr->data();
    view.indices = indices->data();
    set_values();
  }

  void set_values() {
    view.is_double = values.dtype() == nb::dtype<double>();
    require(view.is_double || values.dtype() == nb::dtype<float>(), "values must be float32/64");
    view.values = values.data();
  }
};

void require_comparable(const RowsOwner& a, const RowsOwner& b) {
  require(a.view.is_double == b.view.is_double && !a.view.indptr == !b.view.indptr &&
              a.view.n_features == b.view.n_features,
          "queries and points must be stored alike");
}

struct SketchOwner {
  In<float, 3> panels;
  In<float, 2> half_sq_norms;
  In<std::int32_t, 2> points;
  In<std::int64_t, 1> cell_panels;
  closeknit::Sketch view;

  SketchOwner(In<float, 3> p, In<float, 2> h, In<std::int32_t, 2> i, In<std::int64_t, 1> c,
              bool has_residual)
      : panels(p), half_sq_norms(h), points(i), cell_panels(c) {
    require(panels.shape(2) == 16 && half_sq_norms.shape(0) == panels.shape(0) &&
                points.shape(0) == panels.shape(0) && half_sq_norms.shape(1) == 16 &&
                points.shape(1) == 16,
            "malformed sketch");
    view = {panels.data(),
            half_sq_norms.data(),
            points.data(),
            cell_panels.data(),
            static_cast<std::int64_t>(cell_panels.shape(0)) - 1,
            static_cast<std::int64_t>(panels.shape(1)),
            has_residual};
  }
};

const double* pointer_or_null(const std::optional<In<double, 1>>& array) {
  return array ? array->data() : nullptr;
}

void candidate_distances(const RowsOwner& queries, const RowsOwner& points,
                         std::optional<In<double, 1>> addend, In<std::int64_t, 2> candidates,
                         Out<double, 2> out, int n_threads) {
  require_comparable(queries, points);
  const auto n_candidates = static_cast<std::int64_t>(candidates.shape(1));
  nb::gil_scoped_release release;
  closeknit::ThreadPool pool(n_threads);
  CK_DISPATCH(candidate_distances)
  (queries.view, points.view, pointer_or_null(addend), candidates.data(), n_candidates, out.data(),
   pool);
}

void project(const RowsOwner& rows, In<double, 1> center, In<double, 2> basis, Out<double, 2> out,
             Out<double, 1> sq_norms, int n_threads) {
  require(static_cast<std::int64_t>(basis.shape(0)) == rows.view.n_features, "malformed basis");
  const auto n_components = static_cast<std::int64_t>(basis.shape(1));
  nb::gil_scoped_release release;
  closeknit::ThreadPool pool(n_threads);
  CK_DISPATCH(project)
  (rows.view, center.data(), basis.data(), n_components, out.data(), sq_norms.data(), pool);
}

void search_cells(const RowsOwner& query_rows, const RowsOwner& point_rows,
                  std::optional<In<double, 1>> addend, const SketchOwner& sketch,
                  const SketchOwner& centers, In<double, 1> cell_radii, In<double, 1> cell_slacks,
                  In<float, 2> query_sketches, In<double, 1> query_sq_norms,
                  std::optional<In<std::int32_t, 1>> self, In<std::int64_t, 1> order,
                  In<std::int64_t, 1> task_offsets, std::int64_t n_probes,
                  std::int64_t n_candidates, double sketch_unit, double margin,
                  float residual_weight, bool exact, Out<std::int32_t, 2> indices,
                  Out<double, 2> sq_distances, Out<std::int64_t, 1> evaluated, int n_threads) {
  require_comparable(query_rows, point_rows);
  require(static_cast<std::int64_t>(query_sketches.shape(1)) == sketch.view.n_coordinates &&
              centers.view.n_coordinates == sketch.view.n_coordinates,
          "queries, points and centres need sketches of one length");
  require(n_probes >= 1 && n_probes <= sketch.view.n_cells && n_candidates >= 1,
          "n_probes must lie between 1 and the number of cells");
  const closeknit::Queries queries = {query_sketches.data(),
                                      query_sq_norms.data(),
                                      self ? self->data() : nullptr,
                                      order.data(),
                                      task_offsets.data(),
                                      static_cast<std::int64_t>(query_sketches.shape(0)),
                                      static_cast<std::int64_t>(task_offsets.shape(0)) - 1};
  const closeknit::SearchPlan plan = {&centers.view,
                                      cell_radii.data(),
                                      cell_slacks.data(),
                                      n_probes,
                                      n_candidates,
                                      static_cast<std::int64_t>(indices.shape(1)),
                                      sketch_unit,
                                      margin,
                                      residual_weight,
                                      exact};
  const closeknit::Answers answers = {indices.data(), sq_distances.data(), evaluated.data()};
  nb::gil_scoped_release release;
  closeknit::ThreadPool pool(n_threads);
  CK_DISPATCH(search_cells)
  (query_rows.view, point_rows.view, pointer_or_null(addend), sketch.view, queries, plan, answers,
   pool);
}

}  // namespace

void bind_neighbors(nb::module_& m) {
  nb::class_<RowsOwner>(m, "Rows")
      .def(nb::init<Matrix>(), "values"_a)
      .def(nb::init<Matrix, In<std::int64_t, 1>, In<std::int32_t, 1>, std::int64_t>(), "values"_a,
           "indptr"_a, "indices"_a, "n_features"_a);
  nb::class_<SketchOwner>(m, "Sketch")
      .def(nb::init<In<float, 3>, In<float, 2>, In<std::int32_t, 2>, In<std::int64_t, 1>, bool>(),
           "panels"_a, "half_sq_norms"_a, "points"_a, "cell_panels"_a, "has_residual"_a);
  m.def("candidate_distances", &candidate_distances, "queries"_a, "points"_a, "addend"_a.none(),
        "candidates"_a, "out"_a, "n_threads"_a);
  m.def("project", &project, "rows"_a, "center"_a, "basis"_a, "out"_a, "sq_norms"_a,
        "n_threads"_a);
  m.def("search_cells", &search_cells, "query_rows"_a, "point_rows"_a, "addend"_a.none(),
        "sketch"_a, "centers"_a, "cell_radii"_a, "cell_slacks"_a, "query_sketches"_a,
        "query_sq_norms"_a, "self"_a.none(), "order"_a, "task_offsets"_a, "n_probes"_a,
        "n_candidates"_a, "sketch_unit"_a, "margin"_a, "residual_weight"_a, "exact"_a,
        "indices"_a, "sq_distances"_a, "evaluated"_a, "n_threads"_a);
}
