// Columns of a triangular factor, and substitution with them.
#pragma once

#include <cstdint>
#include <vector>

#include "common/huge_pages.h"
#include "common/prefetch.h"

namespace closeknit {

// F, unit lower triangular, without its diagonal, and D. Rows may lie below the last column.
struct Columns {
  template <class T>
  using Numbers = std::vector<T, HugeAllocator<T>>;

  Numbers<std::int64_t> offsets{0};
  Numbers<std::int32_t> rows;  // all later than the column
  Numbers<double> values;      // −F's entries, which are shares: positive, at most 1
  Numbers<double> pivots;      // D

  std::int64_t n() const { return static_cast<std::int64_t>(pivots.size()); }
  std::int64_t n_entries() const { return static_cast<std::int64_t>(rows.size()); }

  void reserve(std::int64_t n, std::int64_t n_entries) {
    offsets.reserve(n + 1);
    pivots.reserve(n);
    // Neighbour graphs fill up to two to three times the entries of a half of the matrix.
    rows.reserve(3 * n_entries / 2);
    values.reserve(3 * n_entries / 2);
  }
};

// Rows of a column lie anywhere in memory: they are asked for so many entries before theirs.
constexpr std::int64_t ENTRIES_AHEAD = 24;

// work ← F⁻¹ work, for rows of D numbers.
template <int D>
void substitute_forward(const Columns& f, double* work) {
  const std::int64_t n = f.n(), n_entries = f.n_entries();
  const std::int32_t* rows = f.rows.data();
  const double* values = f.values.data();
  for (std::int64_t t = 0; t < n; ++t) {
    const double* own = work + t * D;
    for (std::int64_t e = f.offsets[t]; e < f.offsets[t + 1]; ++e) {
      if (e + ENTRIES_AHEAD < n_entries)
        CK_PREFETCH_TO_WRITE(work + std::int64_t{rows[e + ENTRIES_AHEAD]} * D);
      double* other = work + std::int64_t{rows[e]} * D;
      for (int i = 0; i < D; ++i) other[i] += values[e] * own[i];
    }
  }
}

// work ← F⁻ᵀ D⁻¹ work, where rows below the last column are given. A zero in D stays one.
template <int D>
void substitute_backward(const Columns& f, double* work) {
  const std::int32_t* rows = f.rows.data();
  const double* values = f.values.data();
  for (std::int64_t t = f.n() - 1; t >= 0; --t) {
    double* own = work + t * D;
    const double inverse = f.pivots[t] > 0.0 ? 1.0 / f.pivots[t] : 0.0;
    for (int i = 0; i < D; ++i) own[i] *= inverse;
    for (std::int64_t e = f.offsets[t]; e < f.offsets[t + 1]; ++e) {
      if (e >= ENTRIES_AHEAD) CK_PREFETCH(work + std::int64_t{rows[e - ENTRIES_AHEAD]} * D);
      const double* other = work + std::int64_t{rows[e]} * D;
      for (int i = 0; i < D; ++i) own[i] += values[e] * other[i];
    }
  }
}

}  // namespace closeknit
