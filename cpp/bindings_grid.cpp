// Translates between NumPy arrays, the grid and the momentum; nothing is computed here.
#include <nanobind/stl/optional.h>

#include <optional>

#include "bindings_grid.h"
#include "momentum.h"

using namespace nb::literals;
using namespace closeknit;

template <class T>
using Nodes = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

// Refuses points whose splines would leave the grid.
static void check_inside(const Grid& grid, const Matrix<const double>& points) {
  if (static_cast<int>(points.shape(1)) != grid.d) throw nb::value_error("dimensions differ");
  const int below = (grid.degree - 1) / 2, above = (grid.degree + 1) / 2;
  const double* x = points.data();
  for (int c = 0; c < grid.d; ++c) {
    const double low = grid.origin[c] + below * grid.spacing;
    const int beyond = c + 1 < grid.d ? above : lanes(grid.degree) - 1 - below;
    const double high = grid.origin[c] + (grid.size[c] - 1 - beyond) * grid.spacing;
    for (std::size_t m = 0; m < points.shape(0); ++m) {
      const double at = x[m * grid.d + c];
      if (!(at >= low && at <= high)) throw nb::value_error("a point lies outside the grid");
    }
  }
}

template <class T>
static void bind_nodes(nb::module_& m) {
  m.def("spread",
        [](Vector<const double> origin, Vector<const std::int64_t> size, double spacing, int degree,
           Matrix<const double> points, std::optional<Vector<const double>> weights,
           Vector<std::int64_t> order, Vector<std::int64_t> starts, Nodes<T> nodes, int n_jobs) {
          const Grid grid = make_grid(origin, size, spacing, degree);
          check_inside(grid, points);
          const Strips strips{order.data(), starts.data()};
          const auto n = static_cast<std::int64_t>(points.shape(0));
          nb::gil_scoped_release release;
          sort_into_strips(grid, points.data(), n, strips, n_jobs);
          spread(grid, points.data(), weights ? weights->data() : nullptr, strips, nodes.data(),
                 n_jobs);
        },
        "origin"_a, "size"_a, "spacing"_a, "degree"_a, "points"_a, "weights"_a.none(), "order"_a,
        "starts"_a, "nodes"_a, "n_jobs"_a);
  m.def("gather",
        [](Vector<const double> origin, Vector<const std::int64_t> size, double spacing, int degree,
           nb::ndarray<const T, nb::device::cpu> nodes, std::optional<Vector<const T>> own,
           Matrix<const double> points, std::optional<Vector<const double>> weights,
           Vector<std::int64_t> order, Vector<std::int64_t> starts, Vector<double> value,
           std::optional<Matrix<double>> gradient, int n_jobs) {
          const Grid grid = make_grid(origin, size, spacing, degree);
          const auto potential = make_potential<T>(grid, nodes, own ? own->data() : nullptr);
          const Strips strips{order.data(), starts.data()};
          nb::gil_scoped_release release;
          gather(grid, potential, points.data(), weights ? weights->data() : nullptr, strips,
                 value.data(), gradient ? gradient->data() : nullptr, n_jobs);
        },
        "origin"_a, "size"_a, "spacing"_a, "degree"_a, "nodes"_a, "own"_a.none(), "points"_a,
        "weights"_a.none(), "order"_a, "starts"_a, "value"_a, "gradient"_a.none(), "n_jobs"_a);
}

void bind_grid(nb::module_& m) {
  m.def("bounding_box",
        [](Matrix<const double> points, Vector<double> low, Vector<double> high, int n_jobs) {
          if (low.shape(0) != points.shape(1) || high.shape(0) != points.shape(1))
            throw nb::value_error("dimensions differ");
          nb::gil_scoped_release release;
          bounding_box(points.data(), static_cast<std::int64_t>(points.shape(0)),
                       static_cast<int>(points.shape(1)), low.data(), high.data(), n_jobs);
        },
        "points"_a, "low"_a, "high"_a, "n_jobs"_a);
  m.def("n_strips", [](Vector<const double> origin, Vector<const std::int64_t> size, double spacing,
                       int degree) { return n_strips(make_grid(origin, size, spacing, degree)); },
        "origin"_a, "size"_a, "spacing"_a, "degree"_a);
  m.def("momentum_step",
        [](double rate, double momentum, double max_step, Matrix<const double> gradient,
           Matrix<double> velocity, std::optional<Matrix<double>> gains, int n_jobs) {
          const MomentumRule rule{rate, momentum, max_step, gains.has_value()};
          double* gain = gains ? gains->data() : nullptr;
          nb::gil_scoped_release release;
          momentum_step(rule, gradient.data(), static_cast<std::int64_t>(gradient.shape(0)),
                        static_cast<int>(gradient.shape(1)), velocity.data(), gain, n_jobs);
        },
        "rate"_a, "momentum"_a, "max_step"_a, "gradient"_a, "velocity"_a, "gains"_a.none(),
        "n_jobs"_a);
  bind_nodes<float>(m);
  bind_nodes<double>(m);
}
