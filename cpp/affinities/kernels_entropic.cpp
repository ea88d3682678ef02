// The hot loops of entropic.h, compiled once per instruction set.
#include "affinities/entropic_batch.h"
#include "affinities/entropic_row.h"

namespace closeknit::CK_ISA {

// The same distribution for rows that the vectorised pass below cannot take: β = 0 or inf, rows
// that are not sorted, infinite distances. Returns its entropy.
template <class D>
static double affinities_anyhow(const D* d, std::int64_t k, double beta, double* out) {
  const RowStats stats = scan_row(d, k);
  double z = 0.0, entropy = 0.0;
  for (std::int64_t j = 0; j < k; ++j) {
    const double gap = static_cast<double>(d[j]) - stats.min;
    const bool alive = gap < HUGE_VAL;
    out[j] = !alive ? 0.0 : gap == 0.0 || beta == 0.0 ? 1.0 : std::exp(-beta * gap);
    z += out[j];
  }
  for (std::int64_t j = 0; j < k; ++j) {
    if (z > 0.0) out[j] /= z;
    if (out[j] > 0.0) entropy -= out[j] * std::log(out[j]);
  }
  return entropy;
}

template <int M, class D>
CK_INLINE double affinities_pass(const Row<D>& row, std::int64_t k, double beta, double* powers,
                                 double* out, double* entropy) {
  const Sums<M> sums = pass<M, true>(row, -LOG2_E * beta, powers);
  const double c[1] = {1.0 / sums.s[0]};
  write_row<0>(row, k, 0.0, c, powers, out);
  if (M > 0) *entropy = value_of<M>(sums, 0.0).f;
  return sums.s[0];
}

template <class D>
void affinities_row(const D* d, std::int64_t k, double beta, bool sorted, double* out,
                    double* perplexity, double* scratch) {
  double* tail = scratch;
  double* powers = scratch + BLOCK;
  const double first = d[0];
  const Row<D> row = make_row(d, k, first, first + 2000.0 / (LOG2_E * beta), tail);
  double entropy = 0.0;
  const double z = perplexity ? affinities_pass<1>(row, k, beta, powers, out, &entropy)
                              : affinities_pass<0>(row, k, beta, powers, out, nullptr);
  // Sorted rows have Z in [1, k]; entropy is finite unless a distance or β is not.
  if (!((sorted || is_between_its_ends(d, k)) && z >= 1.0 && z <= static_cast<double>(k) &&
        entropy < HUGE_VAL))
    entropy = affinities_anyhow(d, k, beta, out);
  if (perplexity) *perplexity = std::exp(entropy);
}

void entropy_row(const double* d, std::int64_t k, double log_beta, double* out, double* scratch) {
  const RowStats stats = scan_row(d, k);
  if (stats.n_finite == 0) {  // over no neighbours there is no distribution
    for (int i = 0; i < 4; ++i) out[i] = std::nan("");
    return;
  }
  double* x = scratch;
  double log_unit = 0.0;
  if (stats.max > stats.min)
    log_unit = normalise_row(d, k, stats.min, stats.max - stats.min, x) * LN2;
  else
    for (std::int64_t j = 0; j < padded(k); ++j) x[j] = j < k && d[j] == stats.min ? 0.0 : FAR;
  // However small β is, missing neighbours and padding must stay out of reach.
  double beta = std::exp(log_beta + log_unit);
  if (beta < 1e-280) beta = 1e-280;
  const double far = 2000.0 / beta;
  for (std::int64_t j = 0; j < padded(k); ++j)
    if (x[j] >= FAR) x[j] = far;
  const Row<double> row{x, padded(k) / BLOCK, nullptr, 0.0};
  const Value v = value_of<4>(pass<4, false, true>(row, -LOG2_E * beta, x), 0.0);
  out[0] = v.f;
  out[1] = v.f1;
  out[2] = v.f2;
  out[3] = v.f3;
}

#define CK_INSTANTIATE(D)                                                                        \
  template RowStats scan_row<D>(const D*, std::int64_t);                                         \
  template void solve_row<D>(const Problem<D>&, std::int64_t, Method, int, double, double,       \
                             double*);                                                           \
  template void solve_batch<D>(const Problem<D>&, std::int64_t, std::int64_t, const StartModel&, \
                               double, double*);                                                 \
  template void affinities_row<D>(const D*, std::int64_t, double, bool, double*, double*, double*);
CK_INSTANTIATE(double)
CK_INSTANTIATE(float)

}  // namespace closeknit::CK_ISA
