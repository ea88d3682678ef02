#include "linalg/approximate_cholesky.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "common/huge_pages.h"
#include "common/threads.h"
#include "linalg/degree_queue.h"
#include "linalg/elimination.h"

namespace closeknit {
namespace {

constexpr std::int64_t POINTS_AHEAD = 24;
constexpr std::int32_t BORDER = -1;

// The part that each point is in, and its number there.
struct Places {
  std::vector<std::int32_t> part, number;

  Places(const std::vector<Part>& parts, const Part& border, std::int64_t n) : part(n), number(n) {
    for (std::size_t k = 0; k < parts.size(); ++k) add(parts[k], static_cast<std::int32_t>(k));
    add(border, BORDER);
  }

 private:
  void add(const Part& of, std::int32_t k) {
    for (std::size_t i = 0; i < of.points.size(); ++i) {
      part[of.points[i]] = k;
      number[of.points[i]] = static_cast<std::int32_t>(i);
    }
  }
};

// An edge among points of the border, by their numbers there.
struct BorderEdge {
  std::int32_t from, to;
  double weight;
};

// What a part leaves to the border.
struct Remainder {
  std::vector<BorderEdge> edges;
  std::vector<double> excess;  // of the points that the part touches
};

// Whether edges at a vertex that leaves are found in its own list, whichever leaves first, or in
// that of the one that leaves first, which an order given beforehand tells.
enum class Order { BY_DEGREE, AS_GIVEN };

// A part's graph, its own vertices numbered before those of the border that it touches.
class PartGraph {
 public:
  PartGraph(Part& part, std::int64_t n_touched, std::int64_t n_entries, std::vector<double> excess,
            Order order, std::uint64_t seed, ThreadPool& pool)
      : part_(part),
        n_own_(static_cast<std::int32_t>(part.points.size())),
        order_(order),
        graph_(n_own_ + n_touched, order == Order::BY_DEGREE ? n_entries : n_entries / 2,
               std::move(excess), seed, pool),
        degree_(order == Order::BY_DEGREE ? n_own_ : 0) {
    part_.columns = {};
    part_.columns.reserve(n_own_, n_entries);
  }

  void reserve(std::int32_t v, std::int64_t size) { graph_.reserve(v, size); }

  // Adds an edge as it stands in v's row of the matrix, and will stand in the other's.
  void add(std::int32_t v, std::int32_t to, double weight) {
    if (order_ == Order::AS_GIVEN && to < v) return;
    graph_.append(v, to, weight);
    if (order_ == Order::BY_DEGREE) ++degree_[v];
  }
  // Adds an edge that stands in no row.
  void join(std::int32_t a, std::int32_t b, double weight) {
    const bool one_list = order_ == Order::AS_GIVEN || (a >= n_own_ && b >= n_own_);
    if (one_list) return graph_.append(std::min(a, b), std::max(a, b), weight);
    if (a < n_own_) append(a, b, weight);
    if (b < n_own_) append(b, a, weight);
  }

  void eliminate() {
    if (order_ == Order::BY_DEGREE) return eliminate_by_degree();
    for (std::int32_t v = 0; v < n_own_; ++v) eliminate(v);
  }

  Remainder remainder(const std::vector<std::int32_t>& touched) {
    Remainder rest;
    for (std::size_t i = 0; i < touched.size(); ++i) {
      const auto v = static_cast<std::int32_t>(n_own_ + i);
      rest.excess.push_back(graph_.excess(v));
      for (const Edge& edge : graph_.rest(v))
        rest.edges.push_back({touched[i], touched[edge.to - n_own_], edge.weight});
    }
    return rest;
  }

 private:
  void append(std::int32_t v, std::int32_t to, double weight) {
    graph_.append(v, to, weight);
    ++degree_[v];
  }

  void eliminate(std::int32_t v) {
    graph_.eliminate(v, part_.columns);
    if (order_ == Order::BY_DEGREE)
      for (const Edge& edge : graph_.star())
        if (edge.to < n_own_) --degree_[edge.to];
    graph_.sample(part_.points[v],
                  [&](std::int32_t a, std::int32_t b, double weight) { join(a, b, weight); });
  }

  void eliminate_by_degree() {
    DegreeQueue queue(n_own_);
    for (std::int32_t v = n_own_ - 1; v >= 0; --v) queue.insert(v, degree_[v]);
    std::vector<std::int32_t> place(n_own_), order;
    order.reserve(n_own_);
    for (std::int32_t t = 0; t < n_own_; ++t) {
      const std::int32_t v = queue.pop([&](std::int32_t u) { return degree_[u]; });
      place[v] = t;
      order.push_back(part_.points[v]);
      eliminate(v);
      for (const Edge& edge : graph_.star())
        if (edge.to < n_own_) queue.lower(edge.to, degree_[edge.to]);
    }
    for (auto& row : part_.columns.rows)
      if (row < n_own_) row = place[row];
    part_.points = std::move(order);
  }

  Part& part_;
  const std::int32_t n_own_;
  const Order order_;
  Elimination graph_;
  std::vector<std::int32_t> degree_;
};

template <class I>
std::int64_t n_entries_of(const Csr<I>& weights, const std::vector<std::int32_t>& points) {
  std::int64_t count = 0;
  for (const std::int32_t v : points) count += weights.indptr[v + 1] - weights.indptr[v];
  return count;
}

// Calls use(number, other point, weight) for the edges of some points.
template <class I, class Use>
void for_edges(const Csr<I>& weights, const std::vector<std::int32_t>& points, const Use& use) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::int32_t v = points[i];
    for (I e = weights.indptr[v]; e < weights.indptr[v + 1]; ++e)
      if (weights.indices[e] != v && weights.values[e] > 0.0)
        use(static_cast<std::int32_t>(i), static_cast<std::int32_t>(weights.indices[e]),
            weights.values[e]);
  }
}

template <class I>
void reserve_rows(const Csr<I>& weights, const std::vector<std::int32_t>& points,
                  PartGraph& graph) {
  for (std::size_t i = 0; i < points.size(); ++i)
    graph.reserve(static_cast<std::int32_t>(i),
                  weights.indptr[points[i] + 1] - weights.indptr[points[i]]);
}

// Each of some numbers once, the smallest first.
void sort_out(std::vector<std::int32_t>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

// Eliminates the k-th part.
template <class I>
Remainder eliminate_part(const Laplacian<I>& matrix, Part& part, std::int32_t k,
                         const Places& places, Order order, std::uint64_t seed, ThreadPool& pool) {
  part.touched.clear();
  for_edges(matrix.weights, part.points, [&](std::int32_t, std::int32_t to, double) {
    if (places.part[to] == k) return;
    if (places.part[to] != BORDER)
      throw std::invalid_argument("an edge joins two parts; divide() finds parts without");
    part.touched.push_back(places.number[to]);
  });
  sort_out(part.touched);
  const auto n_own = static_cast<std::int32_t>(part.points.size());
  // The number in the part of a point of the border.
  const auto after_own = [&](std::int32_t in_border) {
    const auto at = std::lower_bound(part.touched.begin(), part.touched.end(), in_border);
    return n_own + static_cast<std::int32_t>(at - part.touched.begin());
  };
  std::vector<double> excess;
  for (const std::int32_t v : part.points) excess.push_back(matrix.excess[v]);
  excess.resize(n_own + part.touched.size(), 0.0);
  PartGraph graph(part, static_cast<std::int64_t>(part.touched.size()),
                  n_entries_of(matrix.weights, part.points), std::move(excess), order, seed, pool);
  reserve_rows(matrix.weights, part.points, graph);
  for (std::size_t i = 0; i < part.touched.size(); ++i)
    graph.reserve(n_own + static_cast<std::int32_t>(i), 0);
  for_edges(matrix.weights, part.points, [&](std::int32_t v, std::int32_t to, double weight) {
    const std::int32_t other = places.number[to];
    graph.add(v, places.part[to] == k ? other : after_own(other), weight);
  });
  graph.eliminate();
  return graph.remainder(part.touched);
}

// Eliminates the border, with what the parts have left to it.
template <class I>
void eliminate_border(const Laplacian<I>& matrix, Part& border, const std::vector<Part>& parts,
                      const std::vector<Remainder>& rests, const Places& places, Order order,
                      std::uint64_t seed, ThreadPool& pool) {
  std::vector<double> excess;
  for (const std::int32_t v : border.points) excess.push_back(matrix.excess[v]);
  std::int64_t n_entries = n_entries_of(matrix.weights, border.points);
  for (std::size_t k = 0; k < rests.size(); ++k) {
    n_entries += 2 * static_cast<std::int64_t>(rests[k].edges.size());
    for (std::size_t i = 0; i < parts[k].touched.size(); ++i)
      excess[parts[k].touched[i]] += rests[k].excess[i];
  }
  PartGraph graph(border, 0, n_entries, std::move(excess), order, seed, pool);
  reserve_rows(matrix.weights, border.points, graph);
  for_edges(matrix.weights, border.points, [&](std::int32_t v, std::int32_t to, double weight) {
    if (places.part[to] == BORDER) graph.add(v, places.number[to], weight);
  });
  for (const Remainder& rest : rests)
    for (const BorderEdge& edge : rest.edges) graph.join(edge.from, edge.to, edge.weight);
  graph.eliminate();
}

}  // namespace

Division Division::of(const std::int32_t* labels, std::int64_t n) {
  Division division;
  for (std::int64_t v = 0; v < n; ++v) {
    const std::int32_t k = labels[v];
    if (k >= static_cast<std::int32_t>(division.parts.size())) division.parts.resize(k + 1);
    (k < 0 ? division.border : division.parts[k]).push_back(static_cast<std::int32_t>(v));
  }
  return division;
}

Division Division::none(std::int64_t n) {
  Division division;
  division.border.resize(n);
  for (std::int64_t v = 0; v < n; ++v) division.border[v] = static_cast<std::int32_t>(v);
  return division;
}

template <class I>
ApproximateCholesky::ApproximateCholesky(const Laplacian<I>& matrix, std::uint64_t seed,
                                         Division division, ThreadPool& pool)
    : n_(matrix.weights.n_rows), parts_(division.parts.size()) {
  for (std::size_t k = 0; k < parts_.size(); ++k) parts_[k].points = std::move(division.parts[k]);
  border_.points = std::move(division.border);
  factorize(matrix, seed, true, pool);
}

template <class I>
ApproximateCholesky::ApproximateCholesky(const Laplacian<I>& matrix, std::uint64_t seed,
                                         const ApproximateCholesky& like, ThreadPool& pool)
    : n_(matrix.weights.n_rows), parts_(like.parts_.size()) {
  for (std::size_t k = 0; k < parts_.size(); ++k) parts_[k].points = like.parts_[k].points;
  border_.points = like.border_.points;
  factorize(matrix, seed, false, pool);
}

template <class I>
void ApproximateCholesky::factorize(const Laplacian<I>& matrix, std::uint64_t seed, bool by_degree,
                                    ThreadPool& pool) {
  const Order order = by_degree ? Order::BY_DEGREE : Order::AS_GIVEN;
  const auto n_parts = static_cast<std::int64_t>(parts_.size());
  const auto n_border = static_cast<std::int64_t>(border_.points.size());
  const Places places(parts_, border_, n_);
  std::vector<Remainder> rests(n_parts);
  pool.run(n_parts, [&](std::int64_t k) {
    rests[k] =
        eliminate_part(matrix, parts_[k], static_cast<std::int32_t>(k), places, order, seed, pool);
  });
  std::vector<std::int32_t> numbered = border_.points;
  eliminate_border(matrix, border_, parts_, rests, places, order, seed, pool);
  if (by_degree) {  // which has numbered the border anew
    std::vector<std::int32_t> place(n_border);
    const Places now(parts_, border_, n_);
    for (std::int64_t i = 0; i < n_border; ++i) place[i] = now.number[numbered[i]];
    for (Part& part : parts_)
      for (auto& i : part.touched) i = place[i];
  }
  find_floating();
}

std::int64_t ApproximateCholesky::nnz() const {
  std::int64_t count = n_ + border_.columns.n_entries();
  for (const Part& part : parts_) count += part.columns.n_entries();
  return count;
}

std::vector<std::int32_t> ApproximateCholesky::order() const {
  std::vector<std::int32_t> order;
  order.reserve(n_);
  for (const Part& part : parts_) order.insert(order.end(), part.points.begin(), part.points.end());
  order.insert(order.end(), border_.points.begin(), border_.points.end());
  return order;
}

Columns ApproximateCholesky::columns() const {
  Columns all;
  const auto first_of_border = static_cast<std::int32_t>(n_ - border_.columns.n());
  const auto add = [&](const Part& part, std::int32_t first) {
    const auto n_own = static_cast<std::int32_t>(part.points.size());
    for (const std::int32_t row : part.columns.rows)
      all.rows.push_back(row < n_own ? first + row : first_of_border + part.touched[row - n_own]);
    all.values.insert(all.values.end(), part.columns.values.begin(), part.columns.values.end());
    all.pivots.insert(all.pivots.end(), part.columns.pivots.begin(), part.columns.pivots.end());
    const std::int64_t before = all.offsets.back();
    for (std::int32_t t = 0; t < n_own; ++t)
      all.offsets.push_back(before + part.columns.offsets[t + 1]);
  };
  for (const Part& part : parts_) add(part, static_cast<std::int32_t>(all.pivots.size()));
  add(border_, first_of_border);
  return all;
}

void ApproximateCholesky::find_floating() {
  // The neighbours of an eliminated vertex stay connected, so any of them leads to the component's
  // last vertex.
  floating_.assign(n_, -1);
  const auto label = [&](const Part& part) {
    const Columns& f = part.columns;
    const std::int64_t n_own = f.n();
    for (std::int64_t t = n_own - 1; t >= 0; --t) {
      std::int32_t& own = floating_[part.points[t]];
      if (f.offsets[t + 1] > f.offsets[t]) {
        const std::int32_t row = f.rows[f.offsets[t]];
        own = floating_[row < n_own ? part.points[row] : border_.points[part.touched[row - n_own]]];
      } else if (!(f.pivots[t] > 0.0)) {
        own = static_cast<std::int32_t>(sizes_.size());
        sizes_.push_back(0.0);
      }
      if (own >= 0) sizes_[own] += 1.0;
    }
  };
  label(border_);
  for (const Part& part : parts_) label(part);
}

void ApproximateCholesky::centre(double* rows, std::int64_t d) const {
  std::vector<double> means(sizes_.size() * d, 0.0);
  for (std::int64_t v = 0; v < n_; ++v)
    if (floating_[v] >= 0)
      for (std::int64_t i = 0; i < d; ++i) means[floating_[v] * d + i] += rows[v * d + i];
  for (std::size_t c = 0; c < sizes_.size(); ++c)
    for (std::int64_t i = 0; i < d; ++i) means[c * d + i] /= sizes_[c];
  for (std::int64_t v = 0; v < n_; ++v)
    if (floating_[v] >= 0)
      for (std::int64_t i = 0; i < d; ++i) rows[v * d + i] -= means[floating_[v] * d + i];
}

// D columns, from the first on, of d.
template <int D>
void ApproximateCholesky::solve_some(const double* rhs, std::int64_t first, std::int64_t d,
                                     double* out, ThreadPool& pool) const {
  const auto take = [&](const std::vector<std::int32_t>& points, double* work) {
    const auto n = static_cast<std::int64_t>(points.size());
    for (std::int64_t t = 0; t < n; ++t) {
      if (t + POINTS_AHEAD < n)
        CK_PREFETCH(rhs + std::int64_t{points[t + POINTS_AHEAD]} * d + first);
      std::copy_n(rhs + std::int64_t{points[t]} * d + first, D, work + t * D);
    }
  };
  const auto give = [&](const std::vector<std::int32_t>& points, const double* work) {
    const auto n = static_cast<std::int64_t>(points.size());
    for (std::int64_t t = 0; t < n; ++t) {
      if (t + POINTS_AHEAD < n)
        CK_PREFETCH_TO_WRITE(out + std::int64_t{points[t + POINTS_AHEAD]} * d + first);
      std::copy_n(work + t * D, D, out + std::int64_t{points[t]} * d + first);
    }
  };
  const auto n_parts = static_cast<std::int64_t>(parts_.size());
  std::vector<std::int64_t> starts{static_cast<std::int64_t>(border_.points.size())};
  for (const Part& part : parts_)
    starts.push_back(starts.back() +
                     static_cast<std::int64_t>(part.points.size() + part.touched.size()));
  const HugeArray<double> memory(static_cast<std::size_t>(starts.back() * D));
  double* const border = memory.data();
  const auto work_of = [&](std::int64_t k) { return memory.data() + starts[k] * D; };

  pool.run(n_parts, [&](std::int64_t k) {
    const Part& part = parts_[k];
    double* work = work_of(k);
    take(part.points, work);
    std::fill_n(work + part.points.size() * D, part.touched.size() * D, 0.0);
    substitute_forward<D>(part.columns, work);
  });
  take(border_.points, border);
  for (std::int64_t k = 0; k < n_parts; ++k) {
    const Part& part = parts_[k];
    const double* left = work_of(k) + part.points.size() * D;
    for (std::size_t i = 0; i < part.touched.size(); ++i)
      for (int c = 0; c < D; ++c) border[std::int64_t{part.touched[i]} * D + c] += left[i * D + c];
  }
  substitute_forward<D>(border_.columns, border);
  substitute_backward<D>(border_.columns, border);
  pool.run(n_parts, [&](std::int64_t k) {
    const Part& part = parts_[k];
    double* work = work_of(k);
    double* given = work + part.points.size() * D;
    for (std::size_t i = 0; i < part.touched.size(); ++i)
      std::copy_n(border + std::int64_t{part.touched[i]} * D, D, given + i * D);
    substitute_backward<D>(part.columns, work);
    give(part.points, work);
  });
  give(border_.points, border);
}

void ApproximateCholesky::solve_columns(const double* rhs, std::int64_t first, std::int64_t k,
                                        std::int64_t d, double* out, ThreadPool& pool) const {
  switch (k) {
    case 1:
      return solve_some<1>(rhs, first, d, out, pool);
    case 2:
      return solve_some<2>(rhs, first, d, out, pool);
    case 3:
      return solve_some<3>(rhs, first, d, out, pool);
    default:
      return solve_some<4>(rhs, first, d, out, pool);
  }
}

void ApproximateCholesky::solve(const double* rhs, std::int64_t d, double* out,
                                ThreadPool& pool) const {
  std::vector<double> centred;
  if (!sizes_.empty()) {
    centred.assign(rhs, rhs + n_ * d);
    centre(centred.data(), d);
    rhs = centred.data();
  }
  // Two columns cost no more than one, and four less than twice two.
  const std::int64_t share = (d + pool.n_threads() - 1) / pool.n_threads();
  const std::int64_t together = std::min<std::int64_t>(std::max<std::int64_t>(share, 2), 4);
  if (parts_.empty()) {
    parallel_chunks(pool, d, together, [&](std::int64_t first, std::int64_t end) {
      ThreadPool alone(1);
      solve_columns(rhs, first, end - first, d, out, alone);
    });
  } else {  // threads share the parts
    for (std::int64_t first = 0; first < d; first += 4)
      solve_columns(rhs, first, std::min<std::int64_t>(d - first, 4), d, out, pool);
  }
  if (!sizes_.empty()) centre(out, d);
}

#define CK_INSTANTIATE(I)                                                                         \
  template ApproximateCholesky::ApproximateCholesky(const Laplacian<I>&, std::uint64_t, Division, \
                                                    ThreadPool&);                                 \
  template ApproximateCholesky::ApproximateCholesky(const Laplacian<I>&, std::uint64_t,           \
                                                    const ApproximateCholesky&, ThreadPool&);
CK_INSTANTIATE(std::int32_t)
CK_INSTANTIATE(std::int64_t)
#undef CK_INSTANTIATE

}  // namespace closeknit
