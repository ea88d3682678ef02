#include "linalg/approximate_cholesky.h"

#include <algorithm>
#include <utility>

#include "common/huge_pages.h"
#include "common/prefetch.h"
#include "common/threads.h"
#include "linalg/degree_queue.h"
#include "linalg/elimination.h"

namespace closeknit {
namespace {

// Rows of a column lie anywhere in memory: they are asked for so many entries before theirs.
constexpr std::int64_t AHEAD = 24;

}  // namespace

template <class I>
ApproximateCholesky::ApproximateCholesky(const Laplacian<I>& matrix, std::uint64_t seed,
                                         ThreadPool& pool) {
  const std::int64_t n = matrix.weights.n_rows;
  Elimination graph(n, matrix.weights.indptr[n], {matrix.excess, matrix.excess + n}, seed, pool);
  DegreeQueue queue(n);
  std::vector<std::int32_t> degree(n);
  for (std::int64_t v = n - 1; v >= 0; --v) {
    const auto vertex = static_cast<std::int32_t>(v);
    graph.reserve(vertex, matrix.weights.indptr[v + 1] - matrix.weights.indptr[v]);
    for (I e = matrix.weights.indptr[v]; e < matrix.weights.indptr[v + 1]; ++e) {
      if (matrix.weights.indices[e] == v || !(matrix.weights.values[e] > 0.0)) continue;
      graph.append(vertex, static_cast<std::int32_t>(matrix.weights.indices[e]),
                   matrix.weights.values[e]);
      ++degree[v];
    }
    queue.insert(vertex, degree[v]);
  }
  order_.reserve(n);
  reserve(n, matrix.weights.indptr[n]);
  for (std::int64_t t = 0; t < n; ++t) {
    const std::int32_t v = queue.pop([&](std::int32_t u) { return degree[u]; });
    order_.push_back(v);
    graph.eliminate(v, *this);
    for (const Edge& edge : graph.star()) --degree[edge.to];
    graph.sample(v, [&](std::int32_t a, std::int32_t b, double weight) {
      graph.append(a, b, weight);
      graph.append(b, a, weight);
      ++degree[a];
      ++degree[b];
    });
    for (const Edge& edge : graph.star()) queue.lower(edge.to, degree[edge.to]);
  }
  std::vector<std::int32_t> position(n);
  for (std::int64_t t = 0; t < n; ++t) position[order_[t]] = static_cast<std::int32_t>(t);
  for (auto& row : rows_) row = position[row];
  find_floating();
}

template <class I>
ApproximateCholesky::ApproximateCholesky(const Laplacian<I>& matrix, std::uint64_t seed,
                                         const std::vector<std::int32_t>& order, ThreadPool& pool)
    : order_(order) {
  const std::int64_t n = matrix.weights.n_rows;
  std::vector<std::int32_t> position(n);
  for (std::int64_t t = 0; t < n; ++t) position[order_[t]] = static_cast<std::int32_t>(t);
  std::vector<double> excess(n);
  for (std::int64_t t = 0; t < n; ++t) excess[t] = matrix.excess[order_[t]];
  Elimination graph(n, matrix.weights.indptr[n] / 2, std::move(excess), seed, pool);
  for (std::int64_t t = 0; t < n; ++t) {
    const std::int64_t v = order_[t];
    const auto vertex = static_cast<std::int32_t>(t);
    graph.reserve(vertex, matrix.weights.indptr[v + 1] - matrix.weights.indptr[v]);
    for (I e = matrix.weights.indptr[v]; e < matrix.weights.indptr[v + 1]; ++e) {
      const std::int32_t to = position[matrix.weights.indices[e]];
      if (to > vertex && matrix.weights.values[e] > 0.0)
        graph.append(vertex, to, matrix.weights.values[e]);
    }
  }
  reserve(n, matrix.weights.indptr[n]);
  for (std::int64_t t = 0; t < n; ++t) {
    graph.eliminate(static_cast<std::int32_t>(t), *this);
    graph.sample(order_[t], [&](std::int32_t a, std::int32_t b, double weight) {
      graph.append(std::min(a, b), std::max(a, b), weight);
    });
  }
  find_floating();
}

void ApproximateCholesky::reserve(std::int64_t n, std::int64_t n_entries) {
  offsets_.reserve(n + 1);
  offsets_.push_back(0);
  pivots_.reserve(n);
  // Neighbour graphs fill up to two to three times the entries of a half of the matrix.
  rows_.reserve(3 * n_entries / 2);
  values_.reserve(3 * n_entries / 2);
}

void ApproximateCholesky::find_floating() {
  // The neighbours of an eliminated vertex stay connected, so any of them leads to the component's
  // last vertex.
  const std::int64_t n = this->n();
  floating_.assign(n, -1);
  for (std::int64_t t = n - 1; t >= 0; --t) {
    if (offsets_[t + 1] > offsets_[t]) {
      floating_[t] = floating_[rows_[offsets_[t]]];
    } else if (!(pivots_[t] > 0.0)) {
      floating_[t] = static_cast<std::int32_t>(sizes_.size());
      sizes_.push_back(0.0);
    }
    if (floating_[t] >= 0) sizes_[floating_[t]] += 1.0;
  }
}

void ApproximateCholesky::centre(double* work, std::int64_t d) const {
  if (sizes_.empty()) return;
  std::vector<double> means(sizes_.size() * d, 0.0);
  const std::int64_t n = this->n();
  for (std::int64_t t = 0; t < n; ++t)
    if (floating_[t] >= 0)
      for (std::int64_t i = 0; i < d; ++i) means[floating_[t] * d + i] += work[t * d + i];
  for (std::size_t c = 0; c < sizes_.size(); ++c)
    for (std::int64_t i = 0; i < d; ++i) means[c * d + i] /= sizes_[c];
  for (std::int64_t t = 0; t < n; ++t)
    if (floating_[t] >= 0)
      for (std::int64_t i = 0; i < d; ++i) work[t * d + i] -= means[floating_[t] * d + i];
}

// D columns at once.
template <int D>
void ApproximateCholesky::substitute(double* work) const {
  const std::int64_t n = this->n(), n_entries = offsets_[n];
  const std::int32_t* rows = rows_.data();
  const double* values = values_.data();
  for (std::int64_t t = 0; t < n; ++t) {
    const double* own = work + t * D;
    for (std::int64_t e = offsets_[t]; e < offsets_[t + 1]; ++e) {
      if (e + AHEAD < n_entries) CK_PREFETCH_TO_WRITE(work + std::int64_t{rows[e + AHEAD]} * D);
      double* other = work + std::int64_t{rows[e]} * D;
      for (int i = 0; i < D; ++i) other[i] += values[e] * own[i];
    }
  }
  for (std::int64_t t = n - 1; t >= 0; --t) {
    double* own = work + t * D;
    const double inverse = pivots_[t] > 0.0 ? 1.0 / pivots_[t] : 0.0;
    for (int i = 0; i < D; ++i) own[i] *= inverse;
    for (std::int64_t e = offsets_[t]; e < offsets_[t + 1]; ++e) {
      if (e >= AHEAD) CK_PREFETCH(work + std::int64_t{rows[e - AHEAD]} * D);
      const double* other = work + std::int64_t{rows[e]} * D;
      for (int i = 0; i < D; ++i) own[i] += values[e] * other[i];
    }
  }
}

void ApproximateCholesky::solve_some(const double* rhs, std::int64_t first, std::int64_t k,
                                     std::int64_t d, double* out) const {
  const std::int64_t n = this->n();
  const HugeArray<double> work(static_cast<std::size_t>(n * k));
  for (std::int64_t t = 0; t < n; ++t) {
    if (t + AHEAD < n) CK_PREFETCH(rhs + std::int64_t{order_[t + AHEAD]} * d + first);
    std::copy_n(rhs + std::int64_t{order_[t]} * d + first, k, work.data() + t * k);
  }
  centre(work.data(), k);
  switch (k) {
    case 1:
      substitute<1>(work.data());
      break;
    case 2:
      substitute<2>(work.data());
      break;
    case 3:
      substitute<3>(work.data());
      break;
    default:
      substitute<4>(work.data());
  }
  centre(work.data(), k);
  for (std::int64_t t = 0; t < n; ++t) {
    if (t + AHEAD < n) CK_PREFETCH_TO_WRITE(out + std::int64_t{order_[t + AHEAD]} * d + first);
    std::copy_n(work.data() + t * k, k, out + std::int64_t{order_[t]} * d + first);
  }
}

void ApproximateCholesky::solve(const double* rhs, std::int64_t d, double* out,
                                ThreadPool& pool) const {
  // Two columns cost no more than one, and four less than twice two.
  const std::int64_t share = (d + pool.n_threads() - 1) / pool.n_threads();
  const std::int64_t together = std::min<std::int64_t>(std::max<std::int64_t>(share, 2), 4);
  parallel_chunks(pool, d, together, [&](std::int64_t first, std::int64_t end) {
    solve_some(rhs, first, end - first, d, out);
  });
}

template ApproximateCholesky::ApproximateCholesky(const Laplacian<std::int32_t>&, std::uint64_t,
                                                  ThreadPool&);
template ApproximateCholesky::ApproximateCholesky(const Laplacian<std::int64_t>&, std::uint64_t,
                                                  ThreadPool&);
template ApproximateCholesky::ApproximateCholesky(const Laplacian<std::int32_t>&, std::uint64_t,
                                                  const std::vector<std::int32_t>&, ThreadPool&);
template ApproximateCholesky::ApproximateCholesky(const Laplacian<std::int64_t>&, std::uint64_t,
                                                  const std::vector<std::int32_t>&, ThreadPool&);

}  // namespace closeknit
