// The k nearest points met so far, and the C smallest sketch values met so far.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>

#include "neighbors/buffers.h"
#include "neighbors/selection.h"

namespace closeknit::CK_ISA {

// A heap of the k nearest points by true distance.
class Nearest {
 public:
  void start(std::int64_t capacity) {
    capacity_ = capacity;
    heap_.reserve(capacity);
  }

  // No point farther than this can still get in.
  double limit() const { return full() ? heap_[0].value : HUGE_VAL; }

  void offer(double sq_distance, std::int32_t point) {
    if (full()) return replace_farthest(heap_.data(), capacity_, {sq_distance, point});
    push_neighbor(heap_.data(), heap_.size(), {sq_distance, point});
    heap_.cut(heap_.size() + 1);
  }

  void write(std::int32_t* indices, double* sq_distances) {
    sort_neighbors(heap_.data(), heap_.size());
    for (std::int64_t i = 0; i < capacity_; ++i) {
      const bool there = i < heap_.size();
      indices[i] = there ? heap_[i].point : -1;
      sq_distances[i] = there ? heap_[i].value : HUGE_VAL;
    }
  }

 private:
  bool full() const { return heap_.size() == capacity_; }

  std::int64_t capacity_ = 0;
  List<Neighbor> heap_;
};

// The smallest values of a long stream: everything below the threshold is kept, and when the
// room is full all but the smallest are thrown away and the threshold falls. Most values meet
// only the comparison, so this is much cheaper than a heap.
class Smallest {
 public:
  void start(std::int64_t wanted) {
    wanted_ = wanted;
    room_ = 2 * wanted + 64;
    kept_.reserve(room_);
  }

  float threshold() const { return threshold_; }

  void add(float value, std::int32_t point) {
    kept_.append({value, point});
    if (kept_.size() == room_) shrink();
  }

  // Leaves the wanted ones only, by index.
  const List<Candidate>& by_point() {
    if (kept_.size() > wanted_) shrink();
    sort_by_point(kept_.data(), kept_.size());
    return kept_;
  }

  bool contains(std::int32_t point) const {  // after by_point()
    std::int64_t begin = 0, end = kept_.size();
    while (begin < end) {
      const std::int64_t middle = begin + (end - begin) / 2;
      if (kept_[middle].point < point)
        begin = middle + 1;
      else
        end = middle;
    }
    return begin < kept_.size() && kept_[begin].point == point;
  }

 private:
  void shrink() {
    select_smallest(kept_.data(), kept_.size(), wanted_);
    kept_.cut(wanted_);
    threshold_ = kept_[wanted_ - 1].value;
  }

  std::int64_t wanted_ = 0, room_ = 0;
  float threshold_ = FLT_MAX;
  List<Candidate> kept_;
};

}  // namespace closeknit::CK_ISA
