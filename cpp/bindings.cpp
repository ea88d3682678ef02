// Translates between NumPy arrays and the compiled core; nothing is computed here.
//
// Outputs are allocated by the caller, because NumPy asks for huge pages and the page faults of a
// plain allocation would cost as much as a pass over the data.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "bounds.h"
#include "dispatch.h"
#include "entropic.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace closeknit;

template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

struct Outputs {
  Matrix<double> affinities;
  Vector<double> betas, sigmas;
  Vector<std::int32_t> evaluations;
  Vector<std::uint8_t> status;
};

template <class D>
static Problem<D> make_problem(const Matrix<const D>& d, const Vector<const double>& perplexity,
                               double tol, bool allow_missing, const Outputs& out) {
  const std::size_t n = d.shape(0);
  if (out.affinities.shape(0) != n || out.affinities.shape(1) != d.shape(1) ||
      out.betas.shape(0) != n || out.sigmas.shape(0) != n || out.evaluations.shape(0) != n ||
      out.status.shape(0) != n || (perplexity.shape(0) != 1 && perplexity.shape(0) != n))
    throw nb::value_error("outputs and perplexities must match the rows of sq_distances");
  return Problem<D>{d.data(), static_cast<std::int64_t>(n), static_cast<std::int64_t>(d.shape(1)),
                    perplexity.data(), perplexity.shape(0) == 1, tol, allow_missing, out.affinities.data(),
                    out.betas.data(), out.sigmas.data(), out.evaluations.data(), out.status.data()};
}

static StartModel make_model(const std::vector<std::int64_t>& ranks,
                             const std::vector<double>& weights, double intercept, std::size_t k) {
  if (ranks.size() != weights.size() || ranks.size() > MAX_FEATURES)
    throw nb::value_error("a start model has one weight per rank, and at most eight");
  StartModel model;
  model.n_features = static_cast<int>(ranks.size());
  for (std::size_t f = 0; f < ranks.size(); ++f) {
    if (ranks[f] < 1 || ranks[f] >= static_cast<std::int64_t>(k))
      throw nb::value_error("the start model was fitted for longer rows");
    model.ranks[f] = ranks[f];
    model.weights[f] = weights[f];
  }
  model.intercept = intercept;
  return model;
}

template <class D>
static void bind_entropic(nb::module_& m) {
  m.def("fit_start",
        [](Matrix<const D> d, double perplexity, std::int64_t n_fit, int n_jobs) {
          Problem<D> problem{};
          problem.sq_distances = d.data();
          problem.n = static_cast<std::int64_t>(d.shape(0));
          problem.k = static_cast<std::int64_t>(d.shape(1));
          problem.perplexity = &perplexity;
          problem.one_perplexity = true;
          StartModel model;
          {
            nb::gil_scoped_release release;
            model = fit_start(problem, n_fit, n_jobs);
          }
          return std::make_tuple(
              std::vector<std::int64_t>(model.ranks, model.ranks + model.n_features),
              std::vector<double>(model.weights, model.weights + model.n_features),
              model.intercept);
        },
        "sq_distances"_a, "perplexity"_a, "n_fit"_a, "n_jobs"_a);

  m.def("solve_from_model",
        [](Matrix<const D> d, Vector<const double> perplexity, double tol, bool allow_missing,
           const std::vector<std::int64_t>& ranks, const std::vector<double>& weights,
           double intercept, Matrix<double> affinities, Vector<double> betas,
           Vector<double> sigmas, Vector<std::int32_t> evaluations, Vector<std::uint8_t> status,
           int n_jobs) {
          const auto problem =
              make_problem(d, perplexity, tol, allow_missing, {affinities, betas, sigmas, evaluations, status});
          const auto model = make_model(ranks, weights, intercept, d.shape(1));
          nb::gil_scoped_release release;
          solve_from_model(problem, model, n_jobs);
        },
        "sq_distances"_a, "perplexity"_a, "tol"_a, "allow_missing"_a, "ranks"_a, "weights"_a, "intercept"_a,
        "affinities"_a, "betas"_a, "sigmas"_a, "evaluations"_a, "status"_a, "n_jobs"_a);

  m.def("solve_in_order",
        [](Matrix<const D> d, Vector<const double> perplexity, double tol, bool allow_missing,
           int method, int max_inner, Vector<const std::int64_t> sequence, Vector<const std::int64_t> parent,
           Vector<const std::int64_t> runs, Vector<const std::int64_t> waves,
           std::optional<Vector<const double>> starts,
           Matrix<double> affinities, Vector<double> betas, Vector<double> sigmas,
           Vector<std::int32_t> evaluations, Vector<std::uint8_t> status, int n_jobs) {
          const auto problem =
              make_problem(d, perplexity, tol, allow_missing, {affinities, betas, sigmas, evaluations, status});
          const Order order{sequence.data(), parent.data(), starts ? starts->data() : nullptr,
                            runs.data(), waves.data(),
                            static_cast<std::int64_t>(waves.shape(0)) - 1};
          nb::gil_scoped_release release;
          solve_in_order(problem, static_cast<Method>(method), max_inner, order, n_jobs);
        },
        "sq_distances"_a, "perplexity"_a, "tol"_a, "allow_missing"_a, "method"_a, "max_inner"_a, "sequence"_a,
        "parent"_a, "runs"_a, "waves"_a, "starts"_a.none(), "affinities"_a, "betas"_a, "sigmas"_a, "evaluations"_a,
        "status"_a, "n_jobs"_a);

  m.def("affinities_at",
        [](Matrix<const D> d, Vector<const double> betas, bool sorted, Matrix<double> affinities,
           std::optional<Vector<double>> perplexities, int n_jobs) {
          const auto n = static_cast<std::int64_t>(d.shape(0));
          const auto k = static_cast<std::int64_t>(d.shape(1));
          double* out = perplexities ? perplexities->data() : nullptr;
          nb::gil_scoped_release release;
          affinities_at(d.data(), n, k, betas.data(), sorted, affinities.data(), out, n_jobs);
        },
        "sq_distances"_a, "betas"_a, "sorted"_a, "affinities"_a, "perplexities"_a.none(), "n_jobs"_a);
}

void bind_linear(nb::module_& m);
void bind_neighbors(nb::module_& m);
void bind_pairs(nb::module_& m);
void bind_grid(nb::module_& m);
void bind_graphs(nb::module_& m);

NB_MODULE(_core, m) {
  bind_entropic<double>(m);
  bind_entropic<float>(m);

  m.def("entropy_at",
        [](Matrix<const double> d, Vector<const double> log_betas, Matrix<double> out, int n_jobs) {
          const auto n = static_cast<std::int64_t>(d.shape(0));
          const auto k = static_cast<std::int64_t>(d.shape(1));
          nb::gil_scoped_release release;
          entropy_at(d.data(), n, k, log_betas.data(), out.data(), n_jobs);
        },
        "sq_distances"_a, "log_betas"_a, "out"_a, "n_jobs"_a);

  m.def("bounds_of_rows",
        [](Matrix<const double> d, Vector<const double> perplexity, bool sharp,
           Vector<double> lower, Vector<double> upper, int n_jobs) {
          const auto n = static_cast<std::int64_t>(d.shape(0));
          const auto k = static_cast<std::int64_t>(d.shape(1));
          nb::gil_scoped_release release;
          bounds_of_rows(d.data(), n, k, perplexity.data(), perplexity.shape(0) == 1, sharp,
                         lower.data(), upper.data(), n_jobs);
        },
        "sq_distances"_a, "perplexity"_a, "sharp"_a, "lower"_a, "upper"_a, "n_jobs"_a);

  m.def("paper_p1", &paper_p1, "n"_a, "perplexity"_a);
  m.def("two_level_root", &two_level_root, "n"_a, "perplexity"_a, "m"_a);
  m.def("sharp_lower_constant", &sharp_lower_constant, "n"_a, "perplexity"_a);
  m.def("simd", [] { return has_avx2() ? "avx2" : "baseline"; });

  bind_linear(m);
  bind_neighbors(m);
  bind_pairs(m);
  bind_grid(m);
  bind_graphs(m);
}
