#include "objectives/order.h"

#include <algorithm>

#include "common/prefetch.h"
#include "common/threads.h"

namespace closeknit {
namespace {

constexpr std::int64_t ROWS_PER_TASK = 8192;
// Rows lie anywhere in memory: they are asked for so many before theirs.
constexpr std::int64_t ROWS_AHEAD = 32;

}  // namespace

void take_rows(const double* X, std::int64_t d, const std::int64_t* rows, std::int64_t n,
               double* out, ThreadPool& pool) {
  parallel_chunks(pool, n, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (i + ROWS_AHEAD < end) CK_PREFETCH(X + rows[i + ROWS_AHEAD] * d);
      std::copy_n(X + rows[i] * d, d, out + i * d);
    }
  });
}

void join_forces(const double* attractive, const double* repulsive, double lam, std::int64_t d,
                 const std::int64_t* places, std::int64_t n, double* out, ThreadPool& pool) {
  parallel_chunks(pool, n, ROWS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (places && i + ROWS_AHEAD < end) {
        CK_PREFETCH(attractive + places[i + ROWS_AHEAD] * d);
        CK_PREFETCH(repulsive + places[i + ROWS_AHEAD] * d);
      }
      const std::int64_t from = (places ? places[i] : i) * d;
      for (std::int64_t c = 0; c < d; ++c)
        out[i * d + c] = 4.0 * (attractive[from + c] + lam * repulsive[from + c]);
    }
  });
}

}  // namespace closeknit
