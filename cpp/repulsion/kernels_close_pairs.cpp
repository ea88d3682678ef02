// Sums over close pairs, compiled once per instruction set.
#include "repulsion/kernels_close_pairs.h"

#include "common/elementary.h"

namespace closeknit::CK_ISA {

template <class T>
constexpr int LANES = 32 / sizeof(T);
template <class T>
using Lanes = Vec<T, LANES<T>>;

// K and its derivative with respect to t = ‖x - y‖², given t and K.
template <class T>
struct Student {  // 1 / (1 + t)
  explicit Student(const Kernel&) {}
  inline Lanes<T> value(const Lanes<T>& t) const {
    return all<Lanes<T>>(T(1)) / (all<Lanes<T>>(T(1)) + t);
  }
  inline Lanes<T> slope(const Lanes<T>&, const Lanes<T>& k) const {
    return all<Lanes<T>>(T(0)) - k * k;
  }
};
template <class T>
struct StudentPower {
  Lanes<T> inverse, power;
  explicit StudentPower(const Kernel& kernel)
      : inverse(all<Lanes<T>>(T(1.0 / kernel.scale))), power(all<Lanes<T>>(T(kernel.power))) {}
  inline Lanes<T> value(const Lanes<T>& t) const {
    const Lanes<T> exponent[1] = {all<Lanes<T>>(T(0)) -
                                  power * log2(all<Lanes<T>>(T(1)) + t * inverse)};
    Lanes<T> k[1];
    exp2_many<1>(exponent, k);
    return k[0];
  }
  inline Lanes<T> slope(const Lanes<T>& t, const Lanes<T>& k) const {
    return all<Lanes<T>>(T(0)) - power * inverse * k / (all<Lanes<T>>(T(1)) + t * inverse);
  }
};

// The kernel less its Taylor polynomial.
template <class T, class K>
struct Tapered {
  K kernel;
  Lanes<T> squared_radius, per_t, c[TAPER_ORDER + 1];
  explicit Tapered(const Taper& taper) : kernel(taper.kernel) {
    const double r2 = taper.radius * taper.radius;
    squared_radius = all<Lanes<T>>(T(r2));
    per_t = all<Lanes<T>>(T(1.0 / (taper.kernel.scale + r2)));
    for (int j = 0; j <= TAPER_ORDER; ++j) c[j] = all<Lanes<T>>(T(taper.coefficients[j]));
  }
  // Positive within the radius.
  inline Lanes<T> inside(const Lanes<T>& t) const { return (squared_radius - t) * per_t; }
  inline void at(const Lanes<T>& t, const Lanes<T>& v, Lanes<T>& value, Lanes<T>& slope) const {
    const Lanes<T> k = kernel.value(t);
    Lanes<T> polynomial = c[TAPER_ORDER], derivative = all<Lanes<T>>(T(0));
    for (int j = TAPER_ORDER - 1; j >= 0; --j) {
      derivative = derivative * v + polynomial;
      polynomial = polynomial * v + c[j];
    }
    value = k - polynomial;
    slope = kernel.slope(t, k) + per_t * derivative;
  }
};

template <class T, class K, int D>
static void close_in(const Cells& cells, const Taper& taper, const SortedPoints<T>& sorted,
                     const double* points, std::int64_t begin, std::int64_t end, double* value,
                     double* gradient) {
  using V = Lanes<T>;
  constexpr int W = LANES<T>;
  const V zero = all<V>(T(0)), two = all<V>(T(2));
  V lane;
  for (int l = 0; l < W; ++l) lane[l] = T(l);
  const Tapered<T, K> kernel(taper);
  V own, no_force;
  kernel.at(zero, kernel.inside(zero), own, no_force);
  const std::int64_t last = D - 1, columns = cells.size[last];
  // Rows of cells around a point's own: one, three or nine.
  const int n_rows = D == 1 ? 1 : D == 2 ? 3 : 9;
  for (std::int64_t q = begin; q < end; ++q) {
    const std::int64_t n = sorted.order[q];
    const double* at = points + n * D;
    std::int64_t cell[D];
    V x[D], force[D], sums = zero;
    for (int c = 0; c < D; ++c) {
      cell[c] = cell_along(cells, c, at[c]);
      x[c] = all<V>(T(sorted.columns[c * sorted.stride + q]));
      force[c] = zero;
    }
    const std::int64_t first = cell[last] > 0 ? cell[last] - 1 : 0;
    const std::int64_t beyond = cell[last] + 2 < columns ? cell[last] + 2 : columns;
    for (int r = 0; r < n_rows; ++r) {
      std::int64_t row = 0;
      bool there = true;
      for (int c = 0; c < last; ++c) {
        const std::int64_t i = cell[c] + (c + 1 == last ? r % 3 : r / 3) - 1;
        there = there && i >= 0 && i < cells.size[c];
        row = row * cells.size[c] + i;
      }
      if (!there) continue;
      const std::int64_t stop = sorted.starts[row * columns + beyond];
      for (std::int64_t m = sorted.starts[row * columns + first]; m < stop; m += W) {
        V gap[D], t = zero;
        for (int c = 0; c < D; ++c) {
          gap[c] = x[c] - load<V>(sorted.columns + c * sorted.stride + m);
          t = t + gap[c] * gap[c];
        }
        const V v = kernel.inside(t);
        V k, slope;
        kernel.at(t, v, k, slope);
        V w = sorted.weights ? load<V>(sorted.weights + m) : all<V>(T(1));
        w = select(v > zero, w, zero);
        if (m + W > stop) w = select(lane < all<V>(T(stop - m)), w, zero);
        sums = sums + w * k;
        slope = two * w * slope;
        for (int c = 0; c < D; ++c) force[c] = force[c] + slope * gap[c];
      }
    }
    const T weight = sorted.weights ? sorted.weights[q] : T(1);
    value[n] += static_cast<double>(sum(sums) - weight * own[0]);
    for (int c = 0; gradient && c < D; ++c)
      gradient[n * D + c] += static_cast<double>(sum(force[c]));
  }
}

template <class T, class K>
CK_INLINE void close_by_dimension(const Cells& cells, const Taper& taper,
                                  const SortedPoints<T>& sorted, const double* points,
                                  std::int64_t begin, std::int64_t end, double* value,
                                  double* gradient) {
  switch (cells.d) {
    case 1:
      return close_in<T, K, 1>(cells, taper, sorted, points, begin, end, value, gradient);
    case 2:
      return close_in<T, K, 2>(cells, taper, sorted, points, begin, end, value, gradient);
    case 3:
      return close_in<T, K, 3>(cells, taper, sorted, points, begin, end, value, gradient);
  }
}

template <class T>
void close_pairs_of(const Cells& cells, const Taper& taper, const SortedPoints<T>& sorted,
                    const double* points, std::int64_t begin, std::int64_t end, double* value,
                    double* gradient) {
  if (is_plain(taper.kernel))
    return close_by_dimension<T, Student<T>>(cells, taper, sorted, points, begin, end, value,
                                             gradient);
  close_by_dimension<T, StudentPower<T>>(cells, taper, sorted, points, begin, end, value, gradient);
}

#define CK_INSTANTIATE(T)                                                             \
  template void close_pairs_of<T>(const Cells&, const Taper&, const SortedPoints<T>&, \
                                  const double*, std::int64_t, std::int64_t, double*, double*);
CK_INSTANTIATE(float)
CK_INSTANTIATE(double)
#undef CK_INSTANTIATE

}  // namespace closeknit::CK_ISA
