// Between the order in which points are given and that of their places on the map.
#pragma once

#include <cstdint>

namespace closeknit {

class ThreadPool;

// Row i of `out` is row rows[i] of X, which has d columns.
void take_rows(const double* X, std::int64_t d, const std::int64_t* rows, std::int64_t n,
               double* out, ThreadPool& pool);

// Row i of `out` is 4 (a + λ r), from rows places[i] of both, or rows i without places: the
// gradient of E⁺ + λE⁻ from a quarter of each part's.
void join_forces(const double* attractive, const double* repulsive, double lam, std::int64_t d,
                 const std::int64_t* places, std::int64_t n, double* out, ThreadPool& pool);

}  // namespace closeknit
