// Eight floats or four doubles as one value.
//
// GCC and Clang lower their vector types to whatever the target has, so one source serves SSE2,
// AVX2 and NEON; elsewhere a plain loop does the same arithmetic. Everything that is compiled per
// instruction set lives in the namespace CK_ISA, templates included: the linker must never merge
// an AVX2 instantiation into the baseline.
#pragma once

#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace closeknit::CK_ISA {

#if defined(__GNUC__) || defined(__clang__)
typedef float Vec8f __attribute__((vector_size(32)));
typedef double Vec4d __attribute__((vector_size(32)));
#else
template <class T, int N>
struct Lanes {
  T lane[N];
  T operator[](int i) const { return lane[i]; }
  Lanes& operator+=(const Lanes& o) {
    for (int i = 0; i < N; ++i) lane[i] += o.lane[i];
    return *this;
  }
  friend Lanes operator*(T a, const Lanes& b) {
    Lanes c;
    for (int i = 0; i < N; ++i) c.lane[i] = a * b.lane[i];
    return c;
  }
  friend Lanes operator*(const Lanes& a, const Lanes& b) {
    Lanes c;
    for (int i = 0; i < N; ++i) c.lane[i] = a.lane[i] * b.lane[i];
    return c;
  }
  friend Lanes operator-(const Lanes& a, const Lanes& b) {
    Lanes c;
    for (int i = 0; i < N; ++i) c.lane[i] = a.lane[i] - b.lane[i];
    return c;
  }
};
using Vec8f = Lanes<float, 8>;
using Vec4d = Lanes<double, 4>;
#endif

template <class T>
struct VectorOf;
template <>
struct VectorOf<float> {
  using type = Vec8f;
  static constexpr int lanes = 8;
};
template <>
struct VectorOf<double> {
  using type = Vec4d;
  static constexpr int lanes = 4;
};

template <class T>
inline typename VectorOf<T>::type load(const T* p) {
  typename VectorOf<T>::type v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

template <class T>
inline void store(T* p, const typename VectorOf<T>::type& v) {
  std::memcpy(p, &v, sizeof v);
}

// Four numbers as float64.
inline Vec4d load_double(const double* p) { return load(p); }
inline Vec4d load_double(const float* p) {
#if defined(__AVX2__)
  return (Vec4d)_mm256_cvtps_pd(_mm_loadu_ps(p));
#else
  const double widened[4] = {p[0], p[1], p[2], p[3]};
  return load(widened);
#endif
}

// Is any of the 16 values at p at most t? The common answer is no, and must be cheap.
inline bool any_at_most(const float* p, float t) {
#if defined(__AVX2__)
  const __m256 limit = _mm256_set1_ps(t);
  const __m256 low = _mm256_min_ps(_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8));
  return _mm256_movemask_ps(_mm256_cmp_ps(low, limit, _CMP_LE_OQ)) != 0;
#else
  int any = 0;
  for (int i = 0; i < 16; ++i) any |= p[i] <= t;
  return any != 0;
#endif
}

}  // namespace closeknit::CK_ISA
