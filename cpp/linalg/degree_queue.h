// The order in which vertices are eliminated.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace closeknit {

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

}  // namespace closeknit
