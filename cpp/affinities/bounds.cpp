#include "affinities/bounds.h"

#include <cmath>

namespace closeknit {

double simple_lower_constant(double n, double perplexity) {
  // The variance of variables in [0, 1] is at most 1/4, so H falls by at most β²/8 from log N.
  return std::sqrt(8.0 * std::log(n / perplexity));
}

double two_level_root(double n, double perplexity, double m) {
  const double target = std::log(perplexity);
  double lo = simple_lower_constant(n, perplexity), hi = 0.0;
  double c = lo;
  for (int i = 0; i < 200; ++i) {
    const double far = (n - m) * std::exp(-c), z = m + far, q = far / z;
    const double f = std::log(z) + c * q - target;
    (f > 0 ? lo : hi) = c;
    // Newton on log c, where H is closer to a straight line; its slope is -c² q (1 - q).
    double next = c * std::exp(f / (c * c * q * (1.0 - q)));
    if (hi == 0.0) {
      if (!(next > lo && next < 2.0 * lo + 1.0)) next = 2.0 * lo + 1.0;
    } else if (!(next > lo && next < hi)) {
      next = 0.5 * (lo + hi);
    }
    if (std::fabs(next - c) <= 1e-15 * c) return next;
    c = next;
  }
  return c;
}

double sharp_lower_constant(std::int64_t n, double perplexity) {
  double least = two_level_root(static_cast<double>(n), perplexity, 1.0);
  for (std::int64_t m = 2; static_cast<double>(m) < perplexity; ++m) {
    const double c = two_level_root(static_cast<double>(n), perplexity, static_cast<double>(m));
    if (c < least) least = c;
  }
  return least;
}

double lower_constant(std::int64_t n, double perplexity) {
  const bool defined = perplexity > 1.0 && perplexity < static_cast<double>(n);
  return defined ? sharp_lower_constant(n, perplexity) : 0.0;
}

double paper_p1(double n, double perplexity) {
  const double root = std::sqrt(2.0 * n);
  const double target = std::log(perplexity < root ? perplexity : root);
  // With q = 2 (1 - p_1) in (0, 1/2], q log(N / q) rises from 0 to log sqrt(2N) ≥ target.
  double lo = 0.0, hi = 0.5;
  for (int i = 0; i < 200 && hi - lo > 1e-17; ++i) {
    const double q = 0.5 * (lo + hi);
    (q * std::log(n / q) < target ? lo : hi) = q;
  }
  return 1.0 - 0.25 * (lo + hi);
}

double paper_upper_constant(double n, double perplexity) {
  const double p1 = paper_p1(n, perplexity);
  return std::log(p1 / (1.0 - p1) * (n - 1.0));
}

}  // namespace closeknit
