// Spreading onto and gathering from a grid of B-splines, compiled once per instruction set.
#include "repulsion/kernels_grid.h"

#include "common/simd.h"

namespace closeknit::CK_ISA {

// Vectors with a lane for each of the P + 1 splines that touch a point; the rest are zero.
template <class T, int P>
using Lanes = Vec<T, lanes(P)>;

// Polynomials in a point's place f between two nodes, one in each lane, evaluated by Horner's rule.
template <class T, int P, int DEGREE>
struct Polynomials {
  Lanes<T, P> coefficients[DEGREE + 1];

  void set(int lane, int power, double coefficient) {
    coefficients[power][lane] = static_cast<T>(coefficient);
  }
  inline Lanes<T, P> at(T f) const {
    const Lanes<T, P> x = all<Lanes<T, P>>(f);
    Lanes<T, P> sum = coefficients[DEGREE];
    for (int k = DEGREE - 1; k >= 0; --k) sum = sum * x + coefficients[k];
    return sum;
  }
};

// The B-splines of degree P on equally spaced knots as polynomials in f, by de Boor's recurrence,
// and what pairs of a point's own splines k nodes apart add up to: Σ_a w_a w_{a+k}, twice for k >
// 0.
template <class T, int P>
struct Basis {
  Polynomials<T, P, P> splines;
  Polynomials<T, P, P - 1> slopes;
  Polynomials<T, P, 2 * P> pairs;
  Polynomials<T, P, 2 * P - 1> pair_slopes;  // with respect to one of the two

  Basis() {
    double w[P + 1][P + 2] = {};
    w[0][0] = 1.0;
    for (int k = 1; k <= P; ++k)
      for (int j = k; j >= 0; --j)
        for (int i = k; i >= 0; --i) {
          // w_j ← ((f + k - j) w_{j-1} + (1 + j - f) w_j) / k, coefficient by coefficient
          const double below = j > 0 ? w[j - 1][i] : 0.0,
                       below_f = j > 0 && i > 0 ? w[j - 1][i - 1] : 0.0;
          const double here = j < k ? w[j][i] : 0.0, here_f = j < k && i > 0 ? w[j][i - 1] : 0.0;
          w[j][i] = ((k - j) * below + below_f + (1 + j) * here - here_f) / k;
        }
    for (int j = 0; j < lanes(P); ++j) {
      double m[2 * P + 1] = {};
      for (int a = 0; j <= P && a + j <= P; ++a)
        for (int i = 0; i <= P; ++i)
          for (int l = 0; l <= P; ++l) m[i + l] += (j > 0 ? 2.0 : 1.0) * w[a][i] * w[a + j][l];
      for (int i = 0; i <= P; ++i) splines.set(j, i, j <= P ? w[j][i] : 0.0);
      for (int i = 1; i <= P; ++i) slopes.set(j, i - 1, j <= P ? i * w[j][i] : 0.0);
      for (int i = 0; i <= 2 * P; ++i) pairs.set(j, i, m[i]);
      for (int i = 1; i <= 2 * P; ++i) pair_slopes.set(j, i - 1, 0.5 * i * m[i]);
    }
  }
};

// Sum of the lanes, always in the same order.
template <class T, int N>
CK_INLINE T sum_lanes(const T (&v)[N]) {
  if (N == 4) return (v[0] + v[2]) + (v[1] + v[3]);
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}
template <class T, int P>
CK_INLINE T dot(const Lanes<T, P>& a, const Lanes<T, P>& b) {
  constexpr int N = lanes(P);
  const Lanes<T, P> product = a * b;
  T lanes[N];
  store(lanes, product);
  return sum_lanes<T, N>(lanes);
}

// Along one axis: weights (of splines, or of pairs of them) and their slopes.
template <class T, int P>
struct Factors {
  Lanes<T, P> w, dw;
};

// Σ_{i, j, …} w_i w_j … c_{ij…} of coefficients with the given strides, and its d slopes. Value and
// slopes are contracted axis by axis, the last one in vectors.
template <class T, int D, int P>
struct Contract;

template <class T, int P>
struct Contract<T, 1, P> {
  CK_INLINE void of(const T* c, const std::int64_t*, const Factors<T, P>* s, T* out) {
    const auto row = load<Lanes<T, P>>(c);
    out[0] = dot<T, P>(row, s[0].w);
    out[1] = dot<T, P>(row, s[0].dw);
  }
};
template <class T, int P>
struct Contract<T, 2, P> {
  CK_INLINE void of(const T* c, const std::int64_t* stride, const Factors<T, P>* s, T* out) {
    auto sums = all<Lanes<T, P>>(T(0)), slopes = sums;
    for (int i = 0; i <= P; ++i) {
      const auto row = load<Lanes<T, P>>(c + i * stride[0]);
      sums = sums + all<Lanes<T, P>>(T(s[0].w[i])) * row;
      slopes = slopes + all<Lanes<T, P>>(T(s[0].dw[i])) * row;
    }
    out[0] = dot<T, P>(sums, s[1].w);
    out[1] = dot<T, P>(slopes, s[1].w);
    out[2] = dot<T, P>(sums, s[1].dw);
  }
};
template <class T, int P>
struct Contract<T, 3, P> {
  CK_INLINE void of(const T* c, const std::int64_t* stride, const Factors<T, P>* s, T* out) {
    for (int k = 0; k <= 3; ++k) out[k] = T(0);
    for (int i = 0; i <= P; ++i) {
      T plane[3];
      Contract<T, 2, P>::of(c + i * stride[0], stride + 1, s + 1, plane);
      out[0] += s[0].w[i] * plane[0];
      out[1] += s[0].dw[i] * plane[0];
      out[2] += s[0].w[i] * plane[1];
      out[3] += s[0].w[i] * plane[2];
    }
  }
};

// Adds weight · w_i w_j … to the nodes.
template <class T, int D, int P>
struct Add {
  CK_INLINE void to(T* nodes, const std::int64_t* stride, const Lanes<T, P>* w, T weight) {
    for (int i = 0; i <= P; ++i)
      Add<T, D - 1, P>::to(nodes + i * stride[0], stride + 1, w + 1, weight * w[0][i]);
  }
};
template <class T, int P>
struct Add<T, 1, P> {
  CK_INLINE void to(T* nodes, const std::int64_t*, const Lanes<T, P>* w, T weight) {
    store(nodes, load<Lanes<T, P>>(nodes) + all<Lanes<T, P>>(weight) * w[0]);
  }
};

// The first node that a point's splines touch; its place between two nodes into `f`.
template <class T, int D, int P>
CK_INLINE std::int64_t locate(const Grid& grid, const std::int64_t* stride, const double* x,
                              double inverse, T* f) {
  std::int64_t node = 0;
  for (int c = 0; c < D; ++c) {
    const double u = (x[c] - grid.origin[c]) * inverse;
    const auto whole = static_cast<std::int64_t>(u);  // the grid begins below every point
    f[c] = static_cast<T>(u - static_cast<double>(whole));
    node += (whole - (P - 1) / 2) * stride[c];
  }
  return node;
}

// Points lie anywhere in memory, in an order that the processor cannot guess: they are asked for so
// many turns before theirs.
constexpr std::int64_t AHEAD = 16;

template <class T, int D, int P>
static void spread_in(const Grid& grid, const double* points, const double* weights,
                      const std::int64_t* begin, const std::int64_t* end, T* nodes) {
  std::int64_t stride[MAX_DIMENSIONS];
  stride[D - 1] = 1;
  for (int c = D - 1; c > 0; --c) stride[c - 1] = stride[c] * grid.size[c];
  const double inverse = 1.0 / grid.spacing;
  const Basis<T, P> basis;
  T f[D];
  Lanes<T, P> w[D];
  for (const std::int64_t* m = begin; m < end; ++m) {
    if (m + AHEAD < end) CK_PREFETCH(points + m[AHEAD] * D);
    const std::int64_t node = locate<T, D, P>(grid, stride, points + *m * D, inverse, f);
    for (int c = 0; c < D; ++c) w[c] = basis.splines.at(f[c]);
    Add<T, D, P>::to(nodes + node, stride, w, weights ? static_cast<T>(weights[*m]) : T(1));
  }
}

template <class T, int D, int P>
static void gather_in(const Grid& grid, const Potential<T>& potential, const double* points,
                      const double* weights, const std::int64_t* begin, const std::int64_t* end,
                      double* value, double* gradient) {
  const double inverse = 1.0 / grid.spacing;
  constexpr std::int64_t W = lanes(P);
  const std::int64_t own_stride[] = {D == 3 ? W * W : W, W, 1};
  const Basis<T, P> basis;
  Factors<T, P> s[D];
  T f[D], found[D + 1], own[D + 1] = {};
  for (const std::int64_t* m = begin; m < end; ++m) {
    if (m + AHEAD < end) {
      CK_PREFETCH(points + m[AHEAD] * D);
      CK_PREFETCH_TO_WRITE(value + m[AHEAD]);
      if (gradient) CK_PREFETCH_TO_WRITE(gradient + m[AHEAD] * D);
    }
    const std::int64_t node = locate<T, D, P>(grid, potential.stride, points + *m * D, inverse, f);
    for (int c = 0; c < D; ++c) s[c] = {basis.splines.at(f[c]), basis.slopes.at(f[c])};
    Contract<T, D, P>::of(potential.nodes + node, potential.stride, s, found);
    if (potential.own) {
      for (int c = 0; c < D; ++c) s[c] = {basis.pairs.at(f[c]), basis.pair_slopes.at(f[c])};
      Contract<T, D, P>::of(potential.own, own_stride, s, own);
    }
    const double weight = weights ? weights[*m] : 1.0;
    value[*m] = found[0] - weight * own[0];
    if (gradient)
      for (int c = 0; c < D; ++c)
        gradient[*m * D + c] = (found[c + 1] - weight * own[c + 1]) * inverse;
  }
}

bool are_between_limits(const double* values, std::int64_t n, const double* low,
                        const double* high) {
  constexpr int N = LIMITS / WIDE;
  const Doubles one = doubles(1.0), zero = doubles(0.0);
  Doubles inside[N] = {one, one, one};
  std::int64_t i = 0;
  for (; i + LIMITS <= n; i += LIMITS)
    for (int v = 0; v < N; ++v) {
      const Doubles x = load<Doubles>(values + i + v * WIDE);
      inside[v] = select(x >= load<Doubles>(low + v * WIDE), inside[v], zero);
      inside[v] = select(x <= load<Doubles>(high + v * WIDE), inside[v], zero);
    }
  bool all_inside = sum(inside[0] + inside[1] + inside[2]) == LIMITS;
  for (int l = 0; i < n; ++i, ++l)
    all_inside = all_inside && values[i] >= low[l] && values[i] <= high[l];
  return all_inside;
}

// Calls f<T, D, P>(…) for the grid's d and degree.
#define CK_BY_GRID(f, T, ...)          \
  switch (grid.d * 10 + grid.degree) { \
    case 13:                           \
      return f<T, 1, 3>(__VA_ARGS__);  \
    case 15:                           \
      return f<T, 1, 5>(__VA_ARGS__);  \
    case 23:                           \
      return f<T, 2, 3>(__VA_ARGS__);  \
    case 25:                           \
      return f<T, 2, 5>(__VA_ARGS__);  \
    case 33:                           \
      return f<T, 3, 3>(__VA_ARGS__);  \
    case 35:                           \
      return f<T, 3, 5>(__VA_ARGS__);  \
  }

template <class T>
void spread_points(const Grid& grid, const double* points, const double* weights,
                   const std::int64_t* begin, const std::int64_t* end, T* nodes) {
  CK_BY_GRID(spread_in, T, grid, points, weights, begin, end, nodes)
}

template <class T>
void gather_points(const Grid& grid, const Potential<T>& potential, const double* points,
                   const double* weights, const std::int64_t* begin, const std::int64_t* end,
                   double* value, double* gradient){
    CK_BY_GRID(gather_in, T, grid, potential, points, weights, begin, end, value, gradient)}

#define CK_INSTANTIATE(T)                                                                        \
  template void spread_points<T>(const Grid&, const double*, const double*, const std::int64_t*, \
                                 const std::int64_t*, T*);                                       \
  template void gather_points<T>(const Grid&, const Potential<T>&, const double*, const double*, \
                                 const std::int64_t*, const std::int64_t*, double*, double*);
CK_INSTANTIATE(float) CK_INSTANTIATE(double)
#undef CK_INSTANTIATE

}  // namespace closeknit::CK_ISA
