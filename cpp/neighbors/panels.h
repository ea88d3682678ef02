// Inner products of many vectors with many vectors, in an order of summation that never changes.
//
// BLAS would be as fast, but its rounding depends on the shape of the block, on where in the block
// a row stands and on the number of threads. Here every product is one chain of multiply-adds
// over the coordinates, so a row's numbers do not depend on its companions.
#pragma once

#include <cstdint>

#include "common/vectors.h"
#include "neighbors/tiles.h"

namespace closeknit::CK_ISA {

static_assert(TILE_FLOATS == 2 * NARROW && TILE_DOUBLES == 2 * WIDE, "two vectors of columns");

// out[r * stride + c] = Σ_k rows[k][r] panel[k][c], for one tile; or adds to what is there, which
// is the same chain of sums interrupted.
template <class T>
inline void tile_products(std::int64_t n_coordinates, const T* rows, const T* panel, T* out,
                          std::int64_t stride, bool add = false) {
  using V = typename LanesOf<T>::type;
  constexpr int lanes = LanesOf<T>::lanes;
  V sums[TILE_ROWS][2] = {};
  if (add) {
    for (int r = 0; r < TILE_ROWS; ++r) {
      sums[r][0] = load(out + r * stride);
      sums[r][1] = load(out + r * stride + lanes);
    }
  }
  for (std::int64_t k = 0; k < n_coordinates; ++k) {
    const V left = load(panel), right = load(panel + lanes);
    panel += 2 * lanes;
    for (int r = 0; r < TILE_ROWS; ++r) {
      sums[r][0] += rows[r] * left;
      sums[r][1] += rows[r] * right;
    }
    rows += TILE_ROWS;
  }
  for (int r = 0; r < TILE_ROWS; ++r) {
    store(out + r * stride, sums[r][0]);
    store(out + r * stride + lanes, sums[r][1]);
  }
}

// Lays up to TILE_ROWS rows side by side, coordinate by coordinate; missing rows are zero.
inline void pack_rows(const float* const* rows, int n_rows, std::int64_t n_coordinates,
                      float* packed) {
  for (std::int64_t k = 0; k < n_coordinates; ++k) {
    for (int r = 0; r < TILE_ROWS; ++r) packed[k * TILE_ROWS + r] = r < n_rows ? rows[r][k] : 0.0f;
  }
}

}  // namespace closeknit::CK_ISA
