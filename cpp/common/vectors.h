// Vectors by the type of their lanes, for code that is the same for floats and doubles.
#pragma once

#include "common/simd.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace closeknit::CK_ISA {

template <class T>
struct LanesOf;
template <>
struct LanesOf<float> {
  using type = Floats;
  static constexpr int lanes = NARROW;
};
template <>
struct LanesOf<double> {
  using type = Doubles;
  static constexpr int lanes = WIDE;
};

template <class T>
inline typename LanesOf<T>::type load(const T* p) {
  return load<typename LanesOf<T>::type>(static_cast<const void*>(p));
}

CK_INLINE std::int64_t smaller(std::int64_t a, std::int64_t b) { return b < a ? b : a; }

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
