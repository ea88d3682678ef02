// The update of gradient descent with momentum and a gain per coordinate.
#pragma once

#include <cstdint>

namespace closeknit {

class ThreadPool;

struct MomentumRule {
  double rate;      // of the gradient
  double momentum;  // share of the velocity that is kept
  double max_step;  // longest move of a point
  bool gains;       // whether each coordinate adapts its rate
};

// velocity ← momentum · velocity - rate · gain · gradient, row by row cut to max_step. A gain grows
// by 0.2 where the gradient still points against the velocity and else falls by a fifth (Jacobs,
// 1988, as in the first t-SNE).
void momentum_step(const MomentumRule& rule, const double* gradient, std::int64_t n, int d,
                   double* velocity, double* gains, ThreadPool& pool);

}  // namespace closeknit
