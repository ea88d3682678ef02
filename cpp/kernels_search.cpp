// The nearest points to each query, by sketches first and true distances last.
//
// Points live in cells (a k-means partition of their sketches). Each query looks into the cells
// whose centres are nearest, keeps the most promising candidates by their sketches and ranks them
// by their true distances. That is the approximate search. Queries near each other share a task,
// so that a cell's sketches are read once for all that look into it.
//
// The exact search then sweeps all other cells. With τ the distance of the k-th best so far, a
// point whose sketch is farther than τ cannot be an answer, because sketches never lie farther
// apart than their points; whoever is left gets its true distance. τ is nearly final after the
// first part, so few are left. A whole cell is ruled out by the triangle inequality. Rounding:
// `sq_norms` and `half_sq_norms` come reduced by the bound on the error of the float32 products
// (see _sketch.py), so both tests err on the safe side.
#include "kernels_search.h"

#include "nearest.h"
#include "panels.h"
#include "row_distance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

namespace closeknit::CK_ISA {
namespace {

constexpr int kPlaces = kTileColumns<float>;
constexpr std::int64_t kBlockPanels = 8;
constexpr std::int64_t kBlockPlaces = kBlockPanels * kPlaces;
constexpr std::int64_t kStretch = 256;  // coordinates of a panel in the first cache: 16 KiB

// A row of the task has yet to look at a cell, or at a point. One number, so that sorting is fast.
struct Visit {
  std::uint64_t key;

  Visit(std::int64_t target, std::int64_t row)
      : key(static_cast<std::uint64_t>(target) << 32 | static_cast<std::uint64_t>(row)) {}
  std::int32_t target() const { return static_cast<std::int32_t>(key >> 32); }
  std::int32_t row() const { return static_cast<std::int32_t>(key & 0xffffffffu); }
  bool operator<(const Visit& other) const { return key < other.key; }
};

template <class RowsType>
class Task {
 public:
  Task(const RowsType& query_rows, const RowsType& point_rows, const double* addend,
       const Sketch& sketch, const Queries& queries, const SearchPlan& plan,
       const Answers& answers, std::int64_t task)
      : query_rows_(query_rows),
        point_rows_(point_rows),
        addend_(addend),
        sketch_(sketch),
        queries_(queries),
        plan_(plan),
        answers_(answers),
        rows_(queries.order + queries.task_offsets[task]),
        n_rows_(queries.task_offsets[task + 1] - queries.task_offsets[task]),
        everyone_(new float[(n_rows_ + kTileRows) * sketch.n_coordinates]),
        some_(new float[(n_rows_ + kTileRows) * sketch.n_coordinates]),
        products_(new float[(n_rows_ + kTileRows) * kBlockPlaces]),
        to_centers_(new float[n_rows_ * sketch.n_cells]),
        limits_(new float[n_rows_]),
        smallest_(n_rows_, Smallest(plan.n_candidates)),
        nearest_(n_rows_, Nearest(plan.n_neighbors)) {}

  void run() {
    measure_centers();
    probe();
    rank();
    if (plan_.exact) sweep();
    for (std::int64_t r = 0; r < n_rows_; ++r) {
      const std::int64_t at = rows_[r] * plan_.n_neighbors;
      nearest_[r].write(answers_.indices + at, answers_.sq_distances + at);
    }
  }

 private:
  // The sketch value ½‖c‖² - ⟨x, c⟩ of every query x and centre c.
  void measure_centers() {
    const Sketch& centers = *plan_.centers;
    select_all();
    pack(everyone_.get(), 1.0f);
    active_ = everyone_.get();
    scan(centers, 0, centers.cell_panels[1], [&](std::int64_t r, const float* values,
                                                 const std::int32_t* points) {
      for (int c = 0; c < kPlaces; ++c) {
        if (points[c] >= 0) to_centers_[r * sketch_.n_cells + points[c]] = values[c];
      }
    });
  }

  // Keeps each query's candidates of smallest estimated distance in its nearest cells.
  void probe() {
    std::vector<Visit> visits;
    visits.reserve(n_rows_ * plan_.n_probes);
    std::vector<Candidate<float>> near(sketch_.n_cells);
    for (std::int64_t r = 0; r < n_rows_; ++r) {
      for (std::int32_t c = 0; c < sketch_.n_cells; ++c) {
        near[c] = {to_centers_[r * sketch_.n_cells + c], c};
      }
      std::nth_element(near.begin(), near.begin() + (plan_.n_probes - 1), near.end());
      for (std::int64_t p = 0; p < plan_.n_probes; ++p) {
        visits.emplace_back(near[p].point, r);
      }
    }
    // Cells that most rows want come first: they hold the nearest points, after which few others
    // pass the thresholds.
    std::unique_ptr<std::int32_t[]> wanted(new std::int32_t[sketch_.n_cells]());
    for (const Visit& visit : visits) ++wanted[visit.target()];
    std::sort(visits.begin(), visits.end(), [&](const Visit& a, const Visit& b) {
      const std::int32_t left = wanted[a.target()], right = wanted[b.target()];
      return left > right || (left == right && a < b);
    });
    for (std::size_t v = 0; v < visits.size();) {
      const std::int32_t cell = visits[v].target();
      selected_.clear();
      for (; v < visits.size() && visits[v].target() == cell; ++v) selected_.push_back(visits[v]);
      pack(some_.get(), sketch_.has_residual ? plan_.residual_weight : 1.0f);
      active_ = some_.get();
      scan(sketch_, sketch_.cell_panels[cell], sketch_.cell_panels[cell + 1],
           [&](std::int64_t r, const float* values, const std::int32_t* points) {
             pick(values, points, self(r), smallest_[r].threshold(), [&](int c) {
               smallest_[r].add(values[c], points[c]);
               return smallest_[r].threshold();
             });
           });
    }
  }

  void rank() {
    for (std::int32_t r = 0; r < n_rows_; ++r) {
      answers_.evaluated[rows_[r]] = 0;
      limits_[r] = sketch_limit(r);
      for (const auto& candidate : smallest_[r].by_point()) pending_.emplace_back(candidate.point, r);
    }
    evaluate_pending();
  }

  // Looks at every point that no sketch rules out.
  void sweep() {
    for (std::int64_t cell = 0; cell < sketch_.n_cells; ++cell) {
      selected_.clear();
      for (std::int32_t r = 0; r < n_rows_; ++r) {
        if (!complete(r) && !ruled_out(r, cell)) selected_.emplace_back(0, r);
      }
      if (selected_.empty()) continue;
      if (4 * static_cast<std::int64_t>(selected_.size()) >= 3 * n_rows_) {
        select_all();  // looking with a few rows too many is cheaper than laying out the others
        active_ = everyone_.get();
      } else {
        pack(some_.get(), 1.0f);
        active_ = some_.get();
      }
      scan(sketch_, sketch_.cell_panels[cell], sketch_.cell_panels[cell + 1],
           [&](std::int32_t r, const float* values, const std::int32_t* points) {
             const float limit = limits_[r];
             pick(values, points, self(r), limit, [&](int c) {
               // The first candidates come by again, and must not be answers twice.
               if (!smallest_[r].contains(points[c])) pending_.emplace_back(points[c], r);
               return limit;
             });
           });
      evaluate_pending();
    }
  }

  // Has the row looked at every point already, and is the k-th best nearer than the first point
  // that was no candidate? Then there is nothing to sweep. (A plain search, without residuals: the
  // estimates by which candidates were kept are the sketch values themselves.)
  bool complete(std::int64_t r) const {
    return plan_.n_probes == sketch_.n_cells && !sketch_.has_residual &&
           smallest_[r].threshold() > limits_[r];
  }

  // Is every point of the cell farther than the k-th best? ‖x - y‖ ≥ ‖x - c‖ - ‖c - y‖.
  bool ruled_out(std::int64_t r, std::int64_t cell) const {
    const double sq_norm = queries_.sq_norms[rows_[r]];
    const double sq_gap = sq_norm + 2.0 * to_centers_[r * sketch_.n_cells + cell];
    const double gap = std::sqrt(std::max(0.0, sq_gap)) - plan_.cell_radii[cell];
    const double slack = 2.0 * plan_.margin * std::max(0.0, sq_norm) + plan_.cell_slacks[cell];
    return gap > 0 && gap * gap > nearest_[r].limit() * plan_.sketch_unit + slack;
  }

  void select_all() {
    selected_.clear();
    for (std::int32_t r = 0; r < n_rows_; ++r) selected_.emplace_back(0, r);
  }

  // Lays the selected rows out for the tiles.
  void pack(float* out, float residual_weight) {
    const std::int64_t n = sketch_.n_coordinates;
    const auto n_selected = static_cast<std::int64_t>(selected_.size());
    for (std::int64_t g = 0; g < n_selected; g += kTileRows) {
      const float* rows[kTileRows] = {};
      const int here = static_cast<int>(std::min<std::int64_t>(kTileRows, n_selected - g));
      for (int r = 0; r < here; ++r) rows[r] = queries_.sketches + rows_[selected_[g + r].row()] * n;
      float* packed = out + g * n;
      pack_rows(rows, here, n, packed);
      for (int r = 0; r < kTileRows; ++r) packed[(n - 1) * kTileRows + r] *= residual_weight;
    }
  }

  // Calls met(row, values, points) for each selected row and panel of 16 points. A stretch of one
  // panel stays in the first cache while all rows pass over it.
  template <class Met>
  void scan(const Sketch& sketch, std::int64_t begin, std::int64_t end, const Met& met) {
    const auto n_selected = static_cast<std::int64_t>(selected_.size());
    for (std::int64_t first = begin; first < end; first += kBlockPanels) {
      const std::int64_t last = std::min(end, first + kBlockPanels);
      multiply(sketch, first, last, n_selected);
      for (std::int64_t i = 0; i < n_selected; ++i) {
        for (std::int64_t p = first; p < last; ++p) {
          const float* products = products_.get() + i * kBlockPlaces + (p - first) * kPlaces;
          const float* half_sq_norms = sketch.half_sq_norms + p * kPlaces;
          float values[kPlaces];
          for (int c = 0; c < kPlaces; ++c) values[c] = half_sq_norms[c] - products[c];
          met(selected_[i].row(), values, sketch.points + p * kPlaces);
        }
      }
    }
  }

  void multiply(const Sketch& sketch, std::int64_t first, std::int64_t last,
                std::int64_t n_selected) {
    const std::int64_t n = sketch.n_coordinates;
    for (std::int64_t k = 0; k < n; k += kStretch) {
      const std::int64_t length = std::min(kStretch, n - k);
      for (std::int64_t p = first; p < last; ++p) {
        for (std::int64_t g = 0; g < n_selected; g += kTileRows) {
          tile_products(length, active_ + g * n + k * kTileRows,
                        sketch.panels + (p * n + k) * kPlaces,
                        products_.get() + g * kBlockPlaces + (p - first) * kPlaces, kBlockPlaces,
                        k > 0);
        }
      }
    }
  }

  // Calls take(place) for each value at most the limit; it gives the new limit.
  template <class Take>
  static void pick(const float* values, const std::int32_t* points, std::int32_t self, float limit,
                   const Take& take) {
    if (!any_at_most(values, limit)) return;
    for (int c = 0; c < kPlaces; ++c) {
      if (values[c] <= limit && points[c] >= 0 && points[c] != self) limit = take(c);
    }
  }

  std::int32_t self(std::int64_t r) const { return queries_.self ? queries_.self[rows_[r]] : -1; }

  // The sketch value above which no point can be nearer than the k-th best of row r, from
  // ½ d² = ½‖x‖² + (½‖y‖² - ⟨x, y⟩) ≤ ½ τ.
  float sketch_limit(std::int64_t r) const {
    const double tau = nearest_[r].limit() * plan_.sketch_unit;
    const double limit = 0.5 * (tau - queries_.sq_norms[rows_[r]]);
    if (!(limit < std::numeric_limits<float>::max())) return std::numeric_limits<float>::max();
    return std::nextafter(static_cast<float>(limit), std::numeric_limits<float>::infinity());
  }

  // Takes the true distances of all pending pairs, point by point: the task's own rows stay in
  // the cache, and each point's row comes from memory once for all who want it.
  void evaluate_pending() {
    std::sort(pending_.begin(), pending_.end());
    for (std::size_t v = 0; v < pending_.size(); ++v) {
      const std::int32_t point = pending_[v].target();
      if (v + 1 < pending_.size() && pending_[v + 1].target() != point) {
        prefetch(point_rows_, pending_[v + 1].target());
      }
      evaluate(pending_[v].row(), point);
    }
    pending_.clear();
  }

  void evaluate(std::int64_t r, std::int32_t point) {
    const double limit = nearest_[r].limit();
    const double extra = addend_ ? addend_[point] : 0.0;
    const double sq = sq_distance(query_rows_, rows_[r], point_rows_, point, limit) + extra;
    ++answers_.evaluated[rows_[r]];
    if (sq <= limit) {
      nearest_[r].offer(sq, point);
      limits_[r] = sketch_limit(r);
    }
  }

  const RowsType &query_rows_, &point_rows_;
  const double* addend_;
  const Sketch& sketch_;
  const Queries& queries_;
  const SearchPlan& plan_;
  const Answers& answers_;
  const std::int64_t* rows_;
  std::int64_t n_rows_;
  std::unique_ptr<float[]> everyone_, some_, products_, to_centers_, limits_;
  const float* active_ = nullptr;  // whichever of the two layouts holds the selected rows
  std::vector<Visit> selected_, pending_;
  std::vector<Smallest> smallest_;
  std::vector<Nearest> nearest_;
};

}  // namespace

void search_cells(const Rows& query_rows, const Rows& point_rows, const double* addend,
                  const Sketch& sketch, const Queries& queries, const SearchPlan& plan,
                  const Answers& answers, ThreadPool& pool) {
  with_rows(query_rows, point_rows, [&](const auto& a, const auto& b) {
    pool.run(queries.n_tasks, [&](std::int64_t task) {
      Task<std::decay_t<decltype(a)>>(a, b, addend, sketch, queries, plan, answers, task).run();
    });
  });
}

}  // namespace closeknit::CK_ISA
