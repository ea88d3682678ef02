// Sorting by a small number of bins, on several threads.
#pragma once

#include <cstdint>
#include <vector>

#include "common/threads.h"

namespace closeknit {

// Orders 0 … n - 1 by bin(m) < n_bins, items of a bin in ascending order, whatever the number of
// threads; `starts` gets where each bin begins in `order`, and n at its end.
template <class Bin>
void sort_into_bins(std::int64_t n, std::int64_t n_bins, const Bin& bin, std::int64_t* order,
                    std::int64_t* starts, ThreadPool& pool) {
  constexpr std::int64_t ITEMS_PER_TASK = 32768;
  const std::int64_t n_tasks = (n + ITEMS_PER_TASK - 1) / ITEMS_PER_TASK;
  std::vector<std::int64_t> places(n_tasks * n_bins, 0);
  std::vector<std::int32_t> bins(n);
  parallel_chunks(pool, n, ITEMS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t* counts = places.data() + begin / ITEMS_PER_TASK * n_bins;
    for (std::int64_t m = begin; m < end; ++m) {
      bins[m] = static_cast<std::int32_t>(bin(m));
      ++counts[bins[m]];
    }
  });
  std::int64_t place = 0;
  for (std::int64_t b = 0; b < n_bins; ++b) {
    starts[b] = place;
    for (std::int64_t task = 0; task < n_tasks; ++task) {
      const std::int64_t count = places[task * n_bins + b];
      places[task * n_bins + b] = place;
      place += count;
    }
  }
  starts[n_bins] = place;
  parallel_chunks(pool, n, ITEMS_PER_TASK, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t* next = places.data() + begin / ITEMS_PER_TASK * n_bins;
    for (std::int64_t m = begin; m < end; ++m) order[next[bins[m]]++] = m;
  });
}

}  // namespace closeknit
