// Translates between NumPy arrays and the sums over pairs; nothing is computed here.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "bindings_grid.h"
#include "close_pairs.h"
#include "edges.h"
#include "pairs.h"
#include "placing.h"

using namespace nb::literals;
using namespace closeknit;

template <class A>
static auto data_or_null(const std::optional<A>& array) {
  return array ? array->data() : nullptr;
}

using KernelCode = std::tuple<int, double, double>;  // family, scale, power

static Kernel make_kernel(const KernelCode& code) {
  return Kernel{static_cast<Family>(std::get<0>(code)), std::get<1>(code), std::get<2>(code)};
}

template <class T, class I>
static Edges<T, I> make_edges(const Vector<const I>& indptr, const Vector<const I>& indices,
                              const Vector<const T>& weights, const Matrix<const T>& points) {
  if (indptr.shape(0) != points.shape(0) + 1 || indices.shape(0) != weights.shape(0))
    throw nb::value_error("graph and positions do not match");
  return Edges<T, I>{indptr.data(), indices.data(), weights.data(),
                     static_cast<std::int64_t>(points.shape(0)), points.data(), points.data(),
                     static_cast<int>(points.shape(1))};
}

template <class T, class I>
static void bind_edges(nb::module_& m) {
  m.def("sum_edges",
        [](Vector<const I> indptr, Vector<const I> indices, Vector<const T> weights,
           Matrix<const T> points, KernelCode kernel, bool value,
           std::optional<Matrix<double>> force, int n_jobs) {
          const auto edges = make_edges<T, I>(indptr, indices, weights, points);
          double* out = data_or_null(force);
          nb::gil_scoped_release release;
          return sum_edges(edges, make_kernel(kernel), value, out, n_jobs);
        },
        "indptr"_a, "indices"_a, "weights"_a, "points"_a, "kernel"_a, "value"_a,
        "force"_a.none(), "n_jobs"_a);
  m.def("edge_weights",
        [](Vector<const I> indptr, Vector<const I> indices, Vector<const T> weights,
           Matrix<const T> points, KernelCode kernel, Vector<T> out, int n_jobs) {
          const auto edges = make_edges<T, I>(indptr, indices, weights, points);
          nb::gil_scoped_release release;
          edge_weights(edges, make_kernel(kernel), out.data(), n_jobs);
        },
        "indptr"_a, "indices"_a, "weights"_a, "points"_a, "kernel"_a, "out"_a, "n_jobs"_a);
}

template <class T, class I>
static void bind_place(nb::module_& m) {
  m.def("place",
        [](Vector<const I> indptr, Vector<const I> indices, Vector<const double> weights,
           Matrix<const double> points, KernelCode kernel, double repulsion, int max_iter, double tol,
           Vector<const double> origin, Vector<const std::int64_t> size, double spacing, int degree,
           nb::ndarray<const T, nb::device::cpu> nodes, Matrix<double> positions, int n_jobs) {
          const Placing<I> problem{indptr.data(), indices.data(), weights.data(),
                                   static_cast<std::int64_t>(positions.shape(0)), points.data(),
                                   static_cast<std::int64_t>(points.shape(0)),
                                   static_cast<int>(points.shape(1)), repulsion, max_iter, tol};
          const bool given = nodes.size() > 0;
          Field<T> field{};
          if (given) {
            field.grid = make_grid(origin, size, spacing, degree);
            field.potential = make_potential<T>(field.grid, nodes, nullptr);
          }
          nb::gil_scoped_release release;
          place(problem, make_kernel(kernel), given ? &field : nullptr, positions.data(), n_jobs);
        },
        "indptr"_a, "indices"_a, "weights"_a, "points"_a, "kernel"_a, "repulsion"_a, "max_iter"_a,
        "tol"_a, "origin"_a, "size"_a, "spacing"_a, "degree"_a, "nodes"_a, "positions"_a,
        "n_jobs"_a);
}

static Cells make_cells(const Vector<const double>& low, const Vector<const std::int64_t>& size,
                        double side, const Matrix<const double>& points) {
  Cells cells{static_cast<int>(points.shape(1)), {0.0, 0.0, 0.0}, side, {1, 1, 1}};
  if (cells.d < 1 || cells.d > MAX_DIMENSIONS || low.shape(0) != points.shape(1) ||
      size.shape(0) != points.shape(1) || !(side > 0.0))
    throw nb::value_error("no such cells");
  for (int c = 0; c < cells.d; ++c) {
    cells.low[c] = low(c);
    cells.size[c] = size(c);
  }
  return cells;
}

static void bind_close_pairs(nb::module_& m) {
  m.def("crowding",
        [](Vector<const double> low, Vector<const std::int64_t> size, double side,
           Matrix<const double> points, int n_jobs) {
          const Cells cells = make_cells(low, size, side, points);
          nb::gil_scoped_release release;
          return crowding(cells, points.data(), static_cast<std::int64_t>(points.shape(0)), n_jobs);
        },
        "low"_a, "size"_a, "side"_a, "points"_a, "n_jobs"_a);
  m.def("add_close_pairs",
        [](Vector<const double> low, Vector<const std::int64_t> size, double radius,
           KernelCode kernel, Vector<const double> coefficients, Matrix<const double> points,
           std::optional<Vector<const double>> weights, bool single, Vector<double> value,
           std::optional<Matrix<double>> gradient, int n_jobs) {
          const Cells cells = make_cells(low, size, radius, points);
          Taper taper{make_kernel(kernel), radius, {}};
          if (taper.kernel.family != Family::STUDENT ||
              coefficients.shape(0) != TAPER_ORDER + 1)
            throw nb::value_error("no such taper");
          std::copy_n(coefficients.data(), TAPER_ORDER + 1, taper.coefficients);
          const auto n = static_cast<std::int64_t>(points.shape(0));
          const auto add = single ? add_close_pairs<float> : add_close_pairs<double>;
          nb::gil_scoped_release release;
          add(cells, taper, points.data(), n, data_or_null(weights), value.data(),
              data_or_null(gradient), n_jobs);
        },
        "low"_a, "size"_a, "radius"_a, "kernel"_a, "coefficients"_a, "points"_a,
        "weights"_a.none(), "single"_a, "value"_a, "gradient"_a.none(), "n_jobs"_a);
}

void bind_pairs(nb::module_& m) {
  bind_close_pairs(m);
  m.def("sum_all_pairs",
        [](Matrix<const double> queries, Matrix<const double> points, bool same, KernelCode kernel,
           int want, std::optional<Vector<const double>> point_weights,
           std::optional<Matrix<const double>> pair_weights,
           std::optional<Matrix<const double>> vectors, std::optional<Vector<double>> value,
           std::optional<Vector<double>> slope, std::optional<Matrix<double>> force,
           std::optional<Matrix<double>> curvature, int n_jobs) {
          const AllPairs pairs{queries.data(), static_cast<std::int64_t>(queries.shape(0)),
                               points.data(), static_cast<std::int64_t>(points.shape(0)),
                               static_cast<int>(points.shape(1)), same,
                               data_or_null(point_weights), data_or_null(pair_weights),
                               data_or_null(vectors)};
          const PairSums out{data_or_null(value), data_or_null(slope), data_or_null(force),
                             data_or_null(curvature)};
          nb::gil_scoped_release release;
          sum_all_pairs(pairs, make_kernel(kernel), static_cast<Want>(want), out, n_jobs);
        },
        "queries"_a, "points"_a, "same"_a, "kernel"_a, "want"_a, "point_weights"_a.none(),
        "pair_weights"_a.none(), "vectors"_a.none(), "value"_a.none(), "slope"_a.none(),
        "force"_a.none(), "curvature"_a.none(), "n_jobs"_a);
  bind_edges<float, std::int32_t>(m);
  bind_edges<float, std::int64_t>(m);
  bind_edges<double, std::int32_t>(m);
  bind_edges<double, std::int64_t>(m);
  bind_place<float, std::int32_t>(m);
  bind_place<float, std::int64_t>(m);
  bind_place<double, std::int32_t>(m);
  bind_place<double, std::int64_t>(m);
}
