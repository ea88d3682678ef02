// One pass over a row of squared distances: the powers 2^t and the sums from which the entropy and
// its derivatives follow.
//
// With t_j = -β log2(e) (d_j - d_1) ≤ 0 a pass forms S_i = Σ 2^t t^i. Shifting by the smallest
// distance changes neither the affinities nor the root, keeps Z = S_0 in [1, k], and bounds the
// mean of -t by log2 K at the root, so that cumulants taken from these raw moments lose no more
// than a digit or two.
#pragma once

#include "common/elementary.h"

namespace closeknit::CK_ISA {

constexpr int UNROLL = 2;
constexpr int BLOCK = UNROLL * WIDE;  // doubles handled together
constexpr int UNROLL_SINGLE = 4;
constexpr int BLOCK_SINGLE = UNROLL_SINGLE * NARROW;

// A squared distance, in units of the row's range, whose power is 0 at every β of interest.
constexpr double FAR = 1125899906842624.0;  // 2^50

// A row is its full blocks and one last block, copied and padded so far away that its powers are 0.
template <class D>
struct Row {
  const D* d;
  std::int64_t n_blocks;
  const double* tail;  // BLOCK values, or null if the blocks cover the row
  double first;
};

template <int M>
struct Sums {
  double s[M + 1];
};

// CLAMP keeps t finite whatever β is, so that 0 · t is 0 and not NaN.
template <int M, bool STORE, bool CLAMP, class D>
CK_INLINE void pass_block(const D* d, const Doubles& first, const Doubles& scale,
                          Doubles (&acc)[M + 1], double* powers) {
  Doubles t[UNROLL], y[UNROLL];
  for (int u = 0; u < UNROLL; ++u) {
    t[u] = (load_doubles(d + u * WIDE) - first) * scale;
    if (CLAMP) t[u] = select(t[u] < doubles(-2000.0), doubles(-2000.0), t[u]);
  }
  exp2_many<UNROLL>(t, y);
  if (STORE)
    for (int u = 0; u < UNROLL; ++u) store(powers + u * WIDE, y[u]);
  for (int u = 0; u < UNROLL; ++u) {
    Doubles w = y[u];
    acc[0] = acc[0] + w;
    for (int i = 1; i <= M; ++i) {
      w = w * t[u];
      acc[i] = acc[i] + w;
    }
  }
}

// S_0 … S_M at scale = -β log2(e); the powers go to `powers` (whole blocks) if STORE.
template <int M, bool STORE, bool CLAMP = false, class D>
CK_INLINE Sums<M> pass(const Row<D>& row, double scale, double* powers) {
  const Doubles first = doubles(row.first), vscale = doubles(scale);
  Doubles acc[M + 1];
  for (int i = 0; i <= M; ++i) acc[i] = doubles(0.0);
  for (std::int64_t b = 0; b < row.n_blocks; ++b)
    pass_block<M, STORE, CLAMP>(row.d + b * BLOCK, first, vscale, acc, powers + b * BLOCK);
  if (row.tail)
    pass_block<M, STORE, CLAMP>(row.tail, first, vscale, acc, powers + row.n_blocks * BLOCK);
  Sums<M> sums;
  for (int i = 0; i <= M; ++i) sums.s[i] = sum(acc[i]);
  return sums;
}

// The same in single precision over distances already shifted and scaled, padded to whole blocks.
template <int M>
CK_INLINE Sums<M> pass_single(const float* x, std::int64_t n_padded, float scale) {
  const Floats vscale = floats(scale);
  Floats acc[M + 1];
  for (int i = 0; i <= M; ++i) acc[i] = floats(0.0f);
  for (std::int64_t j = 0; j < n_padded; j += BLOCK_SINGLE) {
    Floats t[UNROLL_SINGLE], y[UNROLL_SINGLE];
    for (int u = 0; u < UNROLL_SINGLE; ++u) t[u] = load<Floats>(x + j + u * NARROW) * vscale;
    exp2_many<UNROLL_SINGLE>(t, y);
    for (int u = 0; u < UNROLL_SINGLE; ++u) {
      Floats w = y[u];
      acc[0] = acc[0] + w;
      for (int i = 1; i <= M; ++i) {
        w = w * t[u];
        acc[i] = acc[i] + w;
      }
    }
  }
  Sums<M> sums;
  for (int i = 0; i <= M; ++i) sums.s[i] = sum(acc[i]);
  return sums;
}

// Writes p_j = powers_j · Σ_i c_i t_j^i: the powers, normalised and moved to a slightly different
// β by a polynomial of degree DEG.
template <int DEG, class D>
CK_INLINE void write_block(const D* d, const Doubles& first, const Doubles& scale,
                           const Doubles (&c)[DEG + 1], const double* powers, double* out) {
  Doubles t[UNROLL], q[UNROLL];
  for (int u = 0; u < UNROLL; ++u) {
    t[u] = DEG > 0 ? (load_doubles(d + u * WIDE) - first) * scale : first;
    q[u] = c[DEG];
  }
  for (int i = DEG - 1; i >= 0; --i)
    for (int u = 0; u < UNROLL; ++u) q[u] = q[u] * t[u] + c[i];
  for (int u = 0; u < UNROLL; ++u) store(out + u * WIDE, load<Doubles>(powers + u * WIDE) * q[u]);
}

template <int DEG, class D>
CK_INLINE void write_row(const Row<D>& row, std::int64_t k, double scale,
                         const double* coefficients, const double* powers, double* out) {
  const Doubles first = doubles(row.first), vscale = doubles(scale);
  Doubles c[DEG + 1];
  for (int i = 0; i <= DEG; ++i) c[i] = doubles(coefficients[i]);
  for (std::int64_t b = 0; b < row.n_blocks; ++b)
    write_block<DEG>(row.d + b * BLOCK, first, vscale, c, powers + b * BLOCK, out + b * BLOCK);
  if (row.tail) {
    const std::int64_t done = row.n_blocks * BLOCK;
    double rest[BLOCK];
    write_block<DEG>(row.tail, first, vscale, c, powers + done, rest);
    std::memcpy(out + done, rest, static_cast<std::size_t>(k - done) * sizeof(double));
  }
}

// Points `row` at d, with its last partial block copied to `tail` and padded with `far`.
template <class D>
CK_INLINE Row<D> make_row(const D* d, std::int64_t k, double first, double far, double* tail) {
  Row<D> row{d, k / BLOCK, nullptr, first};
  const std::int64_t done = row.n_blocks * BLOCK;
  if (done < k) {
    for (std::int64_t j = done; j < k; ++j) tail[j - done] = d[j];
    for (std::int64_t j = k; j < done + BLOCK; ++j) tail[j - done] = far;
    row.tail = tail;
  }
  return row;
}

}  // namespace closeknit::CK_ISA
