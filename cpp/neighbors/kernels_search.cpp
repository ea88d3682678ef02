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
#include "neighbors/kernels_search.h"

#include <math.h>

#include "neighbors/buffers.h"
#include "neighbors/nearest.h"
#include "neighbors/panels.h"
#include "neighbors/row_distance.h"

namespace closeknit::CK_ISA {
namespace {

constexpr std::int64_t BLOCK_PANELS = 8;
constexpr std::int64_t BLOCK_PLACES = BLOCK_PANELS * TILE_FLOATS;
constexpr std::int64_t STRETCH = 256;  // coordinates of a panel in the first cache: 16 KiB
constexpr std::int64_t PAIRS_PER_CHECK = 4096;

// A row of the task has yet to look at a cell, or at a point: one number, so that sorting by target
// and then by row is fast.
using Visit = std::uint64_t;
CK_INLINE Visit visit(std::int64_t target, std::int64_t row) {
  return static_cast<Visit>(target) << 32 | static_cast<Visit>(row);
}
CK_INLINE std::int32_t target_of(Visit visit) { return static_cast<std::int32_t>(visit >> 32); }
CK_INLINE std::int32_t row_of(Visit visit) {
  return static_cast<std::int32_t>(visit & 0xffffffffU);
}

CK_INLINE double positive(double x) { return x > 0.0 ? x : 0.0; }

template <class RowsType>
class Task {
 public:
  Task(const RowsType& query_rows, const RowsType& point_rows, const Points& points,
       const Queries& queries, const SearchPlan& plan, const Answers& answers, std::int64_t task,
       Checkpoint checkpoint)
      : query_rows_(query_rows),
        point_rows_(point_rows),
        points_(points),
        sketch_(points.sketch),
        queries_(queries),
        plan_(plan),
        answers_(answers),
        checkpoint_(checkpoint),
        rows_(queries.order + queries.task_offsets[task]),
        n_rows_(queries.task_offsets[task + 1] - queries.task_offsets[task]),
        everyone_((n_rows_ + TILE_ROWS) * sketch_.n_coordinates),
        some_((n_rows_ + TILE_ROWS) * sketch_.n_coordinates),
        products_((n_rows_ + TILE_ROWS) * BLOCK_PLACES),
        to_centers_(n_rows_ * sketch_.n_cells),
        limits_(n_rows_),
        smallest_(n_rows_),
        nearest_(n_rows_) {
    for (std::int64_t r = 0; r < n_rows_; ++r) {
      smallest_[r].start(plan.n_candidates);
      nearest_[r].start(plan.n_neighbors);
    }
  }

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
    const Sketch& centers = points_.centers;
    select_all();
    pack(everyone_.data(), 1.0f);
    active_ = everyone_.data();
    scan(centers, 0, centers.cell_panels[1],
         [&](std::int32_t r, const float* values, const std::int32_t* points) {
           for (int c = 0; c < TILE_FLOATS; ++c) {
             if (points[c] >= 0) to_centers_[r * sketch_.n_cells + points[c]] = values[c];
           }
         });
  }

  // Keeps each query's candidates of smallest estimated distance in its nearest cells.
  void probe() {
    List<Visit> visits, cells;
    visits.reserve(n_rows_ * plan_.n_probes);
    Buffer<Candidate> near(sketch_.n_cells);
    Buffer<std::int32_t> wanted(sketch_.n_cells);
    for (std::int64_t c = 0; c < sketch_.n_cells; ++c) wanted[c] = 0;
    for (std::int64_t r = 0; r < n_rows_; ++r) {
      for (std::int64_t c = 0; c < sketch_.n_cells; ++c) {
        const float value = to_centers_[r * sketch_.n_cells + c];
        // Selecting needs an order, which NaN has not.
        near[c] = {value == value ? value : HUGE_VALF, static_cast<std::int32_t>(c)};
      }
      select_smallest(near.data(), sketch_.n_cells, plan_.n_probes);
      for (std::int64_t p = 0; p < plan_.n_probes; ++p) {
        visits.append(visit(near[p].point, r));
        ++wanted[near[p].point];
      }
    }
    sort_keys(visits.data(), visits.size());
    Buffer<std::int64_t> first(sketch_.n_cells);
    for (std::int64_t c = 0, at = 0; c < sketch_.n_cells; at += wanted[c++]) {
      first[c] = at;
      if (wanted[c] > 0) cells.append(visit(n_rows_ - wanted[c], c));
    }
    // Cells that most rows want come first: they hold the nearest points, after which few others
    // pass the thresholds.
    sort_keys(cells.data(), cells.size());
    for (std::int64_t i = 0; i < cells.size(); ++i) {
      checkpoint_.check(checkpoint_.context);
      const std::int32_t cell = row_of(cells[i]);
      selected_.clear();
      for (std::int32_t v = 0; v < wanted[cell]; ++v)
        selected_.append(row_of(visits[first[cell] + v]));
      pack(some_.data(), sketch_.has_residual ? plan_.residual_weight : 1.0f);
      active_ = some_.data();
      scan(sketch_, sketch_.cell_panels[cell], sketch_.cell_panels[cell + 1],
           [&](std::int32_t r, const float* values, const std::int32_t* points) {
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
      const List<Candidate>& candidates = smallest_[r].by_point();
      for (std::int64_t c = 0; c < candidates.size(); ++c)
        pending_.append(visit(candidates[c].point, r));
    }
    evaluate_pending();
  }

  // Looks at every point that no sketch rules out.
  void sweep() {
    for (std::int64_t cell = 0; cell < sketch_.n_cells; ++cell) {
      checkpoint_.check(checkpoint_.context);
      selected_.clear();
      for (std::int32_t r = 0; r < n_rows_; ++r) {
        if (!complete(r) && !ruled_out(r, cell)) selected_.append(r);
      }
      if (selected_.size() == 0) continue;
      if (4 * selected_.size() >= 3 * n_rows_) {
        select_all();  // looking with a few rows too many is cheaper than laying out the others
        active_ = everyone_.data();
      } else {
        pack(some_.data(), 1.0f);
        active_ = some_.data();
      }
      scan(sketch_, sketch_.cell_panels[cell], sketch_.cell_panels[cell + 1],
           [&](std::int32_t r, const float* values, const std::int32_t* points) {
             const float limit = limits_[r];
             pick(values, points, self(r), limit, [&](int c) {
               // The first candidates come by again, and must not be answers twice.
               if (!smallest_[r].contains(points[c])) pending_.append(visit(points[c], r));
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
    const double gap = std::sqrt(positive(sq_gap)) - points_.cell_radii[cell];
    const double slack = 2.0 * plan_.margin * positive(sq_norm) + points_.cell_slacks[cell];
    return gap > 0 && gap * gap > nearest_[r].limit() * plan_.sketch_unit + slack;
  }

  void select_all() {
    selected_.clear();
    for (std::int32_t r = 0; r < n_rows_; ++r) selected_.append(r);
  }

  // Lays the selected rows out for the tiles.
  void pack(float* out, float residual_weight) {
    const std::int64_t n = sketch_.n_coordinates;
    const std::int64_t n_selected = selected_.size();
    for (std::int64_t g = 0; g < n_selected; g += TILE_ROWS) {
      const float* rows[TILE_ROWS] = {};
      const int here = static_cast<int>(smaller(TILE_ROWS, n_selected - g));
      for (int r = 0; r < here; ++r) rows[r] = queries_.sketches + rows_[selected_[g + r]] * n;
      float* packed = out + g * n;
      pack_rows(rows, here, n, packed);
      for (int r = 0; r < TILE_ROWS; ++r) packed[(n - 1) * TILE_ROWS + r] *= residual_weight;
    }
  }

  // Calls met(row, values, points) for each selected row and panel of 16 points. A stretch of one
  // panel stays in the first cache while all rows pass over it.
  template <class Met>
  void scan(const Sketch& sketch, std::int64_t begin, std::int64_t end, const Met& met) {
    const std::int64_t n_selected = selected_.size();
    for (std::int64_t first = begin; first < end; first += BLOCK_PANELS) {
      const std::int64_t last = smaller(end, first + BLOCK_PANELS);
      multiply(sketch, first, last, n_selected);
      for (std::int64_t i = 0; i < n_selected; ++i) {
        for (std::int64_t p = first; p < last; ++p) {
          const float* products = products_.data() + i * BLOCK_PLACES + (p - first) * TILE_FLOATS;
          const float* half_sq_norms = sketch.half_sq_norms + p * TILE_FLOATS;
          float values[TILE_FLOATS];
          for (int c = 0; c < TILE_FLOATS; ++c) values[c] = half_sq_norms[c] - products[c];
          met(selected_[i], values, sketch.points + p * TILE_FLOATS);
        }
      }
    }
  }

  void multiply(const Sketch& sketch, std::int64_t first, std::int64_t last,
                std::int64_t n_selected) {
    const std::int64_t n = sketch.n_coordinates;
    for (std::int64_t k = 0; k < n; k += STRETCH) {
      const std::int64_t length = smaller(STRETCH, n - k);
      for (std::int64_t p = first; p < last; ++p) {
        for (std::int64_t g = 0; g < n_selected; g += TILE_ROWS) {
          tile_products(
              length, active_ + g * n + k * TILE_ROWS, sketch.panels + (p * n + k) * TILE_FLOATS,
              products_.data() + g * BLOCK_PLACES + (p - first) * TILE_FLOATS, BLOCK_PLACES, k > 0);
        }
      }
    }
  }

  // Calls take(place) for each value at most the limit; it gives the new limit.
  template <class Take>
  static void pick(const float* values, const std::int32_t* points, std::int32_t self, float limit,
                   const Take& take) {
    if (!any_at_most(values, limit)) return;
    for (int c = 0; c < TILE_FLOATS; ++c) {
      if (values[c] <= limit && points[c] >= 0 && points[c] != self) limit = take(c);
    }
  }

  std::int32_t self(std::int64_t r) const { return queries_.self ? queries_.self[rows_[r]] : -1; }

  // The sketch value above which no point can be nearer than the k-th best of row r, from
  // ½ d² = ½‖x‖² + (½‖y‖² - ⟨x, y⟩) ≤ ½ τ.
  float sketch_limit(std::int64_t r) const {
    const double tau = nearest_[r].limit() * plan_.sketch_unit;
    const double limit = 0.5 * (tau - queries_.sq_norms[rows_[r]]);
    if (!(limit < static_cast<double>(FLT_MAX))) return FLT_MAX;
    return nextafterf(static_cast<float>(limit), HUGE_VALF);
  }

  // Takes the true distances of all pending pairs, point by point: the task's own rows stay in
  // the cache, and each point's row comes from memory once for all who want it.
  void evaluate_pending() {
    sort_keys(pending_.data(), pending_.size());
    for (std::int64_t v = 0; v < pending_.size(); ++v) {
      if (v % PAIRS_PER_CHECK == 0) checkpoint_.check(checkpoint_.context);
      const std::int32_t point = target_of(pending_[v]);
      if (v + 1 < pending_.size() && target_of(pending_[v + 1]) != point)
        prefetch(point_rows_, target_of(pending_[v + 1]));
      evaluate(row_of(pending_[v]), point);
    }
    pending_.clear();
  }

  void evaluate(std::int64_t r, std::int32_t point) {
    const double limit = nearest_[r].limit();
    const double extra = points_.sq_offsets ? points_.sq_offsets[point] : 0.0;
    const double sq = sq_distance(query_rows_, rows_[r], point_rows_, point, limit) + extra;
    ++answers_.evaluated[rows_[r]];
    if (sq <= limit) {
      nearest_[r].offer(sq, point);
      limits_[r] = sketch_limit(r);
    }
  }

  const RowsType &query_rows_, &point_rows_;
  const Points& points_;
  const Sketch& sketch_;
  const Queries& queries_;
  const SearchPlan& plan_;
  const Answers& answers_;
  const Checkpoint checkpoint_;
  const std::int64_t* rows_;
  std::int64_t n_rows_;
  Buffer<float> everyone_, some_, products_, to_centers_, limits_;
  const float* active_ = nullptr;  // whichever of the two layouts holds the selected rows
  List<std::int32_t> selected_;
  List<Visit> pending_;
  Buffer<Smallest> smallest_;
  Buffer<Nearest> nearest_;
};

}  // namespace

void search_task(const Points& points, const Queries& queries, const SearchPlan& plan,
                 const Answers& answers, std::int64_t task, Checkpoint checkpoint) {
  with_rows(queries.rows, points.rows, [&](const auto& a, const auto& b) {
    Task<std::decay_t<decltype(a)>>(a, b, points, queries, plan, answers, task, checkpoint).run();
  });
}

}  // namespace closeknit::CK_ISA
