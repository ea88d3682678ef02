// The parts of entropic.h that run inside the hot loops, once per instruction set. They own no
// memory and start no threads: entropic.cpp does.
#pragma once

#include "affinities/problem.h"
#include "common/isa.h"

namespace closeknit {

// Smallest multiple of 16 doubles that holds a row of k.
static inline std::int64_t padded(std::int64_t k) { return (k + 15) / 16 * 16; }

// Doubles of scratch that one row of Algorithm 1 and one batch of the fast solver need.
static inline std::int64_t row_scratch(std::int64_t k) { return 2 * padded(k); }
constexpr int BATCH = 8;
static inline std::int64_t batch_scratch(std::int64_t k) {
  return row_scratch(k) + BATCH * (padded(k) + 16) + padded(k) / 2 + 32;
}

// What a scan over one row finds.
struct RowStats {
  double min, next, max;  // smallest, first larger one, largest finite (next = min if none)
  std::int64_t n_min, n_finite;
  bool invalid;
};

#define CK_DECLARE(isa)                                                                   \
  namespace isa {                                                                         \
  template <class D>                                                                      \
  RowStats scan_row(const D* d, std::int64_t k);                                          \
  template <class D>                                                                      \
  void solve_row(const Problem<D>& problem, std::int64_t i, Method method, int max_inner, \
                 double start_beta, double lower_constant, double* scratch);              \
  template <class D>                                                                      \
  void solve_batch(const Problem<D>& problem, std::int64_t begin, std::int64_t end,       \
                   const StartModel& model, double lower_constant, double* scratch);      \
  template <class D>                                                                      \
  void affinities_row(const D* d, std::int64_t k, double beta, bool sorted, double* out,  \
                      double* perplexity, double* scratch);                               \
  void entropy_row(const double* d, std::int64_t k, double log_beta, double* out,         \
                   double* scratch);                                                      \
  }
CK_FOR_EACH_ISA(CK_DECLARE)
#undef CK_DECLARE

}  // namespace closeknit
