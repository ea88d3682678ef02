#include "minimize/momentum.h"

#include <cmath>

#include "common/threads.h"

namespace closeknit {
namespace {

constexpr std::int64_t ROWS_PER_TASK = 16384;
constexpr double SMALLEST_GAIN = 0.01;

}  // namespace

void momentum_step(const MomentumRule& rule, const double* gradient, std::int64_t n, int d,
                   double* velocity, double* gains, ThreadPool& pool) {
  parallel_chunks(pool, n, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t m = begin; m < end; ++m) {
      double squared = 0.0;
      for (std::int64_t i = m * d; i < (m + 1) * d; ++i) {
        double gain = 1.0;
        if (rule.gains) {
          const bool onwards = (gradient[i] > 0.0) != (velocity[i] > 0.0);
          gain = onwards ? gains[i] + 0.2 : std::fmax(0.8 * gains[i], SMALLEST_GAIN);
          gains[i] = gain;
        }
        velocity[i] = rule.momentum * velocity[i] - rule.rate * gain * gradient[i];
        squared += velocity[i] * velocity[i];
      }
      if (squared > rule.max_step * rule.max_step) {
        const double cut = rule.max_step / std::sqrt(squared);
        for (std::int64_t i = m * d; i < (m + 1) * d; ++i) velocity[i] *= cut;
      }
    }
  });
}

}  // namespace closeknit
