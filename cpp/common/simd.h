// Short vectors of numbers with the usual operators.
//
// GCC and Clang lower their vector extension to whatever registers the translation unit is
// compiled for (AVX2, SSE2, NEON); other compilers get plain arrays with the same operators.
// Everything is inside the instruction set's namespace (see isa.h).
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "common/prefetch.h"

#if defined(_MSC_VER) && !defined(__clang__)
#define CK_INLINE static __forceinline
#else
#define CK_INLINE static inline __attribute__((always_inline))
#endif

namespace closeknit::CK_ISA {

#if defined(__GNUC__) && !defined(CK_PORTABLE_SIMD)

template <class T, int W>
struct VectorOf {
  typedef T type __attribute__((vector_size(W * sizeof(T))));
};
template <class T, int W>
using Vec = typename VectorOf<T, W>::type;

template <class To, class From>
CK_INLINE To bits_as(From x) {
  return (To)x;
}
template <class V, class M>
CK_INLINE V select(M mask, V yes, V no) {
  return mask ? yes : no;
}

#else

template <class T, int W>
struct Vec {
  T lane[W];
  T operator[](int i) const { return lane[i]; }
  T& operator[](int i) { return lane[i]; }
};

template <class T>
struct IntegerLike;
template <>
struct IntegerLike<double> {
  using type = std::int64_t;
};
template <>
struct IntegerLike<float> {
  using type = std::int32_t;
};
template <>
struct IntegerLike<std::int64_t> {
  using type = std::int64_t;
};
template <>
struct IntegerLike<std::int32_t> {
  using type = std::int32_t;
};

#define CK_ARITHMETIC(op)                                                   \
  template <class T, int W>                                                 \
  CK_INLINE Vec<T, W> operator op(const Vec<T, W>& a, const Vec<T, W>& b) { \
    Vec<T, W> r;                                                            \
    for (int i = 0; i < W; ++i) r.lane[i] = a.lane[i] op b.lane[i];         \
    return r;                                                               \
  }
CK_ARITHMETIC(+)
CK_ARITHMETIC(-)
CK_ARITHMETIC(*)
CK_ARITHMETIC(/)
CK_ARITHMETIC(&)
CK_ARITHMETIC(|)
#undef CK_ARITHMETIC

template <class T, int W>
CK_INLINE Vec<T, W>& operator+=(Vec<T, W>& a, const Vec<T, W>& b) {
  return a = a + b;
}
template <class T, int W>
CK_INLINE Vec<T, W> operator*(T a, const Vec<T, W>& b) {
  Vec<T, W> r;
  for (int i = 0; i < W; ++i) r.lane[i] = a * b.lane[i];
  return r;
}

template <class T, int W>
CK_INLINE Vec<T, W> operator<<(const Vec<T, W>& a, int n) {
  Vec<T, W> r;
  using U = typename std::conditional<sizeof(T) == 8, std::uint64_t, std::uint32_t>::type;
  for (int i = 0; i < W; ++i) r.lane[i] = static_cast<T>(static_cast<U>(a.lane[i]) << n);
  return r;
}
template <class T, int W>
CK_INLINE Vec<T, W> operator>>(const Vec<T, W>& a, int n) {
  Vec<T, W> r;
  for (int i = 0; i < W; ++i) r.lane[i] = a.lane[i] >> n;
  return r;
}

#define CK_COMPARISON(op)                                                           \
  template <class T, int W>                                                         \
  CK_INLINE Vec<typename IntegerLike<T>::type, W> operator op(const Vec<T, W>& a,   \
                                                              const Vec<T, W>& b) { \
    Vec<typename IntegerLike<T>::type, W> r;                                        \
    for (int i = 0; i < W; ++i) r.lane[i] = a.lane[i] op b.lane[i] ? -1 : 0;        \
    return r;                                                                       \
  }
CK_COMPARISON(<)
CK_COMPARISON(>)
CK_COMPARISON(<=)
CK_COMPARISON(>=)
#undef CK_COMPARISON

template <class To, class From>
CK_INLINE To bits_as(const From& x) {
  To r;
  static_assert(sizeof(To) == sizeof(From), "bits_as keeps the size");
  std::memcpy(&r, &x, sizeof(To));
  return r;
}
template <class M, class T, int W>
CK_INLINE Vec<T, W> select(const M& mask, const Vec<T, W>& yes, const Vec<T, W>& no) {
  Vec<T, W> r;
  for (int i = 0; i < W; ++i) r.lane[i] = mask.lane[i] ? yes.lane[i] : no.lane[i];
  return r;
}

#endif

constexpr int WIDE = 4;    // doubles in a vector
constexpr int NARROW = 8;  // floats in a vector
using Doubles = Vec<double, WIDE>;
using Longs = Vec<std::int64_t, WIDE>;
using Floats = Vec<float, NARROW>;
using Ints = Vec<std::int32_t, NARROW>;
// Bits that are added or shifted beyond the sign, which signed numbers must not be.
using LongBits = Vec<std::uint64_t, WIDE>;
using IntBits = Vec<std::uint32_t, NARROW>;

template <class V, class T>
CK_INLINE V all(T x) {
  V v;
  for (unsigned i = 0; i < sizeof(V) / sizeof(T); ++i) v[i] = x;
  return v;
}
CK_INLINE Doubles doubles(double x) { return all<Doubles>(x); }
CK_INLINE Floats floats(float x) { return all<Floats>(x); }

template <class V>
CK_INLINE V load(const void* p) {
  V v;
  std::memcpy(&v, p, sizeof(V));
  return v;
}
template <class V>
CK_INLINE void store(void* p, const V& v) {
  std::memcpy(p, &v, sizeof(V));
}
// Loads doubles from doubles or, widened, from floats.
CK_INLINE Doubles load_doubles(const double* p) { return load<Doubles>(p); }
CK_INLINE Doubles load_doubles(const float* p) {
#if defined(__GNUC__) && !defined(CK_PORTABLE_SIMD)
  return __builtin_convertvector(load<Vec<float, WIDE>>(p), Doubles);
#else
  Doubles v;
  for (int i = 0; i < WIDE; ++i) v[i] = p[i];
  return v;
#endif
}

// Sums of the lanes, always in the same order.
CK_INLINE double sum(const Doubles& v) { return (v[0] + v[2]) + (v[1] + v[3]); }
CK_INLINE float sum(const Floats& v) {
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

}  // namespace closeknit::CK_ISA
