// The mirror images of a symmetric matrix's entries.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/csr.h"
#include "common/threads.h"

namespace closeknit {

// Calls body(task, row, entry, image) for every entry that is wanted, until it returns false; the
// image is −1 if there is none. Entries of different tasks are in different columns; there are
// n_tasks tasks, at most one per thread.
//
// Rows are passed in ascending order, and so are the entries of a column, which are the images of a
// row: the next one that was not passed yet is the image, without any search.
template <class I, class T, class Wanted, class Body>
void for_images(const Csr<I, T>& weights, std::int64_t n_tasks, const Wanted& wanted,
                const Body& body, ThreadPool& pool) {
  constexpr std::int64_t ROWS_PER_CHECK = 4096;
  const I *indptr = weights.indptr, *indices = weights.indices;
  const std::int64_t n = weights.n_rows,
                     width = std::max<std::int64_t>(1, (n + n_tasks - 1) / n_tasks);
  parallel_chunks(pool, n, width, [&](std::int64_t low, std::int64_t high) {
    std::vector<I> next(indptr + low, indptr + high);
    for (std::int64_t i = 0; i < n; ++i) {
      if (i % ROWS_PER_CHECK == 0) pool.check();
      const I row = static_cast<I>(i), *end = indices + indptr[i + 1];
      const I* first = std::lower_bound(indices + indptr[i], end, static_cast<I>(low));
      for (const I* entry = first; entry < end && *entry < high; ++entry) {
        if (*entry < low) continue;  // only in rows that are not sorted
        const I *last = indices + indptr[*entry + 1], *image = indices + next[*entry - low]++;
        if (!wanted(entry - indices)) continue;
        if (image >= last || *image != row)  // others have no image
          image = std::lower_bound(indices + indptr[*entry], last, row);
        const bool found = image < last && *image == row;
        if (!body(low / width, i, entry - indices, found ? image - indices : -1)) return;
      }
    }
  });
}

}  // namespace closeknit
