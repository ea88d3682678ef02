// Sums over pairs, compiled once per instruction set.
#include "kernels_pairs.h"

#include <cmath>

#include "elementary.h"

namespace closeknit {
namespace CK_ISA {

constexpr double LOG2_E = 1.4426950408889634074;

// K and its first two derivatives with respect to t = ‖x - y‖².
struct GaussianKernel {
  CK_INLINE Doubles value(const Doubles& t) { return exp2(doubles(-LOG2_E) * t); }
  CK_INLINE Doubles first(const Doubles& k) { return doubles(0.0) - k; }
  CK_INLINE Doubles second(const Doubles& k) { return k; }
};
struct StudentKernel {
  CK_INLINE Doubles value(const Doubles& t) { return doubles(1.0) / (doubles(1.0) + t); }
  CK_INLINE Doubles first(const Doubles& k) { return doubles(0.0) - k * k; }
  CK_INLINE Doubles second(const Doubles& k) { return doubles(2.0) * k * k * k; }
};
struct EpanechnikovKernel {
  CK_INLINE Doubles value(const Doubles& t) {
    return select(t < doubles(1.0), doubles(1.0) - t, doubles(0.0));
  }
  CK_INLINE Doubles first(const Doubles& k) {
    return select(k > doubles(0.0), doubles(-1.0), doubles(0.0));
  }
  CK_INLINE Doubles second(const Doubles&) { return doubles(0.0); }
};

// One query against all points. D coordinates, or pairs.d of them if D is 0.
template <class K, Want WANT, int D>
static void sum_row_of(const AllPairs& pairs, const Columns& columns, std::int64_t n,
                       const PairSums& out, double* scratch) {
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
    const Doubles k = K::value(t);
    value = value + w * k;
    if (WANT == Want::VALUE) continue;
    if (WANT != Want::PRODUCT) {
      const Doubles k1 = w * K::first(k);
      slope = slope + k1;
      for (int i = 0; i < d; ++i) force[i] = force[i] + k1 * gap[i];
    }
    if (WANT == Want::CURVATURE || WANT == Want::PRODUCT) {
      const Doubles k2 = w * K::second(k);
      for (int i = 0; i < d; ++i) {
        Doubles term = k2 * gap[i] * gap[i];
        if (WANT == Want::PRODUCT)
          term = term * load<Doubles>(columns.vectors + i * stride + m);
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
CK_INLINE void sum_row_dim(const AllPairs& pairs, const Columns& columns, std::int64_t n,
                           const PairSums& out, double* scratch) {
  switch (pairs.d) {
    case 1: return sum_row_of<K, WANT, 1>(pairs, columns, n, out, scratch);
    case 2: return sum_row_of<K, WANT, 2>(pairs, columns, n, out, scratch);
    case 3: return sum_row_of<K, WANT, 3>(pairs, columns, n, out, scratch);
    default: return sum_row_of<K, WANT, 0>(pairs, columns, n, out, scratch);
  }
}

template <class K>
CK_INLINE void sum_row_want(const AllPairs& pairs, const Columns& columns, Want want, std::int64_t n,
                            const PairSums& out, double* scratch) {
  switch (want) {
    case Want::VALUE: return sum_row_dim<K, Want::VALUE>(pairs, columns, n, out, scratch);
    case Want::FORCE: return sum_row_dim<K, Want::FORCE>(pairs, columns, n, out, scratch);
    case Want::CURVATURE: return sum_row_dim<K, Want::CURVATURE>(pairs, columns, n, out, scratch);
    case Want::PRODUCT: return sum_row_dim<K, Want::PRODUCT>(pairs, columns, n, out, scratch);
  }
}

void sum_row(const AllPairs& pairs, const Columns& columns, Kernel kernel, Want want,
             std::int64_t n, const PairSums& out, double* scratch) {
  switch (kernel) {
    case Kernel::GAUSSIAN: return sum_row_want<GaussianKernel>(pairs, columns, want, n, out, scratch);
    case Kernel::STUDENT: return sum_row_want<StudentKernel>(pairs, columns, want, n, out, scratch);
    case Kernel::EPANECHNIKOV:
      return sum_row_want<EpanechnikovKernel>(pairs, columns, want, n, out, scratch);
  }
}

// -log K and its derivative, for attraction. The Epanechnikov kernel repels only; with it the
// attraction is quadratic, as with the Gaussian.
template <bool STUDENT, class I>
static double sum_edges_plain(const Edges<I>& e, double* force, std::int64_t begin,
                              std::int64_t end) {
  const int d = e.d;
  double total = 0.0;
  for (std::int64_t n = begin; n < end; ++n) {
    const double* x = e.queries + n * d;
    double* f = force ? force + n * d : nullptr;
    if (f)
      for (int i = 0; i < d; ++i) f[i] = 0.0;
    double row = 0.0;
    for (I j = e.indptr[n]; j < e.indptr[n + 1]; ++j) {
      const double* y = e.points + static_cast<std::int64_t>(e.indices[j]) * d;
      double t = 0.0;
      for (int i = 0; i < d; ++i) t += (x[i] - y[i]) * (x[i] - y[i]);
      row += e.weights[j] * (STUDENT ? std::log1p(t) : t);
      if (!f) continue;
      const double w = STUDENT ? e.weights[j] / (1.0 + t) : e.weights[j];
      for (int i = 0; i < d; ++i) f[i] += w * (x[i] - y[i]);
    }
    total += row;
  }
  return total;
}

template <class I>
double sum_edges_of_rows(const Edges<I>& edges, Kernel kernel, double* force, std::int64_t begin,
                         std::int64_t end) {
  return kernel == Kernel::STUDENT ? sum_edges_plain<true>(edges, force, begin, end)
                                   : sum_edges_plain<false>(edges, force, begin, end);
}
template double sum_edges_of_rows<std::int32_t>(const Edges<std::int32_t>&, Kernel, double*,
                                                std::int64_t, std::int64_t);
template double sum_edges_of_rows<std::int64_t>(const Edges<std::int64_t>&, Kernel, double*,
                                                std::int64_t, std::int64_t);

}  // namespace CK_ISA
}  // namespace closeknit
