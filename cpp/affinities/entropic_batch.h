// The order-free solver: about two passes per row.
//
// Eight rows go together, so that what is scalar in one row (logarithms, divisions, the step) fills
// the lanes of a vector. For each row
//   1. the start model guesses β to a few per cent from eight of its distances;
//   2. a single-precision pass with moments to order four makes a fourth-order step;
//   3. a double-precision pass gives the entropy to rounding, and a last step h of at most 1e-4 or
//      so; the powers 2^t move by h through a short polynomial, so no third pass is needed.
// Every row is treated alone: its result does not depend on its companions. Rows that fail any test
// (ties, missing neighbours, NaN, a curve too bent for the error estimate) go to Algorithm 1.
#pragma once

#include "affinities/entropic_row.h"

namespace closeknit::CK_ISA {

// Thresholds on steps in log β. A fourth-order step of 0.12 leaves an error near 1e-4.
constexpr double SINGLE_AGAIN = 0.12;
constexpr int MAX_SINGLE = 3, MAX_DOUBLE = 3;
constexpr double LARGEST_LAST_STEP = 1e-3;
constexpr double LARGEST_WRITE = 0.05;  // |x| at which the degree-8 polynomial is still exact

struct Batch {
  double first[BATCH], norm[BATCH];  // d_1 and 2^-e with 2^e close to the range
  double beta[BATCH];                // in units of 2^-e
  double last_t[BATCH];              // t of the farthest neighbour, for β = 1
  double sums[5][BATCH];
  double moment4[BATCH];              // S_4 / S_0 of the last single-precision pass
  double step[BATCH], curve3[BATCH];  // h and f'''/(6 f')
  double delta[BATCH], inverse_z[BATCH], slope[BATCH];
  std::int32_t evaluations[BATCH];
  bool active[BATCH];  // still on the fast path
};

CK_INLINE Doubles at_lanes(const double* p) { return load<Doubles>(p); }

// |x| without a branch.
CK_INLINE Doubles magnitude(const Doubles& x) {
  return bits_as<Doubles>(bits_as<Longs>(x) & all<Longs>(std::int64_t{0x7FFFFFFFFFFFFFFF}));
}

template <class D>
CK_INLINE void start_batch(const Problem<D>& problem, std::int64_t begin, int rows,
                           const StartModel& model, Batch& batch) {
  const std::int64_t k = problem.k;
  double gaps[MAX_FEATURES][BATCH];
  for (int r = 0; r < BATCH; ++r) {
    const D* d = problem.sq_distances + (begin + (r < rows ? r : 0)) * k;
    const double first = d[0], range = static_cast<double>(d[k - 1]) - first;
    std::int64_t bits;
    std::memcpy(&bits, &range, sizeof bits);
    const std::int64_t e = ((bits >> 52) - 1023) & ~std::int64_t{1};
    const bool usable = r < rows && range > 0.0 && e > -900 && e < 900;
    const std::int64_t norm_bits = (1023 - (usable ? e : 0)) << 52;
    std::memcpy(&batch.norm[r], &norm_bits, sizeof norm_bits);
    batch.first[r] = first;
    batch.active[r] = usable;
    batch.last_t[r] = range * batch.norm[r] * LOG2_E;
    batch.evaluations[r] = 0;
    // A gap of zero (ties) has no logarithm. A quarter of the next one stands in for it, unless the
    // model leans on such gaps: then the guess would be worth less than the middle of the bounds.
    double next = 1.0, lost = 0.0;
    for (int f = model.n_features - 1; f >= 0; --f) {
      const double gap = (static_cast<double>(d[model.ranks[f]]) - first) * batch.norm[r];
      if (!(gap > 1e-12)) lost += std::fabs(model.weights[f]);
      next = gaps[f][r] = gap > 1e-12 ? gap : 0.25 * next;
    }
    if (lost > 0.3) batch.active[r] = false;
  }
  for (int l = 0; l < BATCH; l += WIDE) {
    Doubles guess = doubles(model.intercept);
    for (int f = 0; f < model.n_features; ++f)
      guess = guess + doubles(model.weights[f]) * log2(at_lanes(gaps[f] + l));
    guess = select(guess > doubles(20.0), doubles(20.0), guess);
    guess = select(guess < doubles(-20.0), doubles(-20.0), guess);
    store(batch.beta + l, exp2(guess));
  }
}

// Whether the first distance is the smallest and the last the largest, as the shift by d_1 and the
// degree of the polynomial take for granted.
template <class D>
CK_INLINE bool is_between_its_ends(const D* d, std::int64_t k) {
  Doubles low = doubles(d[0]), high = doubles(d[k - 1]);
  std::int64_t j = 0;
  for (; j + WIDE <= k; j += WIDE) {
    const Doubles v = load_doubles(d + j);
    low = select(v < low, v, low);
    high = select(v > high, v, high);
  }
  bool between = true;
  for (; j < k; ++j) between = between && !(d[j] < d[0] || d[j] > d[k - 1]);
  for (int l = 0; l < WIDE; ++l) between = between && !(low[l] < d[0] || high[l] > d[k - 1]);
  return between;
}

// Asks for a row of the next batch, whose first use would otherwise be a handful of scattered reads
// that each wait for memory.
template <class D>
CK_INLINE void prefetch_row(const D* d, std::int64_t k) {
#if defined(__GNUC__)
  for (std::int64_t j = 0; j < k; j += static_cast<std::int64_t>(64 / sizeof(D)))
    __builtin_prefetch(d + j, 0, 2);
#endif
}

// Single-precision copy of a row: (d_j - d_1) 2^-e, padded to whole blocks.
template <class D>
CK_INLINE void single_row(const D* d, std::int64_t k, double first, double norm, float* x) {
  for (std::int64_t j = 0; j < k; ++j)
    x[j] = static_cast<float>((static_cast<double>(d[j]) - first) * norm);
  for (std::int64_t j = k; j % BLOCK_SINGLE != 0; ++j) x[j] = static_cast<float>(FAR);
}

// Means of y = t ln 2 and its powers, and f, from the sums of a pass.
CK_INLINE void batch_values(const Batch& batch, int l, const Doubles& log_k, Doubles (&m)[5],
                            Doubles& f) {
  const Doubles z = at_lanes(batch.sums[0] + l), inverse = doubles(1.0) / z;
  double unit = 1.0;
  for (int i = 1; i <= 4; ++i) m[i] = doubles(unit *= LN2) * at_lanes(batch.sums[i] + l) * inverse;
  f = doubles(LN2) * log2(z) - m[1] - log_k;
}

// Householder's fourth-order step for all lanes, kept within ±2.
CK_INLINE void single_steps(Batch& batch, const double* log_k) {
  for (int l = 0; l < BATCH; l += WIDE) {
    Doubles m[5], f, f1, f2, f3;
    batch_values(batch, l, at_lanes(log_k + l), m, f);
    derivatives(m[1], m[2], m[3], m[4], [](double x) { return doubles(x); }, f1, f2, f3);
    const Doubles inverse = doubles(1.0) / f1;
    const Doubles u = f * inverse, a2 = doubles(0.5) * f2 * inverse;
    const Doubles a3 = doubles(1.0 / 6.0) * f3 * inverse;
    const Doubles below = doubles(1.0) - u * (doubles(2.0) * a2 - a3 * u);
    Doubles h = (doubles(0.0) - u) * (doubles(1.0) - a2 * u) / below;
    h = select(below > doubles(0.2), h, doubles(0.0) - u);
    h = select(h > doubles(2.0), doubles(2.0), h);
    h = select(h < doubles(-2.0), doubles(-2.0), h);
    store(batch.step + l, h);
    store(batch.curve3 + l, a3);
  }
}

// The last step: third order from this pass, made fourth order by f''' of the single-precision
// one. `active` falls where the estimated error of the step or of the polynomial is too large.
CK_INLINE void double_steps(Batch& batch, const double* log_k, double tol, double* accept) {
  for (int l = 0; l < BATCH; l += WIDE) {
    Doubles m[5], f, f1, f2, f3;
    batch_values(batch, l, at_lanes(log_k + l), m, f);
    derivatives(m[1], m[2], m[3], m[4], [](double x) { return doubles(x); }, f1, f2, f3);
    const Doubles inverse = doubles(1.0) / f1;
    const Doubles u = f * inverse, a2 = doubles(0.5) * f2 * inverse;
    const Doubles a3 = at_lanes(batch.curve3 + l);
    const Doubles below = doubles(1.0) - u * (doubles(2.0) * a2 - a3 * u);
    const Doubles h = (doubles(0.0) - u) * (doubles(1.0) - a2 * u) / below;
    const Doubles size = magnitude(h);
    const Doubles delta =
        h *
        (doubles(1.0) + h * (doubles(0.5) + h * (doubles(1.0 / 6.0) + h * doubles(1.0 / 24.0))));
    const Doubles z_ratio =
        doubles(1.0) + delta * (m[1] + delta * (doubles(0.5) * m[2] +
                                                delta * (doubles(1.0 / 6.0) * m[3] +
                                                         delta * doubles(1.0 / 24.0) * m[4])));
    store(batch.step + l, h);
    store(batch.delta + l, delta);
    store(batch.slope + l, f1 + h * (f2 + doubles(0.5) * h * f3));
    store(batch.inverse_z + l, doubles(1.0) / (at_lanes(batch.sums[0] + l) * z_ratio));
    // Taking the error for third order, although f''' makes it smaller, leaves a margin.
    const Doubles bend = size * size * (a2 * a2 + magnitude(a3));
    const Doubles limit = doubles(tol < 1e-10 ? tol : 1e-10);
    const Doubles root_error = size * bend, flat = magnitude(f1);
    const Doubles one = doubles(1.0), zero = doubles(0.0);
    Doubles ok = select(size <= doubles(LARGEST_LAST_STEP), one, zero);
    // h also vanishes where 1 - a2 u does, far from any root: Newton's step must be small, too.
    ok = select(magnitude(u) <= doubles(2.0 * LARGEST_LAST_STEP), ok, zero);
    ok = select(root_error * flat <= limit, ok, zero);
    ok = select(root_error <= limit, ok, zero);
    ok = select(flat >= doubles(1e-6), ok, zero);
    ok = select(magnitude(delta * at_lanes(batch.beta + l) * at_lanes(batch.last_t + l)) <=
                    doubles(LARGEST_WRITE),
                ok, zero);
    store(accept + l, ok);
  }
}

// p_j from the powers of the last pass: the polynomial's degree follows from its largest argument.
template <class D>
CK_INLINE void write_batch_row(const Row<D>& row, std::int64_t k, const Batch& batch, int r,
                               double scale, const double* powers, double* out) {
  const double unit = batch.delta[r] * LN2;  // x = t · unit
  double c[9] = {batch.inverse_z[r]};
  for (int i = 1; i <= 8; ++i) c[i] = c[i - 1] * unit / i;
  const double x = std::fabs(batch.delta[r] * batch.beta[r] * batch.last_t[r]);
  if (x < 1e-4)
    write_row<2>(row, k, scale, c, powers, out);  // x³/6 < 2e-13
  else if (x < 1e-3)
    write_row<3>(row, k, scale, c, powers, out);  // x⁴/24 < 1e-13
  else if (x < 2e-2)
    write_row<5>(row, k, scale, c, powers, out);  // x⁶/720 < 1e-13
  else
    write_row<8>(row, k, scale, c, powers, out);
}

template <class D>
void solve_batch(const Problem<D>& problem, std::int64_t begin, std::int64_t end,
                 const StartModel& model, double lower_constant, double* scratch) {
  const std::int64_t k = problem.k, stride = padded(k);
  const int rows = static_cast<int>(end - begin);
  double* tails = scratch;
  double* powers = tails + BATCH * BLOCK;
  float* single = reinterpret_cast<float*>(powers + BATCH * stride);
  double* row_space = powers + BATCH * stride + stride / 2 + 16;

  Batch batch;
  double log_k[BATCH], accept[BATCH];
  const double log_perplexity = std::log(problem.perplexity[0]);
  for (int r = 0; r < BATCH; ++r)
    log_k[r] = problem.one_perplexity || r >= rows ? log_perplexity
                                                   : std::log(problem.perplexity[begin + r]);
  for (auto& sums : batch.sums)
    for (double& s : sums) s = 1.0;
  start_batch(problem, begin, rows, model, batch);

  bool again[BATCH];
  for (int r = 0; r < BATCH; ++r) again[r] = batch.active[r];
  for (int round = 0; round < MAX_SINGLE; ++round) {
    bool any = false;
    for (int r = 0; r < rows; ++r) {
      if (!again[r]) continue;
      any = true;
      if (round == 0 && !is_between_its_ends(problem.sq_distances + (begin + r) * k, k)) {
        batch.active[r] = again[r] = false;
        continue;
      }
      if (round == 0 && begin + r + BATCH < problem.n)
        prefetch_row(problem.sq_distances + (begin + r + BATCH) * k, k);
      single_row(problem.sq_distances + (begin + r) * k, k, batch.first[r], batch.norm[r], single);
      const Sums<4> sums =
          pass_single<4>(single, (k + BLOCK_SINGLE - 1) / BLOCK_SINGLE * BLOCK_SINGLE,
                         static_cast<float>(-LOG2_E * batch.beta[r]));
      for (int i = 0; i <= 4; ++i) batch.sums[i][r] = sums.s[i];
      batch.moment4[r] = sums.s[4] / sums.s[0];
      ++batch.evaluations[r];
    }
    if (!any) break;
    single_steps(batch, log_k);
    for (int l = 0; l < BATCH; l += WIDE) {
      const Doubles moved =
          at_lanes(batch.beta + l) * exp2(at_lanes(batch.step + l) * doubles(LOG2_E));
      double beta[WIDE];
      store(beta, moved);
      for (int i = 0; i < WIDE; ++i)
        if (again[l + i]) batch.beta[l + i] = beta[i];
    }
    for (int r = 0; r < rows; ++r) {
      const double size = std::fabs(batch.step[r]);
      if (again[r] && !(size <= 2.0 && batch.beta[r] < 1e6 && batch.beta[r] > 1e-6))
        batch.active[r] = false;
      again[r] = again[r] && batch.active[r] && size > SINGLE_AGAIN;
    }
  }

  Row<D> row[BATCH];
  double scale[BATCH];
  for (int r = 0; r < rows; ++r) {
    again[r] = batch.active[r];
    if (again[r])
      row[r] = make_row(problem.sq_distances + (begin + r) * k, k, batch.first[r],
                        batch.first[r] + FAR / batch.norm[r], tails + r * BLOCK);
  }
  for (int round = 0; round < MAX_DOUBLE; ++round) {
    bool any = false;
    for (int r = 0; r < rows; ++r) {
      if (!again[r]) continue;
      any = true;
      scale[r] = -LOG2_E * batch.beta[r] * batch.norm[r];
      const Sums<3> sums = pass<3, true>(row[r], scale[r], powers + r * stride);
      for (int i = 0; i <= 3; ++i) batch.sums[i][r] = sums.s[i];
      // The fourth moment only enters through δ⁴/24: the one of the single-precision pass, at a β
      // a few per cent away, will do.
      batch.sums[4][r] = batch.moment4[r] * sums.s[0];
      ++batch.evaluations[r];
    }
    if (!any) break;
    double_steps(batch, log_k, problem.tol, accept);
    for (int r = 0; r < rows; ++r) {
      if (!again[r]) continue;
      if (accept[r] > 0.0) {
        again[r] = false;
      } else if (std::fabs(batch.step[r]) < 0.5 && round + 1 < MAX_DOUBLE) {
        batch.beta[r] *= std::exp(batch.step[r]);
      } else {
        batch.active[r] = again[r] = false;
      }
    }
  }

  for (int r = 0; r < rows; ++r) {
    const std::int64_t i = begin + r;
    if (!batch.active[r]) {
      solve_row(problem, i, Method::HALLEY, 50, 0.0, lower_constant, row_space);
      problem.evaluations[i] += batch.evaluations[r];
      continue;
    }
    write_batch_row(row[r], k, batch, r, scale[r], powers + r * stride, problem.affinities + i * k);
    const double beta = batch.beta[r] * (1.0 + batch.delta[r]) * batch.norm[r];
    problem.betas[i] = beta;
    problem.sigmas[i] = std::sqrt(0.5 / beta);
    problem.slopes[i] = batch.slope[r];
    problem.evaluations[i] = batch.evaluations[r];
    problem.status[i] = CONVERGED;
  }
}

}  // namespace closeknit::CK_ISA
