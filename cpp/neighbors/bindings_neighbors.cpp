// Rows of data, and the search for their nearest neighbours.
#include <algorithm>
#include <limits>
#include <vector>

#include "common/bindings_common.h"
#include "neighbors/distances.h"
#include "neighbors/search.h"
#include "neighbors/tiles.h"

namespace closeknit {
namespace {

// Rows of a matrix, dense or sparse; keeps the arrays.
class CheckedRows {
 public:
  explicit CheckedRows(AnyArray dense) : values_(dense) {
    require(dense.ndim() == 2, "values must be a matrix");
    set(length(dense), length(dense, 1));
  }

  CheckedRows(AnyArray stored, Vector<const std::int64_t> indptr,
              Vector<const std::int32_t> indices, std::int64_t n_features)
      : values_(stored), indptr_(indptr), indices_(indices) {
    require(stored.ndim() == 1 && has_shape(indices, length(stored)) && n_features >= 0 &&
                are_offsets(indptr.data(), length(indptr), length(stored)),
            "values, indptr and indices are not those of sparse rows");
    require(are_between(indices.data(), length(indices), 0, n_features),
            "an index of the sparse rows is out of range");
    set(length(indptr) - 1, n_features);
    view_.indptr = indptr.data();
    view_.indices = indices.data();
  }

  const Rows& view() const { return view_; }

 private:
  void set(std::int64_t n_rows, std::int64_t n_features) {
    view_.is_double = holds<double>(values_);
    if (!view_.is_double && !holds<float>(values_))
      throw nb::type_error("values must be float32 or float64");
    require(n_rows <= std::numeric_limits<std::int32_t>::max(), "there are too many rows");
    view_.values = values_.data();
    view_.n_rows = n_rows;
    view_.n_features = n_features;
  }

  AnyArray values_;
  Maybe<Vector<const std::int64_t>> indptr_;
  Maybe<Vector<const std::int32_t>> indices_;
  Rows view_;
};

void require_alike(const Rows& queries, const Rows& points) {
  require(queries.is_double == points.is_double && !queries.indptr == !points.indptr &&
              queries.n_features == points.n_features,
          "queries and points must be stored alike");
}

class CheckedSketch {
 public:
  using Panels = nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

  CheckedSketch(Panels panels, Matrix<const float> half_sq_norms, Matrix<const std::int32_t> points,
                Vector<const std::int64_t> cell_panels, bool has_residual)
      : panels_(panels), half_sq_norms_(half_sq_norms), points_(points), cell_panels_(cell_panels) {
    const std::int64_t n = length(panels);
    require(length(panels, 2) == TILE_FLOATS && length(panels, 1) >= 1 &&
                has_shape(half_sq_norms, n, TILE_FLOATS) && has_shape(points, n, TILE_FLOATS),
            "panels, norms and points are not those of a sketch");
    require(length(cell_panels) >= 2 && are_offsets(cell_panels.data(), length(cell_panels), n),
            "cell_panels must be offsets into the panels");
    const std::int32_t* end = points.data() + n * TILE_FLOATS;
    require(
        are_between(points.data(), n * TILE_FLOATS, -1, std::numeric_limits<std::int32_t>::max()),
        "a point of the sketch is out of range");
    n_points_ = n > 0 ? *std::max_element(points.data(), end) + std::int64_t{1} : 0;
    view_ = {panels.data(),           half_sq_norms.data(), points.data(), cell_panels.data(),
             length(cell_panels) - 1, length(panels, 1),    has_residual};
  }

  const Sketch& view() const { return view_; }
  // One more than the highest number of a point.
  std::int64_t n_points() const { return n_points_; }
  // Is every point from 0 to n - 1 there?
  bool holds_all(std::int64_t n) const {
    std::vector<bool> there(static_cast<std::size_t>(n), false);
    const std::int32_t* end = points_.data() + points_.size();
    for (const std::int32_t* p = points_.data(); p < end; ++p)
      if (*p >= 0 && *p < n) there[static_cast<std::size_t>(*p)] = true;
    return std::find(there.begin(), there.end(), false) == there.end();
  }

 private:
  Panels panels_;
  Matrix<const float> half_sq_norms_;
  Matrix<const std::int32_t> points_;
  Vector<const std::int64_t> cell_panels_;
  std::int64_t n_points_;
  Sketch view_;
};

// Points in cells, ready to be searched.
class CheckedPoints {
 public:
  CheckedPoints(const CheckedRows& rows, Maybe<Vector<const double>> sq_offsets,
                const CheckedSketch& sketch, const CheckedSketch& centers,
                Vector<const double> cell_radii, Vector<const double> cell_slacks)
      : rows_(rows),
        sq_offsets_(sq_offsets),
        sketch_(sketch),
        centers_(centers),
        cell_radii_(cell_radii),
        cell_slacks_(cell_slacks) {
    const std::int64_t n_cells = sketch.view().n_cells;
    require(sketch.n_points() <= rows.view().n_rows && has_shape(sq_offsets, rows.view().n_rows),
            "sketch, rows and offsets are not those of the same points");
    require(centers.view().n_coordinates == sketch.view().n_coordinates,
            "points and centres need sketches of one length");
    require(centers.view().n_cells == 1 && centers.n_points() == n_cells &&
                centers.holds_all(n_cells) && has_shape(cell_radii, n_cells) &&
                has_shape(cell_slacks, n_cells),
            "centres, radii and slacks must match the cells");
    view_ = {rows.view(),    data_or_null(sq_offsets), sketch.view(),
             centers.view(), cell_radii.data(),        cell_slacks.data()};
  }

  const Points& view() const { return view_; }

 private:
  CheckedRows rows_;
  Maybe<Vector<const double>> sq_offsets_;
  CheckedSketch sketch_, centers_;
  Vector<const double> cell_radii_, cell_slacks_;
  Points view_;
};

class CheckedQueries {
 public:
  CheckedQueries(const CheckedRows& rows, Matrix<const float> sketches,
                 Vector<const double> sq_norms, Maybe<Vector<const std::int32_t>> self,
                 Vector<const std::int64_t> order, Vector<const std::int64_t> task_offsets)
      : rows_(rows),
        sketches_(sketches),
        sq_norms_(sq_norms),
        self_(self),
        order_(order),
        task_offsets_(task_offsets) {
    const std::int64_t n = rows.view().n_rows;
    require(length(sketches) == n && has_shape(sq_norms, n) && has_shape(self, n) &&
                has_shape(order, n),
            "rows, sketches and order are not those of the same queries");
    require(is_permutation(order.data(), n) &&
                are_offsets(task_offsets.data(), length(task_offsets), n),
            "tasks must cover an order of all queries");
    view_ = {rows.view(),        sketches.data(), sq_norms.data(),
             data_or_null(self), order.data(),    task_offsets.data()};
  }

  const Queries& view() const { return view_; }
  std::int64_t n() const { return length(order_); }
  std::int64_t n_tasks() const { return length(task_offsets_) - 1; }
  std::int64_t n_coordinates() const { return length(sketches_, 1); }

 private:
  CheckedRows rows_;
  Matrix<const float> sketches_;
  Vector<const double> sq_norms_;
  Maybe<Vector<const std::int32_t>> self_;
  Vector<const std::int64_t> order_, task_offsets_;
  Queries view_;
};

SearchPlan make_plan(std::int64_t n_probes, std::int64_t n_candidates, double sketch_unit,
                     double margin, float residual_weight, bool exact) {
  require(n_probes >= 1 && n_candidates >= 1, "a search needs a probe and a candidate at least");
  return {n_probes, n_candidates, 0, sketch_unit, margin, residual_weight, exact};
}

void search(const CheckedPoints& points, const CheckedQueries& queries, SearchPlan plan,
            std::tuple<std::int64_t, std::int64_t> tasks, Matrix<std::int32_t> indices,
            Matrix<double> sq_distances, Vector<std::int64_t> evaluated, int n_jobs) {
  const auto [first, last] = tasks;
  const Points& among = points.view();
  require_alike(queries.view().rows, among.rows);
  require(queries.n_coordinates() == among.sketch.n_coordinates,
          "queries and points need sketches of one length");
  require(plan.n_probes <= among.sketch.n_cells,
          "n_probes must lie between 1 and the number of cells");
  require(first >= 0 && first <= last && last <= queries.n_tasks(), "there are no such tasks");
  plan.n_candidates = std::min(plan.n_candidates, std::max<std::int64_t>(among.rows.n_rows, 1));
  plan.n_neighbors = length(indices, 1);
  require(plan.n_neighbors >= 1 && has_shape(indices, queries.n(), plan.n_neighbors) &&
              has_shape(sq_distances, queries.n(), plan.n_neighbors) &&
              has_shape(evaluated, queries.n()),
          "answers must match the queries");
  const Answers answers{indices.data(), sq_distances.data(), evaluated.data()};
  Work work(n_jobs);
  search_cells(among, queries.view(), plan, answers, first, last - first, work.pool);
}

void distances_to_candidates(const CheckedRows& queries, const CheckedRows& points,
                             Maybe<Vector<const double>> sq_offsets,
                             Matrix<const std::int64_t> candidates, Matrix<double> out,
                             int n_jobs) {
  const std::int64_t n = queries.view().n_rows, k = length(candidates, 1);
  require_alike(queries.view(), points.view());
  require(has_shape(sq_offsets, points.view().n_rows), "there must be one offset per point");
  require(has_shape(candidates, n, k) && has_shape(out, n, k),
          "candidates and out must have one row per query");
  require(are_between(candidates.data(), n * k, std::numeric_limits<std::int64_t>::min(),
                      points.view().n_rows),
          "a candidate is out of range");
  const double* offsets = data_or_null(sq_offsets);
  Work work(n_jobs);
  candidate_distances(queries.view(), points.view(), offsets, candidates.data(), k, out.data(),
                      work.pool);
}

void distances_of_pairs(const CheckedRows& rows, Vector<const std::int64_t> starts,
                        Vector<const std::int32_t> columns, Vector<double> out, int n_jobs) {
  const std::int64_t n = rows.view().n_rows, n_pairs = length(columns);
  require(!rows.view().indptr, "rows must be dense");
  require(length(starts) == n + 1 && are_offsets(starts.data(), n + 1, n_pairs) &&
              has_shape(out, n_pairs),
          "starts must be offsets into columns and out, one more than rows");
  require(are_between(columns.data(), n_pairs, 0, n), "a column is out of range");
  for (std::int64_t i = 0; i < n; ++i)
    require(
        std::is_sorted(columns.data() + starts.data()[i], columns.data() + starts.data()[i + 1]),
        "the columns of each row must ascend");
  Work work(n_jobs);
  pair_distances(rows.view(), starts.data(), columns.data(), out.data(), work.pool);
}

void project_onto(const CheckedRows& rows, Vector<const double> center, Matrix<const double> basis,
                  Matrix<double> out, Vector<double> sq_norms, int n_jobs) {
  const std::int64_t n = rows.view().n_rows, d = rows.view().n_features, k = length(basis, 1);
  require(has_shape(center, d) && has_shape(basis, d, k),
          "center and basis must match the features of the rows");
  require(has_shape(out, n, k) && has_shape(sq_norms, n), "out and sq_norms must match the rows");
  Work work(n_jobs);
  project(rows.view(), center.data(), basis.data(), k, out.data(), sq_norms.data(), work.pool);
}

void bind_search(nb::module_& m) {
  nb::class_<CheckedSketch>(m, "Sketch")
      .def(nb::init<CheckedSketch::Panels, Matrix<const float>, Matrix<const std::int32_t>,
                    Vector<const std::int64_t>, bool>(),
           "panels"_a, "half_sq_norms"_a, "points"_a, "cell_panels"_a, "has_residual"_a);
  nb::class_<CheckedPoints>(m, "SearchPoints")
      .def(nb::init<const CheckedRows&, Maybe<Vector<const double>>, const CheckedSketch&,
                    const CheckedSketch&, Vector<const double>, Vector<const double>>(),
           "rows"_a, "sq_offsets"_a.none(), "sketch"_a, "centers"_a, "cell_radii"_a,
           "cell_slacks"_a);
  nb::class_<CheckedQueries>(m, "SearchQueries")
      .def(nb::init<const CheckedRows&, Matrix<const float>, Vector<const double>,
                    Maybe<Vector<const std::int32_t>>, Vector<const std::int64_t>,
                    Vector<const std::int64_t>>(),
           "rows"_a, "sketches"_a, "sq_norms"_a, "own"_a.none(), "order"_a, "task_offsets"_a);
  nb::class_<SearchPlan>(m, "SearchPlan")
      .def(
          "__init__",
          [](SearchPlan* plan, std::int64_t n_probes, std::int64_t n_candidates, double sketch_unit,
             double margin, float residual_weight, bool exact) {
            new (plan) SearchPlan(
                make_plan(n_probes, n_candidates, sketch_unit, margin, residual_weight, exact));
          },
          "n_probes"_a, "n_candidates"_a, "sketch_unit"_a, "margin"_a, "residual_weight"_a,
          "exact"_a);
  m.def("search_cells", &search, "points"_a, "queries"_a, "plan"_a, "tasks"_a, output("indices"),
        output("sq_distances"), output("evaluated"), "n_jobs"_a);
}

}  // namespace

void bind_neighbors(nb::module_& m) {
  nb::class_<CheckedRows>(m, "Rows")
      .def(nb::init<AnyArray>(), "values"_a)
      .def(nb::init<AnyArray, Vector<const std::int64_t>, Vector<const std::int32_t>,
                    std::int64_t>(),
           "values"_a, "indptr"_a, "indices"_a, "n_features"_a);
  bind_search(m);
  m.def("candidate_distances", &distances_to_candidates, "queries"_a, "points"_a,
        "sq_offsets"_a.none(), "candidates"_a, output("out"), "n_jobs"_a);
  m.def("pair_distances", &distances_of_pairs, "rows"_a, "starts"_a, "columns"_a, output("out"),
        "n_jobs"_a);
  m.def("project", &project_onto, "rows"_a, "center"_a, "basis"_a, output("out"),
        output("sq_norms"), "n_jobs"_a);
}

}  // namespace closeknit
