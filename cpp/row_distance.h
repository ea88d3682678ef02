// The squared Euclidean distance of two rows, always in float64 and always from differences.
//
// ‖x‖² + ‖y‖² - 2⟨x, y⟩ would lose every digit for near-identical points; Σ (x - y)² keeps them.
// The sum gives the same bits for (x, y) and (y, x).
#pragma once

#include "rows.h"
#include "vectors.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace closeknit::CK_ISA {

constexpr int kSums = 16;  // independent sums, enough to keep four float64 vectors in flight

inline double total(const double* sums) {
  double quarter[4];
  for (int l = 0; l < 4; ++l) quarter[l] = (sums[l] + sums[l + 4]) + (sums[l + 8] + sums[l + 12]);
  return (quarter[0] + quarter[2]) + (quarter[1] + quarter[3]);
}

template <class T>
struct DenseRows {
  const T* values;
  std::int64_t n_features;

  explicit DenseRows(const Rows& rows)
      : values(static_cast<const T*>(rows.values)), n_features(rows.n_features) {}

  const T* operator[](std::int64_t i) const { return values + i * n_features; }
};

// Stops early, with infinity, once the sum is known to exceed `limit`.
template <class T>
inline double sq_distance(const DenseRows<T>& a, std::int64_t i, const DenseRows<T>& b,
                          std::int64_t j, double limit) {
  constexpr std::int64_t stretch = 8 * kSums;  // how far to go between two looks at the limit
  const T* x = a[i];
  const T* y = b[j];
  const std::int64_t n = a.n_features;
  double sums[kSums] = {};
  std::int64_t k = 0;
  while (k + kSums <= n) {
    const std::int64_t stop = std::min(n - kSums, k + stretch - kSums);
    for (; k <= stop; k += kSums) {
      for (int l = 0; l < kSums; ++l) {
        const double gap = static_cast<double>(x[k + l]) - static_cast<double>(y[k + l]);
        sums[l] += gap * gap;
      }
    }
    if (k + kSums <= n && total(sums) > limit) return std::numeric_limits<double>::infinity();
  }
  for (int l = 0; k < n; ++k, ++l) {
    const double gap = static_cast<double>(x[k]) - static_cast<double>(y[k]);
    sums[l] += gap * gap;
  }
  return total(sums);
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
    if (a.is_double) body(SparseRows<double>(a), SparseRows<double>(b));
    else body(SparseRows<float>(a), SparseRows<float>(b));
  } else {
    if (a.is_double) body(DenseRows<double>(a), DenseRows<double>(b));
    else body(DenseRows<float>(a), DenseRows<float>(b));
  }
}

}  // namespace closeknit::CK_ISA
