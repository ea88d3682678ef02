// The nearest points to each query, by sketches first and true distances last.
//
// Points live in cells (a k-means partition of their sketches). The queries of one cell form
// tasks, and all of a task's queries look into the same cells first: a dense block of sketch
// products, from which each query keeps its most promising candidates and ranks them by their
// true distances. That is the approximate search.
//
// The exact search then sweeps all points once more. With τ the distance of the k-th best so far,
// a point whose sketch is farther than τ cannot be an answer, because sketches never lie farther
// apart than their points; whoever is left gets its true distance. τ is nearly final after the
// first part, so few are left. Rounding: `sq_norms` and `half_sq_norms` come reduced by the bound
// on the error of the float32 products (see sketch.py), so the test errs on the safe side.
#include "kernels_search.h"

#include "nearest.h"
#include "panels.h"
#include "row_distance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

namespace closeknit::CK_ISA {
namespace {

constexpr int kPlaces = kTileColumns<float>;
constexpr std::int64_t kBlockFloats = 32768;  // sketches of one block: 128 KiB, a share of L2

template <class RowsType>
class Searcher {
 public:
  Searcher(const RowsType& query_rows, const RowsType& point_rows, const double* addend,
           const Sketch& sketch, const Queries& queries, const SearchPlan& plan,
           const Answers& answers, std::int64_t task)
      : query_rows_(query_rows),
        point_rows_(point_rows),
        addend_(addend),
        sketch_(sketch),
        queries_(queries),
        plan_(plan),
        answers_(answers),
        cell_(queries.task_cells[task]),
        rows_(queries.order + queries.task_offsets[task]),
        n_rows_(queries.task_offsets[task + 1] - queries.task_offsets[task]),
        n_groups_((n_rows_ + kTileRows - 1) / kTileRows),
        block_panels_(std::max<std::int64_t>(1, kBlockFloats / (kPlaces * sketch.n_coordinates))),
        packed_(new float[n_groups_ * kTileRows * sketch.n_coordinates]),
        values_(new float[kTileRows * kPlaces * block_panels_]),
        smallest_(n_rows_, Smallest(plan.n_candidates)),
        nearest_(n_rows_, Nearest(plan.n_neighbors)) {}

  void run() {
    probe();
    for (std::int64_t r = 0; r < n_rows_; ++r) rank(r);
    if (plan_.exact) sweep();
    for (std::int64_t r = 0; r < n_rows_; ++r) {
      const std::int64_t at = rows_[r] * plan_.n_neighbors;
      nearest_[r].write(answers_.indices + at, answers_.sq_distances + at);
    }
  }

 private:
  // Keeps the candidates of smallest estimated distance in the cells to be looked at first.
  void probe() {
    pack(sketch_.has_residual ? plan_.residual_weight : 1.0f);
    for (std::int64_t p = 0; p < plan_.n_probes; ++p) {
      const std::int32_t cell = plan_.probes[cell_ * plan_.n_probes + p];
      if (cell < 0) break;
      scan(sketch_.cell_panels[cell], sketch_.cell_panels[cell + 1],
           [&](std::int64_t r) { return smallest_[r].threshold(); },
           [&](std::int64_t r, float value, std::int32_t point) {
             smallest_[r].add(value, point);
             return smallest_[r].threshold();
           });
    }
  }

  void rank(std::int64_t r) {
    answers_.evaluated[rows_[r]] = 0;
    for (const auto& candidate : smallest_[r].by_value()) evaluate(r, candidate.point);
    smallest_[r].sort_by_point();
  }

  // Looks at every point that no sketch rules out.
  void sweep() {
    pack(1.0f);
    std::unique_ptr<float[]> limits(new float[n_rows_]);
    for (std::int64_t r = 0; r < n_rows_; ++r) limits[r] = sketch_limit(r);
    scan(0, sketch_.cell_panels[sketch_.n_cells], [&](std::int64_t r) { return limits[r]; },
         [&](std::int64_t r, float, std::int32_t point) {
           // The first candidates come by again, and must not be answers twice.
           if (!smallest_[r].contains(point) && evaluate(r, point)) limits[r] = sketch_limit(r);
           return limits[r];
         });
  }

  // Scans panels: whenever a value is at most its row's limit, tells `met`, which gives the new
  // limit. A block of panels stays in the cache while all groups of rows pass over it.
  template <class Limit, class Met>
  void scan(std::int64_t begin, std::int64_t end, const Limit& limit, const Met& met) {
    const std::int64_t n_coordinates = sketch_.n_coordinates;
    const std::int64_t stride = kPlaces * block_panels_;
    for (std::int64_t first = begin; first < end; first += block_panels_) {
      const std::int64_t last = std::min(end, first + block_panels_);
      for (std::int64_t g = 0; g < n_groups_; ++g) {
        const float* rows = packed_.get() + g * kTileRows * n_coordinates;
        for (std::int64_t p = first; p < last; ++p) {
          tile_products(n_coordinates, rows, sketch_.panels + p * kPlaces * n_coordinates,
                        values_.get() + (p - first) * kPlaces, stride);
        }
        const std::int64_t stop = std::min(n_rows_, (g + 1) * kTileRows);
        for (std::int64_t r = g * kTileRows; r < stop; ++r) {
          pick(r, values_.get() + (r - g * kTileRows) * stride, first, last, limit(r), met);
        }
      }
    }
  }

  template <class Met>
  void pick(std::int64_t r, const float* products, std::int64_t first, std::int64_t last,
            float limit, const Met& met) {
    const std::int32_t self = queries_.self ? queries_.self[rows_[r]] : -1;
    for (std::int64_t p = first; p < last; ++p, products += kPlaces) {
      const float* half_sq_norms = sketch_.half_sq_norms + p * kPlaces;
      float values[kPlaces];
      for (int c = 0; c < kPlaces; ++c) values[c] = half_sq_norms[c] - products[c];
      if (!any_at_most(values, limit)) continue;
      for (int c = 0; c < kPlaces; ++c) {
        const std::int32_t point = sketch_.points[p * kPlaces + c];
        if (values[c] <= limit && point >= 0 && point != self) limit = met(r, values[c], point);
      }
    }
  }

  // The sketch value above which no point can be nearer than the k-th best of row r, from
  // ½ d² = ½‖x‖² + (½‖y‖² - ⟨x, y⟩) ≤ ½ τ.
  float sketch_limit(std::int64_t r) const {
    const double tau = nearest_[r].limit() * plan_.sketch_unit;
    const double limit = 0.5 * (tau - queries_.sq_norms[rows_[r]]);
    if (!(limit < std::numeric_limits<float>::max())) return std::numeric_limits<float>::max();
    return std::nextafter(static_cast<float>(limit), std::numeric_limits<float>::infinity());
  }

  bool evaluate(std::int64_t r, std::int32_t point) {
    const double limit = nearest_[r].limit();
    const double extra = addend_ ? addend_[point] : 0.0;
    const double sq = sq_distance(query_rows_, rows_[r], point_rows_, point, limit) + extra;
    ++answers_.evaluated[rows_[r]];
    if (!(sq <= limit)) return false;
    nearest_[r].offer(sq, point);
    return true;
  }

  void pack(float residual_weight) {
    const std::int64_t n = sketch_.n_coordinates;
    for (std::int64_t g = 0; g < n_groups_; ++g) {
      const float* rows[kTileRows] = {};
      const int here = static_cast<int>(std::min<std::int64_t>(kTileRows, n_rows_ - g * kTileRows));
      for (int r = 0; r < here; ++r) rows[r] = queries_.sketches + rows_[g * kTileRows + r] * n;
      float* packed = packed_.get() + g * kTileRows * n;
      pack_rows(rows, here, n, packed);
      for (int r = 0; r < kTileRows; ++r) packed[(n - 1) * kTileRows + r] *= residual_weight;
    }
  }

  const RowsType &query_rows_, &point_rows_;
  const double* addend_;
  const Sketch& sketch_;
  const Queries& queries_;
  const SearchPlan& plan_;
  const Answers& answers_;
  std::int64_t cell_;
  const std::int64_t* rows_;
  std::int64_t n_rows_, n_groups_, block_panels_;
  std::unique_ptr<float[]> packed_, values_;
  std::vector<Smallest> smallest_;
  std::vector<Nearest> nearest_;
};

}  // namespace

void search_cells(const Rows& query_rows, const Rows& point_rows, const double* addend,
                  const Sketch& sketch, const Queries& queries, const SearchPlan& plan,
                  const Answers& answers, ThreadPool& pool) {
  with_rows(query_rows, point_rows, [&](const auto& a, const auto& b) {
    using RowsType = std::decay_t<decltype(a)>;
    pool.run(queries.n_tasks, [&](std::int64_t task) {
      Searcher<RowsType>(a, b, addend, sketch, queries, plan, answers, task).run();
    });
  });
}

}  // namespace closeknit::CK_ISA
