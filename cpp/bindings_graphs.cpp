// Translates between NumPy arrays and operations on graphs; nothing is computed here.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "symmetrize.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace closeknit;

template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class I>
static void bind_merge(nb::module_& m) {
  m.def("merged_counts",
        [](Vector<const I> a_indptr, Vector<const I> a_indices, Vector<const double> a_data,
           Vector<const I> b_indptr, Vector<const I> b_indices, Vector<const double> b_data,
           Vector<I> counts, int n_jobs) {
          const SparseRows<I> a{a_indptr.data(), a_indices.data(), a_data.data()};
          const SparseRows<I> b{b_indptr.data(), b_indices.data(), b_data.data()};
          nb::gil_scoped_release release;
          merged_counts(a, b, static_cast<std::int64_t>(counts.shape(0)), counts.data(), n_jobs);
        },
        "a_indptr"_a, "a_indices"_a, "a_data"_a, "b_indptr"_a, "b_indices"_a, "b_data"_a,
        "counts"_a, "n_jobs"_a);
  m.def("merged_mean",
        [](Vector<const I> a_indptr, Vector<const I> a_indices, Vector<const double> a_data,
           Vector<const I> b_indptr, Vector<const I> b_indices, Vector<const double> b_data,
           Vector<const I> indptr, Vector<I> indices, Vector<double> data, int n_jobs) {
          const SparseRows<I> a{a_indptr.data(), a_indices.data(), a_data.data()};
          const SparseRows<I> b{b_indptr.data(), b_indices.data(), b_data.data()};
          nb::gil_scoped_release release;
          merged_mean(a, b, static_cast<std::int64_t>(indptr.shape(0)) - 1, indptr.data(),
                      indices.data(), data.data(), n_jobs);
        },
        "a_indptr"_a, "a_indices"_a, "a_data"_a, "b_indptr"_a, "b_indices"_a, "b_data"_a,
        "indptr"_a, "indices"_a, "data"_a, "n_jobs"_a);
}

void bind_graphs(nb::module_& m) {
  bind_merge<std::int32_t>(m);
  bind_merge<std::int64_t>(m);
}
