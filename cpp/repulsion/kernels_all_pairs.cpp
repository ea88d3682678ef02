// Sums over pairs, compiled once per instruction set.
#include "repulsion/kernels_all_pairs.h"

#include "common/elementary.h"

namespace closeknit::CK_ISA {

// K and its first two derivatives with respect to t = ‖x - y‖², given t and K.
struct GaussianKernel {
  Doubles rate;
  explicit GaussianKernel(const Kernel& kernel) : rate(doubles(kernel.power / kernel.scale)) {}
  inline Doubles value(const Doubles& t) const { return exp2(doubles(-LOG2_E) * rate * t); }
  inline Doubles first(const Doubles&, const Doubles& k) const { return doubles(0.0) - rate * k; }
  inline Doubles second(const Doubles&, const Doubles& k) const { return rate * rate * k; }
};
struct StudentKernel {  // 1 / (1 + t)
  explicit StudentKernel(const Kernel&) {}
  inline Doubles value(const Doubles& t) const { return doubles(1.0) / (doubles(1.0) + t); }
  inline Doubles first(const Doubles&, const Doubles& k) const { return doubles(0.0) - k * k; }
  inline Doubles second(const Doubles&, const Doubles& k) const { return doubles(2.0) * k * k * k; }
};
struct StudentPowerKernel {
  Doubles inverse, power;
  explicit StudentPowerKernel(const Kernel& kernel)
      : inverse(doubles(1.0 / kernel.scale)), power(doubles(kernel.power)) {}
  inline Doubles value(const Doubles& t) const {
    return exp2(doubles(0.0) - power * log2(doubles(1.0) + t * inverse));
  }
  inline Doubles first(const Doubles& t, const Doubles& k) const {
    return doubles(0.0) - power * inverse * k / (doubles(1.0) + t * inverse);
  }
  inline Doubles second(const Doubles& t, const Doubles& k) const {
    return (doubles(0.0) - (power + doubles(1.0)) * inverse / (doubles(1.0) + t * inverse)) *
           first(t, k);
  }
};
struct EpanechnikovKernel {
  explicit EpanechnikovKernel(const Kernel&) {}
  inline Doubles value(const Doubles& t) const {
    return select(t < doubles(1.0), doubles(1.0) - t, doubles(0.0));
  }
  inline Doubles first(const Doubles&, const Doubles& k) const {
    return select(k > doubles(0.0), doubles(-1.0), doubles(0.0));
  }
  inline Doubles second(const Doubles&, const Doubles&) const { return doubles(0.0); }
};

// One query against all points. D coordinates, or pairs.d of them if D is 0.
template <class K, Want WANT, int D>
static void sum_row_of(const AllPairs& pairs, const Columns& columns, const K& kernel,
                       std::int64_t n, const PairSums& out, double* scratch) {
  const int d = D > 0 ? D : pairs.d;
  const double* x = pairs.queries + n * pairs.d;
  const std::int64_t stride = columns.n_padded;
  const double* pair_weights =
      pairs.pair_weights ? pairs.pair_weights + n * pairs.n_points : nullptr;
  // Accumulators of the general case live in scratch: d each for forces and curvatures.
  Doubles fixed_force[D > 0 ? D : 1], fixed_curve[D > 0 ? D : 1], fixed_gap[D > 0 ? D : 1];
  const auto address = (reinterpret_cast<std::uintptr_t>(scratch) + 31) & ~std::uintptr_t{31};
  Doubles* force = D > 0 ? fixed_force : reinterpret_cast<Doubles*>(address);
  Doubles* curve = D > 0 ? fixed_curve : force + d;
  Doubles* gap = D > 0 ? fixed_gap : curve + d;
  for (int i = 0; i < d; ++i) force[i] = curve[i] = doubles(0.0);
  Doubles value = doubles(0.0), slope = doubles(0.0);

  for (std::int64_t m = 0; m < pairs.n_points; m += WIDE) {
    Doubles t = doubles(0.0);
    for (int i = 0; i < d; ++i) {
      gap[i] = doubles(x[i]) - load<Doubles>(columns.points + i * stride + m);
      t = t + gap[i] * gap[i];
    }
    Doubles w = columns.weights ? load<Doubles>(columns.weights + m) : doubles(1.0);
    const bool last = m + WIDE > pairs.n_points;
    const bool own = pairs.same && n >= m && n < m + WIDE;
    if (pair_weights || last || own) {
      for (int l = 0; l < WIDE; ++l) {
        const bool absent = m + l >= pairs.n_points || (own && m + l == n);
        w[l] = absent ? 0.0 : (pair_weights ? w[l] * pair_weights[m + l] : w[l]);
      }
    }
    const Doubles k = kernel.value(t);
    value = value + w * k;
    if (WANT == Want::VALUE) continue;
    if (WANT != Want::PRODUCT) {
      const Doubles k1 = w * kernel.first(t, k);
      slope = slope + k1;
      for (int i = 0; i < d; ++i) force[i] = force[i] + k1 * gap[i];
    }
    if (WANT == Want::CURVATURE || WANT == Want::PRODUCT) {
      const Doubles k2 = w * kernel.second(t, k);
      for (int i = 0; i < d; ++i) {
        Doubles term = k2 * gap[i] * gap[i];
        if (WANT == Want::PRODUCT) term = term * load<Doubles>(columns.vectors + i * stride + m);
        curve[i] = curve[i] + term;
      }
    }
  }
  if (out.value) out.value[n] = sum(value);
  if (out.slope) out.slope[n] = sum(slope);
  for (int i = 0; i < d; ++i) {
    if (out.force) out.force[n * d + i] = sum(force[i]);
    if (out.curvature) out.curvature[n * d + i] = sum(curve[i]);
  }
}

template <class K, Want WANT>
CK_INLINE void sum_row_dim(const AllPairs& pairs, const Columns& columns, const K& kernel,
                           std::int64_t n, const PairSums& out, double* scratch) {
  switch (pairs.d) {
    case 1:
      return sum_row_of<K, WANT, 1>(pairs, columns, kernel, n, out, scratch);
    case 2:
      return sum_row_of<K, WANT, 2>(pairs, columns, kernel, n, out, scratch);
    case 3:
      return sum_row_of<K, WANT, 3>(pairs, columns, kernel, n, out, scratch);
    default:
      return sum_row_of<K, WANT, 0>(pairs, columns, kernel, n, out, scratch);
  }
}

template <class K>
CK_INLINE void sum_row_want(const AllPairs& pairs, const Columns& columns, const Kernel& kernel,
                            Want want, std::int64_t n, const PairSums& out, double* scratch) {
  const K k(kernel);
  switch (want) {
    case Want::VALUE:
      return sum_row_dim<K, Want::VALUE>(pairs, columns, k, n, out, scratch);
    case Want::FORCE:
      return sum_row_dim<K, Want::FORCE>(pairs, columns, k, n, out, scratch);
    case Want::CURVATURE:
      return sum_row_dim<K, Want::CURVATURE>(pairs, columns, k, n, out, scratch);
    case Want::PRODUCT:
      return sum_row_dim<K, Want::PRODUCT>(pairs, columns, k, n, out, scratch);
  }
}

void sum_row(const AllPairs& pairs, const Columns& columns, const Kernel& kernel, Want want,
             std::int64_t n, const PairSums& out, double* scratch) {
  switch (kernel.family) {
    case Family::GAUSSIAN:
      return sum_row_want<GaussianKernel>(pairs, columns, kernel, want, n, out, scratch);
    case Family::STUDENT:
      if (is_plain(kernel))
        return sum_row_want<StudentKernel>(pairs, columns, kernel, want, n, out, scratch);
      return sum_row_want<StudentPowerKernel>(pairs, columns, kernel, want, n, out, scratch);
    case Family::EPANECHNIKOV:
      return sum_row_want<EpanechnikovKernel>(pairs, columns, kernel, want, n, out, scratch);
  }
}

}  // namespace closeknit::CK_ISA
