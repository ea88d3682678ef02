#include "linalg/approximate_cholesky.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "common/huge_pages.h"
#include "common/threads.h"

namespace closeknit {
namespace {

// Vertices and edges between two looks for an interrupt: some milliseconds.
constexpr std::int64_t WORK_PER_CHECK = 1 << 16;

// Packed, because the lists are most of the memory and a quarter of it would be padding.
#pragma pack(push, 4)
struct Edge {
  double weight;
  std::int32_t to;
};
#pragma pack(pop)

// The lightest first; ties by number, so that the result does not depend on how edges were listed.
struct Lighter {
  bool operator()(const Edge& a, const Edge& b) const {
    return a.weight < b.weight || (a.weight == b.weight && a.to < b.to);
  }
};

// SplitMix64, started anew for each vertex: what a vertex draws depends on nothing but the seed.
class Random {
 public:
  Random(std::uint64_t seed, std::int32_t vertex)
      : state_(mix(seed + STEP * (static_cast<std::uint64_t>(vertex) + 1))) {}

  // Uniform in [0, 1).
  double next() { return static_cast<double>(mix(state_ += STEP) >> 11) * 0x1p-53; }

 private:
  static constexpr std::uint64_t STEP = 0x9e3779b97f4a7c15;

  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

// Memory for lists of edges, in powers of two; what is given back is handed out again.
class EdgePool {
 public:
  // The first block holds `expected` edges.
  explicit EdgePool(std::int64_t expected) : block_(expected) {}

  Edge* take(int log_capacity) {
    auto& free = free_[log_capacity];
    if (!free.empty()) {
      Edge* edges = free.back();
      free.pop_back();
      return edges;
    }
    const std::int64_t capacity = std::int64_t{1} << log_capacity;
    if (left_ < capacity) {
      // What is left of the old block is lost: less than one list.
      left_ = std::max(block_, capacity);
      blocks_.push_back(std::make_unique<HugeArray<Edge>>(left_));
      next_ = blocks_.back()->data();
      block_ = std::max(SMALLEST, block_ / 2);
    }
    Edge* edges = next_;
    next_ += capacity;
    left_ -= capacity;
    return edges;
  }

  void give_back(Edge* edges, int log_capacity) { free_[log_capacity].push_back(edges); }

 private:
  static constexpr std::int64_t SMALLEST = 1 << 12;

  std::int64_t block_;
  std::vector<std::unique_ptr<HugeArray<Edge>>> blocks_;
  std::vector<Edge*> free_[32];
  Edge* next_ = nullptr;
  std::int64_t left_ = 0;
};

struct EdgeList {
  Edge* edges = nullptr;
  std::int32_t size = 0;
  std::int32_t log_capacity = 0;
};

// Vertices by degree, the least first. A degree that grew since is only noticed when its vertex's
// turn comes, because most vertices change theirs many times before.
class DegreeQueue {
 public:
  explicit DegreeQueue(std::int64_t n) : head_(N_BUCKETS, -1), next_(n), previous_(n), bucket_(n) {}

  void insert(std::int32_t v, std::int32_t degree) {
    const std::int32_t b = bucket_of(degree);
    next_[v] = head_[b];
    previous_[v] = -1;
    if (head_[b] >= 0) previous_[head_[b]] = v;
    head_[b] = v;
    bucket_[v] = b;
    least_ = std::min(least_, b);
  }

  // To be called when the degree may have fallen.
  void lower(std::int32_t v, std::int32_t degree) {
    if (bucket_of(degree) >= bucket_[v]) return;
    remove(v);
    insert(v, degree);
  }

  template <class Degree>
  std::int32_t pop(const Degree& degree) {
    for (;;) {
      while (head_[least_] < 0) ++least_;
      const std::int32_t v = head_[least_], b = least_;
      remove(v);
      const std::int32_t now = degree(v);
      if (bucket_of(now) <= b) return v;
      insert(v, now);
    }
  }

 private:
  // Beyond this many neighbours it hardly matters who goes first.
  static constexpr std::int32_t N_BUCKETS = 4096;

  static std::int32_t bucket_of(std::int32_t degree) {
    return std::min(std::max(degree, 0), N_BUCKETS - 1);
  }

  void remove(std::int32_t v) {
    if (previous_[v] >= 0)
      next_[previous_[v]] = next_[v];
    else
      head_[bucket_[v]] = next_[v];
    if (next_[v] >= 0) previous_[next_[v]] = previous_[v];
  }

  std::vector<std::int32_t> head_, next_, previous_, bucket_;
  std::int32_t least_ = 0;
};

int log2_at_least(std::int64_t size) {
  int log = 2;
  while ((std::int64_t{1} << log) < size) ++log;
  return log;
}

}  // namespace

// The graph that is left, and what leaves it.
class Elimination {
 public:
  Elimination(std::int64_t n, std::int64_t n_entries, std::vector<double> excess,
              std::uint64_t seed, ThreadPool& threads)
      : memory_(2 * n_entries),
        lists_(n),
        alive_(n, 1),
        slot_(n, 0),
        excess_(std::move(excess)),
        seed_(seed),
        threads_(threads) {}

  void reserve(std::int32_t v, std::int64_t size) {
    lists_[v].log_capacity = log2_at_least(size);
    lists_[v].edges = memory_.take(lists_[v].log_capacity);
  }

  void append(std::int32_t v, std::int32_t to, double weight) {
    EdgeList& list = lists_[v];
    if (list.size == (std::int32_t{1} << list.log_capacity)) make_room(v);
    list.edges[list.size++] = {weight, to};
  }

  // Takes v out of the graph: its column goes to the factor, its neighbours stay in star().
  void eliminate(std::int32_t v, ApproximateCholesky& factor) {
    EdgeList& list = lists_[v];
    work_ += 1 + list.size;
    if (work_ >= WORK_PER_CHECK) {
      threads_.check();
      work_ = 0;
    }
    star_.resize(list.size);
    star_.resize(merge(list, star_.data()));
    memory_.give_back(list.edges, list.log_capacity);
    list = {};
    alive_[v] = 0;
    std::sort(star_.begin(), star_.end(), Lighter{});
    add_column(v, factor);
  }

  const std::vector<Edge>& star() const { return star_; }

  // Draws the edges that replace the star of v, and calls join(neighbour, neighbour, weight).
  template <class Join>
  void sample(std::int32_t vertex, const Join& join) {
    Random random(seed_, vertex);
    const std::size_t d = star_.size();
    for (std::size_t i = 0; i + 1 < d; ++i) {
      const double heavier = tail_[i + 1];
      const std::size_t j = find(i + 1, d, random.next() * heavier);
      // Σ_j w_i w_j / S over the heavier j; an underflow leaves no edge.
      const double weight = star_[i].weight * (heavier / total_);
      if (weight > 0.0) join(star_[i].to, star_[j].to, weight);
    }
  }

 private:
  // Copies the edges to live vertices, each once. `out` may be the list itself.
  std::int32_t merge(const EdgeList& list, Edge* out) {
    std::int32_t count = 0;
    for (std::int32_t e = 0; e < list.size; ++e) {
      const Edge edge = list.edges[e];
      if (!alive_[edge.to]) continue;
      const std::int32_t slot = slot_[edge.to];
      if (slot < count && out[slot].to == edge.to) {
        out[slot].weight += edge.weight;
      } else {
        slot_[edge.to] = count;
        out[count++] = edge;
      }
    }
    return count;
  }

  void make_room(std::int32_t v) {
    EdgeList& list = lists_[v];
    list.size = merge(list, list.edges);
    // With less room than that, merging again soon would cost more than the memory.
    if (2 * std::int64_t{list.size} <= (std::int64_t{1} << list.log_capacity)) return;
    Edge* wider = memory_.take(list.log_capacity + 1);
    std::copy(list.edges, list.edges + list.size, wider);
    memory_.give_back(list.edges, list.log_capacity);
    list.edges = wider;
    ++list.log_capacity;
  }

  void add_column(std::int32_t v, ApproximateCholesky& factor) {
    const std::size_t d = star_.size();
    tail_.resize(d + 1);
    tail_[d] = 0.0;
    for (std::size_t i = d; i-- > 0;) tail_[i] = tail_[i + 1] + star_[i].weight;
    total_ = tail_[0] + excess_[v];
    for (const Edge& edge : star_) {
      const double share = edge.weight / total_;
      factor.rows_.push_back(edge.to);
      factor.values_.push_back(share);
      // What ties v to the ground ties its neighbours to it, exactly and without any fill.
      excess_[edge.to] += share * excess_[v];
    }
    factor.offsets_.push_back(static_cast<std::int64_t>(factor.rows_.size()));
    factor.pivots_.push_back(total_);
  }

  // The last of first … d − 1 whose tail is more than r.
  std::size_t find(std::size_t first, std::size_t d, double r) const {
    std::size_t length = d - first;
    while (length > 1) {
      const std::size_t half = length / 2;
      first = tail_[first + half] > r ? first + half : first;
      length -= half;
    }
    return first;
  }

  EdgePool memory_;
  std::vector<EdgeList> lists_;
  std::vector<std::uint8_t> alive_;
  std::vector<std::int32_t> slot_;
  std::vector<double> excess_;
  std::uint64_t seed_;
  ThreadPool& threads_;
  std::int64_t work_ = 0;
  std::vector<Edge> star_;
  std::vector<double> tail_;
  double total_ = 0.0;
};

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
  const std::int64_t n = this->n();
  const std::int32_t* rows = rows_.data();
  const double* values = values_.data();
  for (std::int64_t t = 0; t < n; ++t) {
    const double* own = work + t * D;
    for (std::int64_t e = offsets_[t]; e < offsets_[t + 1]; ++e) {
      double* other = work + std::int64_t{rows[e]} * D;
      for (int i = 0; i < D; ++i) other[i] += values[e] * own[i];
    }
  }
  for (std::int64_t t = n - 1; t >= 0; --t) {
    double* own = work + t * D;
    const double inverse = pivots_[t] > 0.0 ? 1.0 / pivots_[t] : 0.0;
    for (int i = 0; i < D; ++i) own[i] *= inverse;
    for (std::int64_t e = offsets_[t]; e < offsets_[t + 1]; ++e) {
      const double* other = work + std::int64_t{rows[e]} * D;
      for (int i = 0; i < D; ++i) own[i] += values[e] * other[i];
    }
  }
}

void ApproximateCholesky::solve_some(const double* rhs, std::int64_t first, std::int64_t k,
                                     std::int64_t d, double* out) const {
  const std::int64_t n = this->n();
  std::vector<double> work(static_cast<std::size_t>(n * k));
  for (std::int64_t t = 0; t < n; ++t)
    std::copy_n(rhs + std::int64_t{order_[t]} * d + first, k, work.data() + t * k);
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
  for (std::int64_t t = 0; t < n; ++t)
    std::copy_n(work.data() + t * k, k, out + std::int64_t{order_[t]} * d + first);
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
