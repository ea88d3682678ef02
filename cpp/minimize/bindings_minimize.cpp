// Gradient descent with momentum.
#include "common/bindings_common.h"
#include "minimize/momentum.h"

namespace closeknit {
namespace {

void step(double rate, double momentum, double max_step, Matrix<const double> gradient,
          Matrix<double> velocity, Maybe<Matrix<double>> gains, int n_jobs) {
  const std::int64_t n = length(gradient), d = length(gradient, 1);
  require(has_shape(velocity, n, d) && has_shape(gains, n, d),
          "velocity and gains must be shaped as the gradient");
  const MomentumRule rule{rate, momentum, max_step, gains.has_value()};
  double* gain = data_or_null(gains);
  Work work(n_jobs);
  momentum_step(rule, gradient.data(), n, static_cast<int>(d), velocity.data(), gain, work.pool);
}

}  // namespace

void bind_minimize(nb::module_& m) {
  m.def("momentum_step", &step, "rate"_a, "momentum"_a, "max_step"_a, "gradient"_a,
        output("velocity"), output("gains").none(), "n_jobs"_a);
}

}  // namespace closeknit
