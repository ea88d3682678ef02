// Bandwidths and entropic affinities.
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "affinities/entropic.h"
#include "affinities/start_model.h"
#include "common/bindings_common.h"

namespace closeknit {
namespace {

// A start model comes and goes as its ranks, weights and intercept. It comes as lists: nanobind
// makes vectors where nothing can be thrown, so that a lack of memory would end the process.
using ModelCode = std::tuple<std::vector<std::int64_t>, std::vector<double>, double>;
using GivenModel = std::tuple<nb::list, nb::list, double>;

template <class T>
T entry(const nb::list& list, std::size_t i) {
  T value{};
  if (!nb::try_cast<T>(list[i], value))
    throw nb::type_error("a start model holds whole ranks and numbers as weights");
  return value;
}

StartModel make_model(const GivenModel& code, std::int64_t k) {
  const auto& [ranks, weights, intercept] = code;
  const std::size_t n = ranks.size();
  require(n == weights.size() && n <= MAX_FEATURES,
          "a start model has one weight per rank, and at most eight");
  StartModel model;
  model.n_features = static_cast<int>(n);
  model.intercept = intercept;
  for (std::size_t i = 0; i < n; ++i) {
    model.ranks[i] = entry<std::int64_t>(ranks, i);
    model.weights[i] = entry<double>(weights, i);
  }
  require(are_between(model.ranks, model.n_features, 1, k),
          "the start model was fitted for longer rows");
  return model;
}

// Rows of squared distances, of which each has at least one.
template <class D>
void require_rows(const Matrix<const D>& sq_distances) {
  require(length(sq_distances, 1) >= 1, "rows of squared distances must not be empty");
}

bool has_perplexities(const Vector<const double>& perplexity, std::int64_t n) {
  return has_shape(perplexity, 1) || has_shape(perplexity, n);
}

// Squared distances, what is wanted of them, and where the answers go.
class EntropicProblem {
 public:
  EntropicProblem(AnyArray sq_distances, Vector<const double> perplexity, double tol,
                  bool allow_missing, Matrix<double> affinities, Vector<double> betas,
                  Vector<double> sigmas, Vector<double> slopes, Vector<std::int32_t> evaluations,
                  Vector<std::uint8_t> status)
      : sq_distances_(sq_distances),
        perplexity_(perplexity),
        tol_(tol),
        allow_missing_(allow_missing),
        affinities_(affinities),
        betas_(betas),
        sigmas_(sigmas),
        slopes_(slopes),
        evaluations_(evaluations),
        status_(status) {
    if (!holds<float>(sq_distances) && !holds<double>(sq_distances))
      throw nb::type_error("squared distances must be float32 or float64");
    require(sq_distances.ndim() == 2 && k() >= 1,
            "squared distances must have rows, which must not be empty");
    require(has_shape(affinities, n(), k()) && has_shape(betas, n()) && has_shape(sigmas, n()) &&
                has_shape(slopes, n()) && has_shape(evaluations, n()) && has_shape(status, n()) &&
                has_perplexities(perplexity, n()),
            "outputs and perplexities must match the rows of squared distances");
  }

  std::int64_t n() const { return length(sq_distances_); }
  std::int64_t k() const { return length(sq_distances_, 1); }

  // A row that for whatever reason is left out must not look as if it had been solved.
  void clear() const {
    constexpr double NAN_ = std::numeric_limits<double>::quiet_NaN();
    std::fill_n(betas_.data(), n(), NAN_);
    std::fill_n(sigmas_.data(), n(), NAN_);
    std::fill_n(slopes_.data(), n(), NAN_);
    std::fill_n(evaluations_.data(), n(), 0);
    std::fill_n(status_.data(), n(), static_cast<std::uint8_t>(INVALID));
  }

  template <class Body>
  void visit(const Body& body) const {
    if (holds<double>(sq_distances_))
      body(view<double>());
    else
      body(view<float>());
  }

 private:
  template <class D>
  Problem<D> view() const {
    return {static_cast<const D*>(sq_distances_.data()),
            n(),
            k(),
            perplexity_.data(),
            has_shape(perplexity_, 1),
            tol_,
            allow_missing_,
            affinities_.data(),
            betas_.data(),
            sigmas_.data(),
            slopes_.data(),
            evaluations_.data(),
            status_.data()};
  }

  AnyArray sq_distances_;
  Vector<const double> perplexity_;
  double tol_;
  bool allow_missing_;
  Matrix<double> affinities_;
  Vector<double> betas_, sigmas_, slopes_;
  Vector<std::int32_t> evaluations_;
  Vector<std::uint8_t> status_;
};

// In which order rows are solved, and from where each starts.
class CheckedOrder {
 public:
  CheckedOrder(Vector<const std::int64_t> sequence, Vector<const std::int64_t> parent,
               Vector<const std::int64_t> runs, Vector<const std::int64_t> waves,
               Maybe<Vector<const double>> starts)
      : sequence_(sequence), parent_(parent), runs_(runs), waves_(waves), starts_(starts) {
    require(is_permutation(sequence.data(), n()), "the order's sequence must hold each row once");
    require(has_shape(parent, n()) && has_shape(starts, n()),
            "the order must have one parent, and one start if any, per row of its sequence");
    require(are_offsets(runs.data(), length(runs), n()) &&
                are_offsets(waves.data(), length(waves), length(runs) - 1),
            "the order's runs and waves must ascend from 0 and cover all rows");
    require(
        are_between(parent.data(), n(), -1, n()) && parents_come_first(),
        "the order's parents must be -1, or rows earlier in the same run or in an earlier wave");
  }

  std::int64_t n() const { return length(sequence_); }

  RowOrder view() const {
    return {sequence_.data(), parent_.data(), data_or_null(starts_),
            runs_.data(),     waves_.data(),  length(waves_) - 1};
  }

 private:
  bool parents_come_first() const {
    std::vector<std::int64_t> run_of(static_cast<std::size_t>(n()), -1);
    for (std::int64_t wave = 0; wave + 1 < length(waves_); ++wave)
      for (std::int64_t run = waves_(wave); run < waves_(wave + 1); ++run)
        for (std::int64_t i = runs_(run); i < runs_(run + 1); ++i) {
          const std::int64_t parent = parent_(i);
          const std::int64_t its_run = parent < 0 ? run : run_of[static_cast<std::size_t>(parent)];
          if (its_run < 0 || (its_run != run && its_run >= waves_(wave))) return false;
          run_of[static_cast<std::size_t>(sequence_(i))] = run;
        }
    return true;
  }

  Vector<const std::int64_t> sequence_, parent_, runs_, waves_;
  Maybe<Vector<const double>> starts_;
};

void solve_by_model(const EntropicProblem& problem, const GivenModel& code, int n_jobs) {
  const StartModel model = make_model(code, problem.k());
  Work work(n_jobs);
  problem.clear();
  problem.visit([&](const auto& rows) { solve_from_model(rows, model, work.pool); });
}

void solve_by_order(const EntropicProblem& problem, int method, int max_inner,
                    const CheckedOrder& order, int n_jobs) {
  require(
      method >= static_cast<int>(Method::BISECTION) && method <= static_cast<int>(Method::EULER),
      "there is no such method");
  require(order.n() == problem.n(), "the order must lay out as many rows as there are");
  Work work(n_jobs);
  problem.clear();
  problem.visit([&](const auto& rows) {
    solve_in_order(rows, static_cast<Method>(method), max_inner, order.view(), work.pool);
  });
}

template <class D>
void bind_rows(nb::module_& m) {
  m.def(
      "fit_start",
      [](Matrix<const D> d, double perplexity, std::int64_t n_fit, int n_jobs) {
        require_rows(d);
        require(n_fit >= 0, "n_fit must not be negative");
        Problem<D> problem{};
        problem.sq_distances = d.data();
        problem.n = length(d);
        problem.k = length(d, 1);
        problem.perplexity = &perplexity;
        problem.one_perplexity = true;
        StartModel model;
        {
          Work work(n_jobs);
          model = fit_start(problem, n_fit, work.pool);
        }
        return ModelCode({model.ranks, model.ranks + model.n_features},
                         {model.weights, model.weights + model.n_features}, model.intercept);
      },
      "sq_distances"_a, "perplexity"_a, "n_fit"_a, "n_jobs"_a);
  m.def(
      "affinities_at",
      [](Matrix<const D> d, Vector<const double> betas, bool sorted, Matrix<double> affinities,
         Maybe<Vector<double>> perplexities, int n_jobs) {
        require_rows(d);
        const std::int64_t n = length(d), k = length(d, 1);
        require(has_shape(betas, n) && has_shape(affinities, n, k) && has_shape(perplexities, n),
                "betas and outputs must match the rows of squared distances");
        double* out = data_or_null(perplexities);
        Work work(n_jobs);
        affinities_at(d.data(), n, k, betas.data(), sorted, affinities.data(), out, work.pool);
      },
      "sq_distances"_a, "betas"_a, "sorted"_a, output("affinities"), output("perplexities").none(),
      "n_jobs"_a);
}

void entropies(Matrix<const double> d, Vector<const double> log_betas, Matrix<double> out,
               int n_jobs) {
  require_rows(d);
  const std::int64_t n = length(d), k = length(d, 1);
  require(has_shape(log_betas, n) && has_shape(out, n, 4),
          "log_betas and out must match the rows of squared distances");
  Work work(n_jobs);
  entropy_at(d.data(), n, k, log_betas.data(), out.data(), work.pool);
}

void bounds(Matrix<const double> d, Vector<const double> perplexity, bool sharp,
            Vector<double> lower, Vector<double> upper, int n_jobs) {
  require_rows(d);
  const std::int64_t n = length(d), k = length(d, 1);
  require(has_perplexities(perplexity, n) && has_shape(lower, n) && has_shape(upper, n),
          "perplexities and bounds must match the rows of squared distances");
  Work work(n_jobs);
  bounds_of_rows(d.data(), n, k, perplexity.data(), has_shape(perplexity, 1), sharp, lower.data(),
                 upper.data(), work.pool);
}

}  // namespace

void bind_affinities(nb::module_& m) {
  nb::class_<EntropicProblem>(m, "EntropicProblem")
      .def(nb::init<AnyArray, Vector<const double>, double, bool, Matrix<double>, Vector<double>,
                    Vector<double>, Vector<double>, Vector<std::int32_t>, Vector<std::uint8_t>>(),
           "sq_distances"_a, "perplexity"_a, "tol"_a, "allow_missing"_a, output("affinities"),
           output("betas"), output("sigmas"), output("slopes"), output("evaluations"),
           output("status"));
  nb::class_<CheckedOrder>(m, "RowOrder")
      .def(nb::init<Vector<const std::int64_t>, Vector<const std::int64_t>,
                    Vector<const std::int64_t>, Vector<const std::int64_t>,
                    Maybe<Vector<const double>>>(),
           "sequence"_a, "parent"_a, "runs"_a, "waves"_a, "starts"_a.none());
  m.def("solve_from_model", &solve_by_model, "problem"_a, "model"_a, "n_jobs"_a);
  m.def("solve_in_order", &solve_by_order, "problem"_a, "method"_a, "max_inner"_a, "order"_a,
        "n_jobs"_a);
  bind_rows<double>(m);
  bind_rows<float>(m);
  m.def("entropy_at", &entropies, "sq_distances"_a, "log_betas"_a, output("out"), "n_jobs"_a);
  m.def("bounds_of_rows", &bounds, "sq_distances"_a, "perplexity"_a, "sharp"_a, output("lower"),
        output("upper"), "n_jobs"_a);
}

}  // namespace closeknit
