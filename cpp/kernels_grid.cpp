// Spreading onto and gathering from a grid of B-splines, compiled once per instruction set.
#include "kernels_grid.h"

#include <cmath>

#include "simd.h"

namespace closeknit {
namespace CK_ISA {

// The P + 1 splines of degree P that touch a point, and their derivatives with respect to the
// point's position in units of the spacing (de Boor's recurrence on equally spaced knots).
template <class T, int P>
struct Splines {
  T w[P + 1], dw[P + 1];
  std::int64_t first;  // node of w[0]

  CK_INLINE void raise(T (&b)[P + 1], int k, T f) {  // from degree k - 1 to k
    for (int j = k; j >= 0; --j) {
      const T below = j > 0 ? b[j - 1] : T(0), here = j < k ? b[j] : T(0);
      b[j] = ((f + T(k - j)) * below + (T(1 + j) - f) * here) * T(1.0 / k);
    }
  }

  inline void at(double u) {
    const double whole = std::floor(u);
    const T f = static_cast<T>(u - whole);
    first = static_cast<std::int64_t>(whole) - (P - 1) / 2;
    for (int j = 0; j <= P; ++j) w[j] = T(0);
    w[0] = T(1);
    for (int k = 1; k < P; ++k) raise(w, k, f);
    for (int j = 0; j <= P; ++j) dw[j] = (j > 0 ? w[j - 1] : T(0)) - (j < P ? w[j] : T(0));
    raise(w, P, f);
  }
};

// Σ over pairs of a point's own splines at distance k, with and without one derivative.
template <int P>
struct OwnPairs {
  double c[P + 1], dc[P + 1];

  template <class T>
  inline void of(const Splines<T, P>& s) {
    for (int k = 0; k <= P; ++k) {
      c[k] = dc[k] = 0.0;
      for (int a = 0; a + k <= P; ++a) {
        c[k] += double(s.w[a]) * double(s.w[a + k]);
        dc[k] += double(s.dw[a]) * double(s.w[a + k]);
        if (k > 0) dc[k] += double(s.dw[a + k]) * double(s.w[a]);
      }
      if (k > 0) c[k] *= 2.0;
    }
  }
};

// value and d derivatives of a product of splines with coefficients at `nodes`.
template <class T, int D, int P>
struct Patch;

template <class T, int P>
struct Patch<T, 1, P> {
  static inline void add(T* nodes, const std::int64_t*, const Splines<T, P>* s, T weight) {
    for (int j = 0; j <= P; ++j) nodes[j] += weight * s[0].w[j];
  }
  static inline void read(const T* nodes, const std::int64_t*, const Splines<T, P>* s, T* out) {
    T value = 0, slope = 0;
    for (int j = 0; j <= P; ++j) {
      value += nodes[j] * s[0].w[j];
      slope += nodes[j] * s[0].dw[j];
    }
    out[0] = value;
    out[1] = slope;
  }
};

template <class T, int P>
struct Patch<T, 2, P> {
  static inline void add(T* nodes, const std::int64_t* stride, const Splines<T, P>* s, T weight) {
    for (int i = 0; i <= P; ++i) {
      T* row = nodes + i * stride[0];
      const T w = weight * s[0].w[i];
      for (int j = 0; j <= P; ++j) row[j] += w * s[1].w[j];
    }
  }
  static inline void read(const T* nodes, const std::int64_t* stride, const Splines<T, P>* s,
                          T* out) {
    T sums[P + 1] = {}, slopes[P + 1] = {};
    for (int i = 0; i <= P; ++i) {
      const T* row = nodes + i * stride[0];
      for (int j = 0; j <= P; ++j) sums[j] += s[0].w[i] * row[j];
      for (int j = 0; j <= P; ++j) slopes[j] += s[0].dw[i] * row[j];
    }
    T value = 0, first = 0, second = 0;
    for (int j = 0; j <= P; ++j) {
      value += sums[j] * s[1].w[j];
      first += slopes[j] * s[1].w[j];
      second += sums[j] * s[1].dw[j];
    }
    out[0] = value;
    out[1] = first;
    out[2] = second;
  }
};

template <class T, int P>
struct Patch<T, 3, P> {
  static inline void add(T* nodes, const std::int64_t* stride, const Splines<T, P>* s, T weight) {
    for (int i = 0; i <= P; ++i)
      Patch<T, 2, P>::add(nodes + i * stride[0], stride + 1, s + 1, weight * s[0].w[i]);
  }
  static inline void read(const T* nodes, const std::int64_t* stride, const Splines<T, P>* s,
                          T* out) {
    for (int c = 0; c <= 3; ++c) out[c] = 0;
    for (int i = 0; i <= P; ++i) {
      T plane[3];
      Patch<T, 2, P>::read(nodes + i * stride[0], stride + 1, s + 1, plane);
      out[0] += s[0].w[i] * plane[0];
      out[1] += s[0].dw[i] * plane[0];
      out[2] += s[0].w[i] * plane[1];
      out[3] += s[0].w[i] * plane[2];
    }
  }
};

// A point's own share of the potential: the kernel between all pairs of its own splines.
template <int D, int P>
static inline void own_share(const double* own, const OwnPairs<P>* pairs, double* out) {
  constexpr int W = P + 1;
  if (D == 1) {
    out[0] = out[1] = 0.0;
    for (int k = 0; k < W; ++k) {
      out[0] += own[k] * pairs[0].c[k];
      out[1] += own[k] * pairs[0].dc[k];
    }
    return;
  }
  double inner[MAX_DIMENSIONS + 1];
  constexpr int BELOW = D > 1 ? D - 1 : 1;
  int block = 1;
  for (int i = 1; i < D; ++i) block *= W;
  for (int c = 0; c <= D; ++c) out[c] = 0.0;
  for (int k = 0; k < W; ++k) {
    own_share<BELOW, P>(own + k * block, pairs + 1, inner);
    out[0] += pairs[0].c[k] * inner[0];
    out[1] += pairs[0].dc[k] * inner[0];
    for (int c = 1; c < D; ++c) out[c + 1] += pairs[0].c[k] * inner[c];
  }
}

template <class T, int D, int P>
static inline std::int64_t locate(const Grid& grid, const std::int64_t* stride, const double* x,
                                  double inverse, Splines<T, P>* s) {
  std::int64_t node = 0;
  for (int c = 0; c < D; ++c) {
    s[c].at((x[c] - grid.origin[c]) * inverse);
    node += s[c].first * stride[c];
  }
  return node;
}

template <class T, int D, int P>
static void spread_in(const Grid& grid, const double* points, const double* weights,
                      const std::int64_t* begin, const std::int64_t* end, T* nodes) {
  std::int64_t stride[MAX_DIMENSIONS];
  stride[D - 1] = 1;
  for (int c = D - 1; c > 0; --c) stride[c - 1] = stride[c] * grid.size[c];
  const double inverse = 1.0 / grid.spacing;
  Splines<T, P> s[D];
  for (const std::int64_t* m = begin; m < end; ++m) {
    const std::int64_t node = locate<T, D, P>(grid, stride, points + *m * D, inverse, s);
    Patch<T, D, P>::add(nodes + node, stride, s, weights ? static_cast<T>(weights[*m]) : T(1));
  }
}

template <class T, int D, int P>
static void gather_in(const Grid& grid, const Potential<T>& potential, const double* points,
                      const double* weights, const std::int64_t* begin, const std::int64_t* end,
                      double* value, double* gradient) {
  const double inverse = 1.0 / grid.spacing;
  Splines<T, P> s[D];
  OwnPairs<P> pairs[D];
  T found[D + 1];
  double own[D + 1] = {};
  for (const std::int64_t* m = begin; m < end; ++m) {
    const std::int64_t node = locate<T, D, P>(grid, potential.stride, points + *m * D, inverse, s);
    Patch<T, D, P>::read(potential.nodes + node, potential.stride, s, found);
    if (potential.own) {
      for (int c = 0; c < D; ++c) pairs[c].of(s[c]);
      own_share<D, P>(potential.own, pairs, own);
    }
    const double weight = weights ? weights[*m] : 1.0;
    value[*m] = found[0] - weight * own[0];
    if (gradient)
      for (int c = 0; c < D; ++c)
        gradient[*m * D + c] = (found[c + 1] - weight * own[c + 1]) * inverse;
  }
}

// Calls f<T, D, P>(…) for the grid's d and degree.
#define CK_BY_GRID(f, T, ...)                                         \
  switch (grid.d * 10 + grid.degree) {                                \
    case 13: return f<T, 1, 3>(__VA_ARGS__);                          \
    case 15: return f<T, 1, 5>(__VA_ARGS__);                          \
    case 23: return f<T, 2, 3>(__VA_ARGS__);                          \
    case 25: return f<T, 2, 5>(__VA_ARGS__);                          \
    case 33: return f<T, 3, 3>(__VA_ARGS__);                          \
    case 35: return f<T, 3, 5>(__VA_ARGS__);                          \
  }

template <class T>
void spread_points(const Grid& grid, const double* points, const double* weights,
                   const std::int64_t* begin, const std::int64_t* end, T* nodes) {
  CK_BY_GRID(spread_in, T, grid, points, weights, begin, end, nodes)
}

template <class T>
void gather_points(const Grid& grid, const Potential<T>& potential, const double* points,
                   const double* weights, const std::int64_t* begin, const std::int64_t* end,
                   double* value, double* gradient) {
  CK_BY_GRID(gather_in, T, grid, potential, points, weights, begin, end, value, gradient)
}

#define CK_INSTANTIATE(T)                                                                         \
  template void spread_points<T>(const Grid&, const double*, const double*, const std::int64_t*,  \
                                 const std::int64_t*, T*);                                        \
  template void gather_points<T>(const Grid&, const Potential<T>&, const double*, const double*,  \
                                 const std::int64_t*, const std::int64_t*, double*, double*);
CK_INSTANTIATE(float)
CK_INSTANTIATE(double)
#undef CK_INSTANTIATE

}  // namespace CK_ISA
}  // namespace closeknit
