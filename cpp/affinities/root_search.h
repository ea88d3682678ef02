// Searches for the root b = log β of f = H - log K on one normalised row.
#pragma once

#include <cmath>

#include "affinities/entropic_pass.h"
#include "affinities/problem.h"

namespace closeknit::CK_ISA {

// f = H - log K and its derivatives with respect to log β.
struct Value {
  double f, f1, f2, f3;
};

// Cumulants κ of y = t ln 2 under p give f' = -κ2, f'' = -2κ2 - κ3, f''' = -4κ2 - 5κ3 - κ4.
// Works on doubles and on vectors of them.
template <class V, class Make>
CK_INLINE void derivatives(const V& m1, const V& m2, const V& m3, const V& m4, Make make, V& f1,
                           V& f2, V& f3) {
  const V k2 = m2 - m1 * m1;
  const V k3 = m3 - m1 * (make(3.0) * m2 - make(2.0) * m1 * m1);
  const V k4 = m4 - make(4.0) * m1 * m3 - make(3.0) * m2 * m2 +
               m1 * m1 * (make(12.0) * m2 - make(6.0) * m1 * m1);
  f1 = make(0.0) - k2;
  f2 = make(-2.0) * k2 - k3;
  f3 = make(-4.0) * k2 - make(5.0) * k3 - k4;
}

template <int M>
CK_INLINE Value value_of(const Sums<M>& sums, double log_k) {
  const double z = sums.s[0];
  double m[5] = {1.0, 0.0, 0.0, 0.0, 0.0}, unit = 1.0;
  for (int i = 1; i <= M; ++i) m[i] = (unit *= LN2) * sums.s[i] / z;
  Value v;
  v.f = std::log(z) - m[1] - log_k;
  derivatives(m[1], m[2], m[3], m[4], [](double x) { return x; }, v.f1, v.f2, v.f3);
  return v;
}

// log β at which any gap that the row's unit leaves a root for has no weight, well below overflow.
constexpr double LARGEST = 690.0;

// A normalised row and what has been spent on it.
struct Search {
  Row<double> row;
  double* powers;
  double log_k, tol;
  double lo, hi;  // bracket of b
  bool lo_checked = false, hi_checked = false;
  double b = 0.0, z = 0.0, slope = 0.0;  // where the last pass was made, its Z and f'
  int evaluations = 0;

  template <int M>
  Value at(double where) {
    b = where < LARGEST ? where : LARGEST;
    const Sums<M> sums = pass<M, true, true>(row, -LOG2_E * std::exp(b), powers);
    z = sums.s[0];
    ++evaluations;
    const Value v = value_of<M>(sums, log_k);
    slope = v.f1;
    if (v.f > 0.0) {
      if (b >= lo) {
        lo = b;
        lo_checked = true;
      }
    } else if (b <= hi) {
      hi = b;
      hi_checked = true;
    }
    return v;
  }

  // Both the entropy and, where the curve is flat, the root itself are as wanted, or as near as
  // rounding lets them come.
  bool good(const Value& v) const {
    const double noise = 1e-15 * (1.0 + log_k);
    const double f = std::fabs(v.f);
    return f <= noise || (f <= tol && f <= tol * std::fabs(v.f1)) || (closed() && f <= tol);
  }
  bool closed() const { return hi - lo <= 4e-16 * (1.0 + std::fabs(b)); }
  double middle() const { return lo + 0.5 * (hi - lo); }

  // Rounding, or a bound that is none, may leave the root outside: move the end that no pass has
  // confirmed.
  void widen_if_empty() {
    if (hi - lo > 1e-9) return;
    if (!hi_checked) hi = (hi > lo ? hi : lo) + 1.0;
    if (!lo_checked) lo = (lo < hi ? lo : hi) - 1.0;
  }
};

constexpr int MAX_PASSES = 400;

// Gander's family: b - u H(t) with u = f/f', t = f f''/f'².
CK_INLINE double next_point(Method method, double b, const Value& v) {
  const double u = v.f / v.f1, t = u * v.f2 / v.f1;
  if (method == Method::HALLEY) return b - u / (1.0 - 0.5 * t);
  if (method == Method::EULER) return b - 2.0 * u / (1.0 + std::sqrt(1.0 - 2.0 * t));
  return b - u;
}

// Algorithm 1: derivative steps inside a bracket, a bisection when one leaves it or every
// `max_inner` steps. Comparisons are written so that a NaN step counts as outside.
template <int M>
static bool derivative_search(Search& s, Method method, int max_inner, double start) {
  double b = start > s.lo && start < s.hi ? start : s.middle();
  for (int inner = 1; s.evaluations < MAX_PASSES; ++inner) {
    const Value v = s.at<M>(b);
    if (s.good(v)) return true;
    s.widen_if_empty();
    b = next_point(method, b, v);
    if (!(b > s.lo && b < s.hi) || inner >= max_inner) {
      b = s.middle();
      inner = 0;
    }
    if (s.closed()) break;
  }
  return false;
}

static bool bisection_search(Search& s) {
  while (s.evaluations < MAX_PASSES) {
    const Value v = s.at<2>(s.middle());
    if (s.good(v)) return true;
    s.widen_if_empty();
    if (s.closed()) break;
  }
  return false;
}

// Evaluates both ends until they bracket the root; true if an end already is the root.
static bool bracket_search(Search& s, double& a, double& fa, double& b, double& fb) {
  for (double step = 1.0; s.evaluations < MAX_PASSES; step *= 2.0) {
    a = s.lo;
    const Value v = s.at<2>(a);
    fa = v.f;
    if (s.good(v)) return true;
    if (fa > 0.0) break;
    s.lo = a - step;
    s.hi = a;
  }
  for (double step = 1.0; s.evaluations < MAX_PASSES; step *= 2.0) {
    b = s.hi;
    const Value v = s.at<2>(b);
    fb = v.f;
    if (s.good(v)) return true;
    if (fb <= 0.0) break;
    s.hi = b + step;
  }
  return false;
}

static bool ridders_search(Search& s) {
  double a, fa, b, fb;
  if (bracket_search(s, a, fa, b, fb)) return true;
  const auto narrow = [&](double x, double fx) {
    if (!(x > a && x < b)) return;
    (fx > 0.0 ? a : b) = x;
    (fx > 0.0 ? fa : fb) = fx;
  };
  while (s.evaluations < MAX_PASSES && b - a > 4e-16 * (1.0 + std::fabs(b))) {
    const double mid = 0.5 * (a + b);
    Value v = s.at<2>(mid);
    if (s.good(v)) return true;
    const double fm = v.f, root = std::sqrt(fm * fm - fa * fb);
    const double c = mid + (mid - a) * fm / root;  // fa > 0 > fb
    narrow(mid, fm);
    if (!(c > a && c < b)) continue;  // rounding may leave nothing but the halved bracket
    v = s.at<2>(c);
    if (s.good(v)) return true;
    narrow(c, v.f);
  }
  return false;
}

static bool brent_search(Search& s) {
  double a, fa, b, fb;
  if (bracket_search(s, a, fa, b, fb)) return true;
  double c = a, fc = fa, last = b - a, before_last = last;
  while (s.evaluations < MAX_PASSES) {
    if ((fb > 0.0) == (fc > 0.0)) c = a, fc = fa, last = before_last = b - a;
    if (std::fabs(fc) < std::fabs(fb)) a = b, b = c, c = a, fa = fb, fb = fc, fc = fa;
    const double half = 0.5 * (c - b), tiny = 2e-16 * (1.0 + std::fabs(b));
    if (std::fabs(half) <= tiny) break;
    double step = half;
    bool interpolated = false;
    if (std::fabs(before_last) > tiny && std::fabs(fa) > std::fabs(fb)) {
      // Secant through two points or inverse quadratic through three, as p / q.
      const double sb = fb / fa;
      double p, q;
      if (a == c) {
        p = 2.0 * half * sb;
        q = 1.0 - sb;
      } else {
        const double qa = fa / fc, rb = fb / fc;
        p = sb * (2.0 * half * qa * (qa - rb) - (b - a) * (rb - 1.0));
        q = (qa - 1.0) * (rb - 1.0) * (sb - 1.0);
      }
      if (p > 0.0)
        q = -q;
      else
        p = -p;
      const double limit1 = 3.0 * half * q - std::fabs(tiny * q),
                   limit2 = std::fabs(before_last * q);
      if (2.0 * p < (limit1 < limit2 ? limit1 : limit2)) {
        step = p / q;
        interpolated = true;
      }
    }
    before_last = interpolated ? last : half;
    last = step;
    a = b;
    fa = fb;
    b += std::fabs(step) > tiny ? step : (half > 0.0 ? tiny : -tiny);
    const Value v = s.at<2>(b);
    if (s.good(v)) return true;
    fb = v.f;
  }
  return false;
}

static bool search(Search& s, Method method, int max_inner, double start) {
  switch (method) {
    case Method::BISECTION:
      return bisection_search(s);
    case Method::BRENT:
      return brent_search(s);
    case Method::RIDDERS:
      return ridders_search(s);
    case Method::NEWTON:
      return derivative_search<2>(s, method, max_inner, start);
    default:
      return derivative_search<3>(s, method, max_inner, start);
  }
}

}  // namespace closeknit::CK_ISA
