// The squared Euclidean distance of two rows, always in float64 and always from differences.
//
// ‖x‖² + ‖y‖² - 2⟨x, y⟩ would lose every digit for near-identical points; Σ (x - y)² keeps them.
// The sum gives the same bits for (x, y) and (y, x).
#pragma once

#include <cmath>
#include <cstdint>

#include "common/vectors.h"
#include "neighbors/rows.h"

namespace closeknit::CK_ISA {

constexpr double INFINITE = HUGE_VAL;
constexpr int N_SUMS = 16;  // independent sums: four float64 vectors in flight

inline double total(const Doubles* sums) {
  Doubles sum = sums[0], other = sums[2];
  sum += sums[1];
  other += sums[3];
  sum += other;
  return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

template <class T>
struct DenseRows {
  const T* values;
  std::int64_t n_features;

  explicit DenseRows(const Rows& rows)
      : values(static_cast<const T*>(rows.values)), n_features(rows.n_features) {}

  const T* row(std::int64_t i) const { return values + i * n_features; }
};

template <class T>
inline void prefetch(const DenseRows<T>& rows, std::int64_t i) {
#if defined(__GNUC__) || defined(__clang__)
  const char* row = reinterpret_cast<const char*>(rows.row(i));
  for (std::int64_t b = 0; b < rows.n_features * static_cast<std::int64_t>(sizeof(T)); b += 64) {
    __builtin_prefetch(row + b);
  }
#else
  (void)rows, (void)i;
#endif
}

// Adds the squares of n gaps, a multiple of N_SUMS, to the four vectors of sums.
template <class T>
CK_INLINE void add_sq_gaps(const T* x, const T* y, std::int64_t n, Doubles* sums) {
  for (std::int64_t k = 0; k < n; k += N_SUMS) {
    for (int v = 0; v < 4; ++v) {
      const Doubles gap = load_doubles(x + k + 4 * v) - load_doubles(y + k + 4 * v);
      sums[v] += gap * gap;
    }
  }
}

// All of the sums, and what is left of two rows of n values.
template <class T>
inline double total_with_rest(const Doubles* sums, const T* x, const T* y, std::int64_t n) {
  double sum = total(sums);
  for (std::int64_t k = n - n % N_SUMS; k < n; ++k) {
    const double gap = static_cast<double>(x[k]) - static_cast<double>(y[k]);
    sum += gap * gap;
  }
  return sum;
}

// Stops early, with infinity, once the sum is known to exceed `limit`.
template <class T>
inline double sq_distance(const DenseRows<T>& a, std::int64_t i, const DenseRows<T>& b,
                          std::int64_t j, double limit) {
  constexpr std::int64_t STRETCH = 8 * N_SUMS;  // how far to go between two looks at the limit
  const T* x = a.row(i);
  const T* y = b.row(j);
  const std::int64_t n = a.n_features, n_whole = n - n % N_SUMS;
  Doubles sums[4] = {};
  for (std::int64_t k = 0; k < n_whole; k += STRETCH) {
    add_sq_gaps(x + k, y + k, smaller(STRETCH, n_whole - k), sums);
    if (k + STRETCH < n_whole && total(sums) > limit) return INFINITE;
  }
  return total_with_rest(sums, x, y, n);
}

template <class T>
struct SparseRows {
  const T* values;
  const std::int64_t* indptr;
  const std::int32_t* indices;

  explicit SparseRows(const Rows& rows)
      : values(static_cast<const T*>(rows.values)), indptr(rows.indptr), indices(rows.indices) {}
};

template <class T>
inline void prefetch(const SparseRows<T>&, std::int64_t) {}  // rows are short, and found late

template <class T>
inline double sq_distance(const SparseRows<T>& a, std::int64_t i, const SparseRows<T>& b,
                          std::int64_t j, double /*limit*/) {
  std::int64_t p = a.indptr[i], q = b.indptr[j];
  const std::int64_t p_end = a.indptr[i + 1], q_end = b.indptr[j + 1];
  double sum = 0;
  while (p < p_end && q < q_end) {
    const std::int32_t left = a.indices[p], right = b.indices[q];
    const double x = left <= right ? static_cast<double>(a.values[p]) : 0.0;
    const double y = right <= left ? static_cast<double>(b.values[q]) : 0.0;
    sum += (x - y) * (x - y);
    p += left <= right;
    q += right <= left;
  }
  for (; p < p_end; ++p) sum += static_cast<double>(a.values[p]) * static_cast<double>(a.values[p]);
  for (; q < q_end; ++q) sum += static_cast<double>(b.values[q]) * static_cast<double>(b.values[q]);
  return sum;
}

// Calls body(a, b) with both matrices as the type they are.
template <class Body>
inline void with_rows(const Rows& a, const Rows& b, const Body& body) {
  if (a.indptr) {
    if (a.is_double)
      body(SparseRows<double>(a), SparseRows<double>(b));
    else
      body(SparseRows<float>(a), SparseRows<float>(b));
  } else {
    if (a.is_double)
      body(DenseRows<double>(a), DenseRows<double>(b));
    else
      body(DenseRows<float>(a), DenseRows<float>(b));
  }
}

}  // namespace closeknit::CK_ISA
