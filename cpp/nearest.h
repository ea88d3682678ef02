// The k nearest points met so far, and the C smallest sketch values met so far.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace closeknit::CK_ISA {

template <class T>
struct Candidate {
  T value;
  std::int32_t point;
  // Ties go to the smaller index, so that the answer does not depend on the order of the scan.
  bool operator<(const Candidate& other) const {
    return value < other.value || (value == other.value && point < other.point);
  }
};

// A heap of the k nearest points by true distance.
class Nearest {
 public:
  explicit Nearest(std::int64_t capacity) : capacity_(capacity) { heap_.reserve(capacity); }

  // No point farther than this can still get in.
  double limit() const {
    return full() ? heap_.front().value : std::numeric_limits<double>::infinity();
  }

  void offer(double sq_distance, std::int32_t point) {
    const Candidate<double> candidate{sq_distance, point};
    if (!full()) {
      heap_.push_back(candidate);
      std::push_heap(heap_.begin(), heap_.end());
    } else if (candidate < heap_.front()) {
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.back() = candidate;
      std::push_heap(heap_.begin(), heap_.end());
    }
  }

  void write(std::int32_t* indices, double* sq_distances) {
    std::sort_heap(heap_.begin(), heap_.end());
    for (std::int64_t i = 0; i < capacity_; ++i) {
      const bool there = i < static_cast<std::int64_t>(heap_.size());
      indices[i] = there ? heap_[i].point : -1;
      sq_distances[i] = there ? heap_[i].value : std::numeric_limits<double>::infinity();
    }
  }

 private:
  bool full() const { return static_cast<std::int64_t>(heap_.size()) == capacity_; }

  std::int64_t capacity_;
  std::vector<Candidate<double>> heap_;
};

// The smallest values of a long stream: everything below the threshold is kept, and when the
// room is full all but the smallest are thrown away and the threshold falls. Most values meet
// only the comparison, so this is much cheaper than a heap.
class Smallest {
 public:
  explicit Smallest(std::int64_t wanted) : wanted_(wanted), room_(2 * wanted + 64) {
    kept_.reserve(room_);
  }

  float threshold() const { return threshold_; }

  void add(float value, std::int32_t point) {
    kept_.push_back({value, point});
    if (static_cast<std::int64_t>(kept_.size()) == room_) shrink();
  }

  // The wanted ones, by index.
  const std::vector<Candidate<float>>& by_point() {
    if (static_cast<std::int64_t>(kept_.size()) > wanted_) shrink();
    std::sort(kept_.begin(), kept_.end(), ByPoint());
    return kept_;
  }

  bool contains(std::int32_t point) const {  // after by_point()
    return std::binary_search(kept_.begin(), kept_.end(), Candidate<float>{0, point}, ByPoint());
  }

 private:
  struct ByPoint {
    bool operator()(const Candidate<float>& a, const Candidate<float>& b) const {
      return a.point < b.point;
    }
  };

  void shrink() {
    std::nth_element(kept_.begin(), kept_.begin() + (wanted_ - 1), kept_.end());
    kept_.resize(wanted_);
    threshold_ = kept_.back().value;
  }

  std::int64_t wanted_, room_;
  float threshold_ = std::numeric_limits<float>::max();
  std::vector<Candidate<float>> kept_;
};

}  // namespace closeknit::CK_ISA
