// Taking vertices out of a graph one by one, with edges drawn among the neighbours they leave.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/huge_pages.h"
#include "common/threads.h"
#include "linalg/columns.h"

namespace closeknit {

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

inline int log2_at_least(std::int64_t size) {
  int log = 2;
  while ((std::int64_t{1} << log) < size) ++log;
  return log;
}

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
  void eliminate(std::int32_t v, Columns& factor) {
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

  // Draws the edges that replace the star, by the name of the point that left, and calls
  // join(neighbour, neighbour, weight).
  template <class Join>
  void sample(std::int32_t point, const Join& join) {
    Random random(seed_, point);
    const std::size_t d = star_.size();
    for (std::size_t i = 0; i + 1 < d; ++i) {
      const double heavier = tail_[i + 1];
      const std::size_t j = find(i + 1, d, random.next() * heavier);
      // Σ_j w_i w_j / S over the heavier j; an underflow leaves no edge.
      const double weight = star_[i].weight * (heavier / total_);
      if (weight > 0.0) join(star_[i].to, star_[j].to, weight);
    }
  }

  // What is left of a vertex that stays: its edges, each once, and its excess.
  const std::vector<Edge>& rest(std::int32_t v) {
    star_.resize(lists_[v].size);
    star_.resize(merge(lists_[v], star_.data()));
    return star_;
  }
  double excess(std::int32_t v) const { return excess_[v]; }

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

  void add_column(std::int32_t v, Columns& factor) {
    const std::size_t d = star_.size();
    tail_.resize(d + 1);
    tail_[d] = 0.0;
    for (std::size_t i = d; i-- > 0;) tail_[i] = tail_[i + 1] + star_[i].weight;
    total_ = tail_[0] + excess_[v];
    for (const Edge& edge : star_) {
      const double share = edge.weight / total_;
      factor.rows.push_back(edge.to);
      factor.values.push_back(share);
      // What ties v to the ground ties its neighbours to it, exactly and without any fill.
      excess_[edge.to] += share * excess_[v];
    }
    factor.offsets.push_back(factor.n_entries());
    factor.pivots.push_back(total_);
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

}  // namespace closeknit
