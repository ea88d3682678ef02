// The update of gradient descent with momentum and a gain per point.
#pragma once

#include <cstdint>

namespace closeknit {

class ThreadPool;

struct MomentumRule {
  double rate;      // of the gradient
  double momentum;  // share of the velocity that is kept
  double max_step;  // longest move of a point
};

// How a point adapts its rate.
struct GainRule {
  double growth;   // added while the gradient points against the velocity
  double largest;  // gains do not grow beyond it
};

// velocity ← momentum · velocity - rate · gain · gradient, point by point cut to max_step. A gain
// grows while the gradient still points against the point's velocity, and else falls by a fifth
// (Jacobs, 1988, as in the first t-SNE; there it is one gain per coordinate, which makes a map's
// shape depend on the axes). Without `gains` all are 1.
void momentum_step(const MomentumRule& rule, const GainRule& gain, const double* gradient,
                   std::int64_t n, int d, double* velocity, double* gains, ThreadPool& pool);

}  // namespace closeknit
