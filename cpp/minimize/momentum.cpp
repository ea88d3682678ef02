#include "minimize/momentum.h"

#include <cmath>

#include "common/threads.h"

namespace closeknit {
namespace {

constexpr std::int64_t ROWS_PER_TASK = 16384;
constexpr double SMALLEST_GAIN = 0.01;
constexpr double SHRINK = 0.8;

double inner(const double* a, const double* b, int d) {
  double sum = 0.0;
  for (int i = 0; i < d; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

void momentum_step(const MomentumRule& rule, const GainRule& gain, const double* gradient,
                   std::int64_t n, int d, double* velocity, double* gains, ThreadPool& pool) {
  parallel_chunks(pool, n, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t m = begin; m < end; ++m) {
      const double* g = gradient + m * d;
      double* v = velocity + m * d;
      double rate = rule.rate;
      if (gains) {
        gains[m] = inner(g, v, d) <= 0.0 ? std::fmin(gains[m] + gain.growth, gain.largest)
                                         : std::fmax(SHRINK * gains[m], SMALLEST_GAIN);
        rate *= gains[m];
      }
      for (int i = 0; i < d; ++i) v[i] = rule.momentum * v[i] - rate * g[i];
      const double squared = inner(v, v, d);
      if (squared > rule.max_step * rule.max_step) {
        const double cut = rule.max_step / std::sqrt(squared);
        for (int i = 0; i < d; ++i) v[i] *= cut;
      }
    }
  });
}

}  // namespace closeknit
