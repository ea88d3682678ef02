// Points on a regular grid: spreading weights onto its nodes and reading a potential between them.
//
// Nodes carry B-splines of odd degree, and vectors of lanes(degree) numbers are read and written
// from the first node that a point touches: a grid's last axis needs as many nodes beyond any
// point. Spreading and gathering use the same splines, so that what is gathered from (spline ⋆
// kernel ⋆ spline) is the exact gradient of what is summed up.
#pragma once

#include <cstdint>

namespace closeknit {

class ThreadPool;

constexpr int MAX_DIMENSIONS = 3;
static constexpr int lanes(int degree) { return degree == 3 ? 4 : 8; }

struct Grid {
  int d;                              // 1, 2 or 3
  int degree;                         // of the splines: 3 or 5
  std::int64_t size[MAX_DIMENSIONS];  // nodes along each axis, the last one contiguous
  double origin[MAX_DIMENSIONS];      // position of node 0
  double spacing;
};

// Along an axis, a point must lie at the first of these nodes or beyond, and not beyond the cell
// that begins at the last, for its splines to stay on the grid.
std::int64_t first_node(const Grid& grid);
std::int64_t last_node(const Grid& grid, int axis);

// Do the splines of all points stay on the grid?
bool covers(const Grid& grid, const double* points, std::int64_t n, ThreadPool& pool);

// Points in the order of the strips of the grid that they touch first; ours is stable, so that sums
// over a strip are always added up in the same order.
struct Strips {
  std::int64_t* order;   // n_points
  std::int64_t* starts;  // n_strips(grid) + 1
};

// The smallest and largest coordinates of the points, d each.
void bounding_box(const double* points, std::int64_t n, int d, double* low, double* high,
                  ThreadPool& pool);

std::int64_t n_strips(const Grid& grid);

void sort_into_strips(const Grid& grid, const double* points, std::int64_t n, const Strips& strips,
                      ThreadPool& pool);

// nodes = Σ_m w_m B(x_m); weights may be null for ones. Whatever was in `nodes` is lost.
template <class T>
void spread(const Grid& grid, const double* points, const double* weights, const Strips& strips,
            T* nodes, ThreadPool& pool);

// value = φ(x) and gradient = ∇φ(x) of the spline with coefficients `nodes`, which has rows of
// `stride` numbers. With `own`, the values of the kernel between a node and its next ones in rows
// of lanes(degree), each point's own share (times its weight) is left out.
template <class T>
struct Potential {
  const T* nodes;
  std::int64_t stride[MAX_DIMENSIONS];
  const T* own;
};
template <class T>
void gather(const Grid& grid, const Potential<T>& potential, const double* points,
            const double* weights, const Strips& strips, double* value, double* gradient,
            ThreadPool& pool);

}  // namespace closeknit
