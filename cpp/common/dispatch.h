// Chooses, once per call, the kernels compiled for the best instruction set this machine has.
//
// A kernel `f` is declared here in every namespace it is compiled for (see CMakeLists.txt) and
// taken, outside of loops, as CK_DISPATCH(f).
#pragma once

#if defined(CK_HAVE_AVX2) && defined(_MSC_VER)
#include <intrin.h>
#endif

#include <cstdlib>
#include <cstring>

namespace closeknit {

// CLOSEKNIT_SIMD=baseline in the environment asks for the plain kernels, for tests and for
// comparing machines.
inline bool baseline_wanted() {
  const char* wanted = std::getenv("CLOSEKNIT_SIMD");
  return wanted && std::strcmp(wanted, "baseline") == 0;
}

inline bool has_avx2() {
  if (baseline_wanted()) return false;
#if !defined(CK_HAVE_AVX2)
  return false;
#elif defined(_MSC_VER)
  int leaf[4];
  __cpuid(leaf, 1);
  const bool fma_and_os = (leaf[2] & (1 << 12)) && (leaf[2] & (1 << 27));
  __cpuidex(leaf, 7, 0);
  return fma_and_os && (leaf[1] & (1 << 5)) && (_xgetbv(0) & 6) == 6;
#else
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
}

}  // namespace closeknit

#if defined(CK_HAVE_AVX2)
#define CK_DISPATCH(...) \
  (closeknit::has_avx2() ? closeknit::avx2::__VA_ARGS__ : closeknit::baseline::__VA_ARGS__)
#else
#define CK_DISPATCH(...) (closeknit::baseline::__VA_ARGS__)
#endif
