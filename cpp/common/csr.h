// A sparse matrix in compressed rows, as the loops read it.
#pragma once

#include <cstdint>

namespace closeknit {

// I is the type of indices, T that of values.
template <class I, class T = double>
struct Csr {
  const I* indptr;
  const I* indices;
  const T* values;
  std::int64_t n_rows;
  std::int64_t n_columns;
};

}  // namespace closeknit
