// Sums over all pairs of points, and over close ones.
#include <algorithm>
#include <cmath>

#include "common/bindings_common.h"
#include "repulsion/all_pairs.h"
#include "repulsion/close_pairs.h"

namespace closeknit {

void bind_grid(nb::module_& m);

namespace {

// Cells are numbered by 32 bits while points are sorted.
constexpr std::int64_t MOST_CELLS = std::int64_t{1} << 31;

Cells make_cells(const Vector<const double>& low, const Vector<const std::int64_t>& size,
                 double side) {
  const std::int64_t d = length(low);
  require(d >= 1 && d <= MAX_DIMENSIONS && length(size) == d && side > 0.0 && std::isfinite(side),
          "there are no such cells");
  Cells cells{static_cast<int>(d), {0.0, 0.0, 0.0}, side, {1, 1, 1}};
  std::int64_t n_cells = 1;
  for (int c = 0; c < cells.d; ++c) {
    cells.low[c] = low(static_cast<std::size_t>(c));
    cells.size[c] = size(static_cast<std::size_t>(c));
    require(cells.size[c] >= 1 && cells.size[c] <= MOST_CELLS / n_cells, "there are no such cells");
    n_cells *= cells.size[c];
  }
  return cells;
}

void require_points(const Cells& cells, const Matrix<const double>& points) {
  require(length(points, 1) == cells.d, "points and cells differ in their dimensions");
}

double crowding_of(const Cells& cells, Matrix<const double> points, int n_jobs) {
  require_points(cells, points);
  require(length(points) >= 1, "there must be a point");
  Work work(n_jobs);
  return crowding(cells, points.data(), length(points), work.pool);
}

// A kernel and the coefficients of its polynomial.
using TaperCode = std::tuple<KernelCode, Vector<const double>>;

void add_close_pairs_of(const Cells& cells, const TaperCode& code, Matrix<const double> points,
                        Maybe<Vector<const double>> weights, bool single, Vector<double> value,
                        Maybe<Matrix<double>> gradient, int n_jobs) {
  const std::int64_t n = length(points);
  const auto& [kernel, coefficients] = code;
  require_points(cells, points);
  Taper taper{make_kernel(kernel), cells.side, {}};
  require(taper.kernel.family == Family::STUDENT && has_shape(coefficients, TAPER_ORDER + 1),
          "there is no such taper");
  require(has_shape(weights, n) && has_shape(value, n) && has_shape(gradient, n, cells.d),
          "weights, value and gradient must match the points");
  std::copy_n(coefficients.data(), TAPER_ORDER + 1, taper.coefficients);
  const auto add = single ? add_close_pairs<float> : add_close_pairs<double>;
  const double* w = data_or_null(weights);
  double* slopes = data_or_null(gradient);
  Work work(n_jobs);
  add(cells, taper, points.data(), n, w, value.data(), slopes, work.pool);
}

// Queries and points, and the weights of their pairs; without queries the points are their own.
class CheckedPairs {
 public:
  CheckedPairs(Matrix<const double> points, Maybe<Matrix<const double>> queries,
               Maybe<Vector<const double>> point_weights, Maybe<Matrix<const double>> pair_weights,
               Maybe<Matrix<const double>> vectors)
      : points_(points),
        queries_(queries),
        point_weights_(point_weights),
        pair_weights_(pair_weights),
        vectors_(vectors) {
    const std::int64_t n = length(points), d = length(points, 1);
    require(d >= 1 && has_shape(queries, n_queries(), d),
            "queries and points must have the same number of components");
    require(has_shape(point_weights, n) && has_shape(pair_weights, n_queries(), n) &&
                has_shape(vectors, n, d),
            "weights and vectors must match the points");
  }

  std::int64_t n_queries() const { return queries_ ? length(*queries_) : length(points_); }
  std::int64_t d() const { return length(points_, 1); }
  bool has_vectors() const { return vectors_.has_value(); }

  AllPairs view() const {
    return {queries_ ? queries_->data() : points_.data(),
            n_queries(),
            points_.data(),
            length(points_),
            static_cast<int>(d()),
            !queries_,
            data_or_null(point_weights_),
            data_or_null(pair_weights_),
            data_or_null(vectors_)};
  }

 private:
  Matrix<const double> points_;
  Maybe<Matrix<const double>> queries_;
  Maybe<Vector<const double>> point_weights_;
  Maybe<Matrix<const double>> pair_weights_, vectors_;
};

void sum_pairs(const CheckedPairs& pairs, const KernelCode& code, Maybe<Vector<double>> value,
               Maybe<Vector<double>> slope, Maybe<Matrix<double>> force,
               Maybe<Matrix<double>> curvature, int n_jobs) {
  const std::int64_t n = pairs.n_queries(), d = pairs.d();
  const Kernel kernel = make_kernel(code);
  require(has_shape(value, n) && has_shape(slope, n) && has_shape(force, n, d) &&
              has_shape(curvature, n, d),
          "outputs must match the queries");
  const bool forces = slope || force;
  require(!pairs.has_vectors() || (curvature && !forces),
          "with vectors there is a product to be had, and nothing else");
  const Want want = pairs.has_vectors() ? Want::PRODUCT
                    : curvature         ? Want::CURVATURE
                    : forces            ? Want::FORCE
                                        : Want::VALUE;
  const PairSums out{data_or_null(value), data_or_null(slope), data_or_null(force),
                     data_or_null(curvature)};
  Work work(n_jobs);
  sum_all_pairs(pairs.view(), kernel, want, out, work.pool);
}

}  // namespace

void bind_repulsion(nb::module_& m) {
  bind_grid(m);
  nb::class_<Cells>(m, "Cells")
      .def(
          "__init__",
          [](Cells* cells, Vector<const double> low, Vector<const std::int64_t> size, double side) {
            new (cells) Cells(make_cells(low, size, side));
          },
          "low"_a, "size"_a, "side"_a);
  m.def("crowding", &crowding_of, "cells"_a, "points"_a, "n_jobs"_a);
  m.def("add_close_pairs", &add_close_pairs_of, "cells"_a, "taper"_a, "points"_a,
        "weights"_a.none(), "single"_a, output("value"), output("gradient").none(), "n_jobs"_a);
  nb::class_<CheckedPairs>(m, "Pairs")
      .def(nb::init<Matrix<const double>, Maybe<Matrix<const double>>, Maybe<Vector<const double>>,
                    Maybe<Matrix<const double>>, Maybe<Matrix<const double>>>(),
           "points"_a, "queries"_a.none(), "point_weights"_a.none(), "pair_weights"_a.none(),
           "vectors"_a.none());
  m.def("sum_all_pairs", &sum_pairs, "pairs"_a, "kernel"_a, output("value").none(),
        output("slope").none(), output("force").none(), output("curvature").none(), "n_jobs"_a);
}

}  // namespace closeknit
