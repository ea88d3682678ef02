// Splines on a grid.
#include "repulsion/bindings_grid.h"

#include <cmath>

#include "common/huge_pages.h"

namespace closeknit {
namespace {

constexpr std::int64_t MOST_NODES = std::int64_t{1} << 48;

// Points sorted by the strips of a grid, for spreading their weights and for reading at them.
class SortedByStrip {
 public:
  SortedByStrip(const Grid& grid, Matrix<const double> points, int n_jobs)
      : grid_(grid),
        points_(points),
        order_(static_cast<std::size_t>(length(points))),
        starts_(static_cast<std::size_t>(n_strips(grid) + 1)) {
    require(length(points, 1) == grid.d, "points and grid differ in their dimensions");
    Work work(n_jobs);
    check(work.pool);
    sort_into_strips(grid_, points_.data(), n(), view(), work.pool);
  }

  const Grid& grid() const { return grid_; }
  const double* points() const { return points_.data(); }
  std::int64_t n() const { return length(points_); }
  Strips view() const { return {order_.data(), starts_.data()}; }

  // Points may have moved since they were sorted.
  void check(ThreadPool& pool) const {
    require(covers(grid_, points_.data(), n(), pool), "a point lies outside the grid");
  }

 private:
  Grid grid_;
  Matrix<const double> points_;
  HugeArray<std::int64_t> order_, starts_;
};

template <class T>
void bind_spread(nb::module_& m) {
  using Nodes = nb::ndarray<T, nb::c_contig, nb::device::cpu>;
  m.def(
      "spread",
      [](const SortedByStrip& points, Maybe<Vector<const double>> weights, Nodes nodes,
         int n_jobs) {
        const Grid& grid = points.grid();
        bool fits = static_cast<int>(nodes.ndim()) == grid.d;
        for (int c = 0; fits && c < grid.d; ++c)
          fits = length(nodes, static_cast<std::size_t>(c)) == grid.size[c];
        require(fits, "nodes must be shaped as the grid");
        require(has_shape(weights, points.n()), "there must be one weight per point");
        const double* w = data_or_null(weights);
        Work work(n_jobs);
        points.check(work.pool);
        spread(grid, points.points(), w, points.view(), nodes.data(), work.pool);
      },
      "points"_a, "weights"_a.none(), output("nodes"), "n_jobs"_a);
}

template <class T>
void gather_from(const Field& field, const Maybe<AnyArray>& own, const SortedByStrip& points,
                 const double* weights, double* value, double* gradient, ThreadPool& pool) {
  const auto potential = field.view<T>(own ? static_cast<const T*>(own->data()) : nullptr);
  gather(field.grid(), potential, points.points(), weights, points.view(), value, gradient, pool);
}

void gather_at(const Field& field, Maybe<AnyArray> own, const SortedByStrip& points,
               Maybe<Vector<const double>> weights, Vector<double> value,
               Maybe<Matrix<double>> gradient, int n_jobs) {
  const Grid& grid = field.grid();
  require(grid == points.grid(), "points were sorted by another grid");
  std::size_t n_own = 1;
  for (int c = 0; c < grid.d; ++c) n_own *= static_cast<std::size_t>(lanes(grid.degree));
  const bool single = field.is_of<float>();
  require(!own || (own->ndim() == 1 && own->size() == n_own &&
                   (single ? holds<float>(*own) : holds<double>(*own))),
          "own must hold the kernel between close nodes, in the precision of the field");
  require(has_shape(weights, points.n()) && has_shape(value, points.n()) &&
              has_shape(gradient, points.n(), grid.d),
          "weights, value and gradient must match the points");
  const double* w = data_or_null(weights);
  double* slopes = data_or_null(gradient);
  Work work(n_jobs);
  points.check(work.pool);
  const auto run = single ? gather_from<float> : gather_from<double>;
  run(field, own, points, w, value.data(), slopes, work.pool);
}

void find_bounding_box(Matrix<const double> points, Vector<double> low, Vector<double> high,
                       int n_jobs) {
  const std::int64_t n = length(points), d = length(points, 1);
  require(n >= 1, "there must be a point");
  require(has_shape(low, d) && has_shape(high, d), "dimensions differ");
  Work work(n_jobs);
  bounding_box(points.data(), n, static_cast<int>(d), low.data(), high.data(), work.pool);
}

}  // namespace

Grid make_grid(const Vector<const double>& origin, const Vector<const std::int64_t>& size,
               double spacing, int degree) {
  const std::int64_t d = length(origin);
  require(d >= 1 && d <= MAX_DIMENSIONS && length(size) == d && (degree == 3 || degree == 5) &&
              spacing > 0.0 && std::isfinite(spacing),
          "there is no such grid");
  Grid grid{static_cast<int>(d), degree, {1, 1, 1}, {0.0, 0.0, 0.0}, spacing};
  std::int64_t n_nodes = 1;
  for (int c = 0; c < grid.d; ++c) {
    grid.size[c] = size(static_cast<std::size_t>(c));
    grid.origin[c] = origin(static_cast<std::size_t>(c));
    require(
        grid.size[c] >= 1 && grid.size[c] <= MOST_NODES / n_nodes && std::isfinite(grid.origin[c]),
        "there is no such grid");
    n_nodes *= grid.size[c];
  }
  return grid;
}

bool operator==(const Grid& a, const Grid& b) {
  bool same = a.d == b.d && a.degree == b.degree && a.spacing == b.spacing;
  for (int c = 0; c < MAX_DIMENSIONS; ++c)
    same = same && a.size[c] == b.size[c] && a.origin[c] == b.origin[c];
  return same;
}

Field::Field(const Grid& grid, Nodes nodes) : grid_(grid), nodes_(nodes) {
  if (!holds<float>(nodes) && !holds<double>(nodes))
    throw nb::type_error("nodes must be float32 or float64");
  bool fits = static_cast<int>(nodes.ndim()) == grid.d;
  for (int c = 0; fits && c < grid.d; ++c)
    fits = length(nodes, static_cast<std::size_t>(c)) >= grid.size[c];
  require(fits, "nodes must cover the grid");
  require(nodes.stride(nodes.ndim() - 1) == 1, "rows of nodes must be contiguous");
}

void bind_grid(nb::module_& m) {
  nb::class_<Grid>(m, "Grid").def(
      "__init__",
      [](Grid* grid, Vector<const double> origin, Vector<const std::int64_t> size, double spacing,
         int degree) { new (grid) Grid(make_grid(origin, size, spacing, degree)); },
      "origin"_a, "size"_a, "spacing"_a, "degree"_a);
  nb::class_<Field>(m, "Field").def(nb::init<const Grid&, Field::Nodes>(), "grid"_a, "nodes"_a);
  nb::class_<SortedByStrip>(m, "SortedPoints")
      .def(nb::init<const Grid&, Matrix<const double>, int>(), "grid"_a, "points"_a, "n_jobs"_a);
  bind_spread<float>(m);
  bind_spread<double>(m);
  m.def("gather", &gather_at, "field"_a, "own"_a.none(), "points"_a, "weights"_a.none(),
        output("value"), output("gradient").none(), "n_jobs"_a);
  m.def("bounding_box", &find_bounding_box, "points"_a, output("low"), output("high"), "n_jobs"_a);
}

}  // namespace closeknit
