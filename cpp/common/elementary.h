// exp2 and log2 of short vectors.
//
// Coefficients are minimax fits made in 40-digit arithmetic (relative error of the power, absolute
// error of the logarithm); exp2(0) is exactly 1.
#pragma once

#include "common/simd.h"

namespace closeknit::CK_ISA {

constexpr double LN2 = 0.69314718055994530942;
constexpr double LOG2_E = 1.4426950408889634074;

// 2^x for x ≤ 1023; 0 below -1000, where no sum of ours could tell the difference. Relative error
// below 3e-16. U vectors at a time hide the latency of the long chain of multiply-adds.
template <int U>
CK_INLINE void exp2_many(const Doubles (&x)[U], Doubles (&y)[U]) {
  constexpr double c[] = {0.69314718055994917585,     0.24022650695909101633,
                          0.05550410866448180411,     0.0096181291079831125302,
                          0.0013333558225802472322,   0.00015403529994280985757,
                          0.000015252659426543829441, 1.3215653575669627921e-6,
                          1.0208323198767394765e-7,   7.0381831062537725035e-9};
  const Doubles magic = doubles(6755399441055744.0);  // 1.5 * 2^52: adding it rounds to an integer
  const Doubles lowest = doubles(-1000.0);
  Doubles r[U], n[U];
  for (int u = 0; u < U; ++u) {
    n[u] = x[u] + magic;
    r[u] = x[u] - (n[u] - magic);
  }
  for (int u = 0; u < U; ++u) y[u] = doubles(c[9]);
  for (int k = 8; k >= 0; --k)
    for (int u = 0; u < U; ++u) y[u] = y[u] * r[u] + doubles(c[k]);
  for (int u = 0; u < U; ++u) {
    y[u] = y[u] * r[u] + doubles(1.0);
    // The rounded integer sits in the low bits of n; moved to the exponent field it multiplies.
    y[u] = bits_as<Doubles>(bits_as<LongBits>(y[u]) + (bits_as<LongBits>(n[u]) << 52));
    y[u] = select(x[u] < lowest, doubles(0.0), y[u]);
  }
}

CK_INLINE Doubles exp2(Doubles x) {
  const Doubles in[1] = {x};
  Doubles out[1];
  exp2_many<1>(in, out);
  return out[0];
}

// 2^x in single precision for x ≤ 127; 0 below -120. Relative error below 2e-7.
template <int U>
CK_INLINE void exp2_many(const Floats (&x)[U], Floats (&y)[U]) {
  constexpr float c[] = {0.69314697758721271143f, 0.24022242077583798492f, 0.055507337603907949711f,
                         0.0096715129970405141523f, 0.0013264722046182420799f};
  const Floats magic = floats(12582912.0f);  // 1.5 * 2^23
  const Floats lowest = floats(-120.0f);
  Floats r[U], n[U];
  for (int u = 0; u < U; ++u) {
    n[u] = x[u] + magic;
    r[u] = x[u] - (n[u] - magic);
  }
  for (int u = 0; u < U; ++u) y[u] = floats(c[4]);
  for (int k = 3; k >= 0; --k)
    for (int u = 0; u < U; ++u) y[u] = y[u] * r[u] + floats(c[k]);
  for (int u = 0; u < U; ++u) {
    y[u] = y[u] * r[u] + floats(1.0f);
    y[u] = bits_as<Floats>(bits_as<IntBits>(y[u]) + (bits_as<IntBits>(n[u]) << 23));
    y[u] = select(x[u] < lowest, floats(0.0f), y[u]);
  }
}

// log2 of positive normal numbers, absolute error below 3e-16 for arguments near 1.
CK_INLINE Doubles log2(Doubles x) {
  constexpr double c[] = {2.8853900817779268114,  0.96179669392598987444, 0.57707801634544100338,
                          0.41219858585705725056, 0.32059853334514149786, 0.26233443069545350768,
                          0.22091115188632017113, 0.21367771666110022815};
  // Write x = 2^e m with m in [sqrt(1/2), sqrt(2)): subtracting the bits of sqrt(1/2) makes the
  // exponent field round at sqrt(2) instead of at 2.
  const LongBits bits = bits_as<LongBits>(x);
  const LongBits shifted = bits - all<LongBits>(std::uint64_t{0x3FE6A09E667F3BCD});
  const LongBits exponent = shifted & all<LongBits>(std::uint64_t{0xFFF0000000000000});
  const Doubles m = bits_as<Doubles>(bits - exponent);
  // The exponent as a double, without a 64-bit integer conversion (AVX2 has none).
  const Longs small =
      (bits_as<Longs>(exponent) >> 52) + all<Longs>(std::int64_t{0x4338000000000000});
  const Doubles e = bits_as<Doubles>(small) - doubles(6755399441055744.0);
  const Doubles s = (m - doubles(1.0)) / (m + doubles(1.0));
  const Doubles z = s * s;
  Doubles p = doubles(c[7]);
  for (int k = 6; k >= 0; --k) p = p * z + doubles(c[k]);
  return e + s * p;
}

// log2 of positive normal floats, absolute error below 3e-7 for arguments up to 2^16: the series of
// the inverse hyperbolic tangent, whose fifth term is below rounding.
CK_INLINE Floats log2(Floats x) {
  const IntBits bits = bits_as<IntBits>(x);
  const IntBits shifted = bits - all<IntBits>(std::uint32_t{0x3F3504F3});  // the bits of sqrt(1/2)
  const IntBits exponent = shifted & all<IntBits>(std::uint32_t{0xFF800000});
  const Floats m = bits_as<Floats>(bits - exponent);
  // As above: the exponent as a float by way of 1.5 * 2^23.
  const Ints small = (bits_as<Ints>(exponent) >> 23) + all<Ints>(std::int32_t{0x4B400000});
  const Floats e = bits_as<Floats>(small) - floats(12582912.0f);
  const Floats s = (m - floats(1.0f)) / (m + floats(1.0f));
  const Floats z = s * s;
  const Floats p = ((floats(0.41219858f) * z + floats(0.57707802f)) * z + floats(0.96179669f)) * z;
  return e + s * (p + floats(2.88539008f));
}

}  // namespace closeknit::CK_ISA
