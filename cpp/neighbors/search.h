// What a search among points in cells needs to know; see kernels_search.cpp for what it does.
#pragma once

#include <cstdint>

#include "neighbors/rows.h"

namespace closeknit {

// A short float32 stand-in for every point: the leading coordinates in an orthonormal basis and
// the norm of what they leave out. Distances between sketches never exceed the true ones.
struct Sketch {
  const float* panels;              // (n_panels, n_coordinates, 16), points in cell order
  const float* half_sq_norms;       // (n_panels, 16); infinity where a panel has no point
  const std::int32_t* points;       // (n_panels, 16); the point in each place, -1 if none
  const std::int64_t* cell_panels;  // (n_cells + 1): each cell's range of panels
  std::int64_t n_cells;
  std::int64_t n_coordinates;
  bool has_residual;  // is the last coordinate the norm of the residual?
};

// Points in cells: a k-means partition of their sketches.
struct Points {
  Rows rows;
  const double* sq_offsets;  // (n_points): added to the squared distance of each point, or null
  Sketch sketch;
  Sketch centers;             // the cells' centres, themselves in one cell
  const double* cell_radii;   // (n_cells): how far a cell's points lie from its centre, at most
  const double* cell_slacks;  // (n_cells): the largest rounding margin among its points
};

struct Queries {
  Rows rows;
  const float* sketches;             // (n_queries, n_coordinates)
  const double* sq_norms;            // (n_queries): of the sketches, less the rounding margin
  const std::int32_t* self;          // (n_queries): a point that may not be an answer, or null
  const std::int64_t* order;         // (n_queries): near ones together, only for speed
  const std::int64_t* task_offsets;  // (n_tasks + 1): into order
};

struct SearchPlan {
  std::int64_t n_probes;      // how many cells each query looks into first
  std::int64_t n_candidates;  // how many of the points met there get their true distance
  std::int64_t n_neighbors;
  double sketch_unit;     // a squared distance times this is one of the sketch
  double margin;          // what sq_norms were reduced by, relatively
  float residual_weight;  // ρ: how parallel two residuals are expected to be
  bool exact;             // look at every other point that could be nearer, too
};

struct Answers {
  std::int32_t* indices;    // (n_queries, n_neighbors), -1 where there are too few points
  double* sq_distances;     // (n_queries, n_neighbors)
  std::int64_t* evaluated;  // (n_queries): how many true distances a row took
};

class ThreadPool;

// The nearest points to the queries of some tasks, by sketches first and true distances last.
void search_cells(const Points& points, const Queries& queries, const SearchPlan& plan,
                  const Answers& answers, std::int64_t first_task, std::int64_t n_tasks,
                  ThreadPool& pool);

}  // namespace closeknit
