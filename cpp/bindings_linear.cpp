// Translates between NumPy arrays and the factorisation of Laplacians; nothing is computed here.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <limits>

#include "approximate_cholesky.h"
#include "products.h"
#include "strongest.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace closeknit;

template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using View = nb::ndarray<nb::numpy, const T, nb::ndim<1>>;

// A view of what the factor owns; nanobind keeps the factor alive with it.
template <class T>
static View<T> view(const std::vector<T>& values) {
  return View<T>(values.data(), {values.size()}, nb::handle());
}

template <class I, class T>
static Weights<I, T> make_weights(const Vector<const I>& indptr, const Vector<const I>& indices,
                                  const Vector<const T>& weights) {
  const auto n = static_cast<std::int64_t>(indptr.shape(0)) - 1;
  const I* rows = indptr.data();
  if (n < 0 || rows[0] != 0 || !std::is_sorted(rows, rows + n + 1) ||
      static_cast<std::size_t>(rows[n]) != weights.shape(0) ||
      indices.shape(0) != weights.shape(0) || n > std::numeric_limits<std::int32_t>::max())
    throw nb::value_error("indptr, indices and weights are not those of a matrix");
  if (std::any_of(indices.data(), indices.data() + rows[n], [=](I j) { return j < 0 || j >= n; }))
    throw nb::value_error("an index is out of range");
  return {rows, indices.data(), weights.data(), n};
}

// Lets Python raise KeyboardInterrupt from within.
static void check_signals() {
  nb::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

template <class I, class T>
static void bind_rows(nb::module_& m) {
  m.def("mark_strongest",
        [](Vector<const I> indptr, Vector<const I> indices, Vector<const T> weights,
           std::int64_t k, Vector<std::uint8_t> keep, int n_jobs) {
          const auto w = make_weights<I, T>(indptr, indices, weights);
          if (keep.shape(0) != weights.shape(0)) throw nb::value_error("keep has another length");
          nb::gil_scoped_release release;
          return mark_strongest(w, k, keep.data(), n_jobs);
        },
        "indptr"_a, "indices"_a, "weights"_a, "k"_a, "keep"_a, "n_jobs"_a);
  m.def("sum_rows",
        [](Vector<const I> indptr, Vector<const I> indices, Vector<const T> weights,
           Vector<double> sums, int n_jobs) {
          const auto w = make_weights<I, T>(indptr, indices, weights);
          if (static_cast<std::int64_t>(sums.shape(0)) != w.n)
            throw nb::value_error("sums must have one entry per row");
          nb::gil_scoped_release release;
          sum_rows(w, sums.data(), n_jobs);
        },
        "indptr"_a, "indices"_a, "weights"_a, "sums"_a, "n_jobs"_a);
}

template <class I>
static void bind_graph(nb::module_& m) {
  m.def("approximate_cholesky",
        [](Vector<const I> indptr, Vector<const I> indices, Vector<const double> weights,
           Vector<const double> excess, std::uint64_t seed, const ApproximateCholesky* like) {
          const auto w = make_weights<I, double>(indptr, indices, weights);
          const Laplacian<I> matrix{w.indptr, w.indices, w.values, excess.data(), w.n};
          if (static_cast<std::int64_t>(excess.shape(0)) != w.n || (like && like->n() != w.n))
            throw nb::value_error("graph, excess and earlier factor do not match");
          nb::gil_scoped_release release;
          return like ? ApproximateCholesky(matrix, seed, like->order(), check_signals)
                      : ApproximateCholesky(matrix, seed, check_signals);
        },
        "indptr"_a, "indices"_a, "weights"_a, "excess"_a, "seed"_a, "like"_a.none());
  m.def("multiply",
        [](Vector<const I> indptr, Vector<const I> indices, Vector<const double> weights,
           Matrix<const double> X, Matrix<double> out, int n_jobs) {
          const auto w = make_weights<I, double>(indptr, indices, weights);
          if (static_cast<std::int64_t>(X.shape(0)) != w.n || out.shape(0) != X.shape(0) ||
              out.shape(1) != X.shape(1))
            throw nb::value_error("X and out must have one row per row of the matrix");
          nb::gil_scoped_release release;
          multiply(w, X.data(), static_cast<std::int64_t>(X.shape(1)), out.data(), n_jobs);
        },
        "indptr"_a, "indices"_a, "weights"_a, "X"_a, "out"_a, "n_jobs"_a);
  m.def("label_components",
        [](Vector<const I> indptr, Vector<const I> indices, Vector<const double> weights,
           Vector<const double> degrees, double share, Vector<std::int32_t> labels) {
          const auto w = make_weights<I, double>(indptr, indices, weights);
          if (static_cast<std::int64_t>(degrees.shape(0)) != w.n ||
              static_cast<std::int64_t>(labels.shape(0)) != w.n)
            throw nb::value_error("degrees and labels must have one entry per row");
          nb::gil_scoped_release release;
          return label_components(w, degrees.data(), share, labels.data());
        },
        "indptr"_a, "indices"_a, "weights"_a, "degrees"_a, "share"_a, "labels"_a);
}

void bind_linear(nb::module_& m) {
  nb::class_<ApproximateCholesky>(m, "ApproximateCholesky")
      .def("solve",
           [](const ApproximateCholesky& factor, Matrix<const double> rhs, Matrix<double> out,
              int n_jobs) {
             const auto n = static_cast<std::int64_t>(rhs.shape(0));
             if (n != factor.n() || out.shape(0) != rhs.shape(0) || out.shape(1) != rhs.shape(1))
               throw nb::value_error("rhs and out must have one row per point");
             nb::gil_scoped_release release;
             factor.solve(rhs.data(), static_cast<std::int64_t>(rhs.shape(1)), out.data(),
                          n_jobs);
           },
           "rhs"_a, "out"_a, "n_jobs"_a)
      .def_prop_ro("nnz", &ApproximateCholesky::nnz)
      .def_prop_ro("order", [](const ApproximateCholesky& f) { return view(f.order()); },
                   nb::rv_policy::reference_internal)
      .def_prop_ro("offsets", [](const ApproximateCholesky& f) { return view(f.offsets()); },
                   nb::rv_policy::reference_internal)
      .def_prop_ro("rows", [](const ApproximateCholesky& f) { return view(f.rows()); },
                   nb::rv_policy::reference_internal)
      .def_prop_ro("values", [](const ApproximateCholesky& f) { return view(f.values()); },
                   nb::rv_policy::reference_internal)
      .def_prop_ro("pivots", [](const ApproximateCholesky& f) { return view(f.pivots()); },
                   nb::rv_policy::reference_internal);
  bind_graph<std::int32_t>(m);
  bind_graph<std::int64_t>(m);
  bind_rows<std::int32_t, float>(m);
  bind_rows<std::int32_t, double>(m);
  bind_rows<std::int64_t, float>(m);
  bind_rows<std::int64_t, double>(m);
}
