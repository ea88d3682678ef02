#include "common/graph.h"

namespace closeknit {
namespace {

AnyArray array_of(nb::handle matrix, const char* name) {
  AnyArray array;
  const nb::object given = nb::getattr(matrix, name, nb::none());
  if (!nb::try_cast(given, array, false) || array.ndim() != 1)
    throw nb::type_error("a graph needs the contiguous arrays indptr, indices and data of CSR");
  return array;
}

template <class I>
bool has_structure(const AnyArray& indptr, std::int64_t n_rows, std::int64_t n_entries) {
  return are_offsets(static_cast<const I*>(indptr.data()), n_rows + 1, n_entries);
}

}  // namespace

Graph::Graph(nb::object matrix)
    : matrix_(matrix),
      indptr_(array_of(matrix, "indptr")),
      indices_(array_of(matrix, "indices")),
      values_(array_of(matrix, "data")) {
  std::tuple<std::int64_t, std::int64_t> shape;
  if (!nb::try_cast(nb::getattr(matrix, "shape", nb::none()), shape))
    throw nb::type_error("a graph needs a shape of two numbers");
  std::tie(n_rows_, n_columns_) = shape;
  const bool narrow = holds<std::int32_t>(indices_), wide = holds<std::int64_t>(indices_);
  if (!(narrow || wide) || indptr_.dtype() != indices_.dtype())
    throw nb::type_error("indptr and indices must both be int32 or both int64");
  if (!holds<float>(values_) && !holds<double>(values_))
    throw nb::type_error("the values of the matrix must be float32 or float64");
  require(n_rows_ >= 0 && n_columns_ >= 0 && length(indptr_) == n_rows_ + 1 &&
              length(indices_) == length(values_) &&
              (narrow ? has_structure<std::int32_t>(indptr_, n_rows_, length(values_))
                      : has_structure<std::int64_t>(indptr_, n_rows_, length(values_))),
          "indptr, indices and data are not those of a matrix");
}

void Graph::check_indices() const {
  if (indices_checked_.load(std::memory_order_relaxed)) return;
  const bool inside =
      visit([&](const auto& csr) { return are_between(csr.indices, n_entries(), 0, n_columns_); });
  require(inside, "an index of the matrix is out of range");
  indices_checked_.store(true, std::memory_order_relaxed);
}

}  // namespace closeknit
