// Gradient descent with momentum.
#include "common/bindings_common.h"
#include "minimize/momentum.h"

namespace closeknit {
namespace {

using Rule = std::tuple<double, double, double>;
using Gain = std::tuple<double, double>;

void step(Rule rule, Gain gain, Matrix<const double> gradient, Matrix<double> velocity,
          Maybe<Vector<double>> gains, int n_jobs) {
  const std::int64_t n = length(gradient), d = length(gradient, 1);
  require(has_shape(velocity, n, d), "velocity must be shaped as the gradient");
  require(has_shape(gains, n), "gains must have one entry per point");
  const auto [rate, momentum, max_step] = rule;
  const auto [growth, largest] = gain;
  Work work(n_jobs);
  momentum_step({rate, momentum, max_step}, {growth, largest}, gradient.data(), n,
                static_cast<int>(d), velocity.data(), data_or_null(gains), work.pool);
}

}  // namespace

void bind_minimize(nb::module_& m) {
  m.def("momentum_step", &step, "rule"_a, "gain"_a, "gradient"_a, output("velocity"),
        output("gains").none(), "n_jobs"_a);
}

}  // namespace closeknit
