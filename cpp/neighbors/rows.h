// Views of a data matrix, dense or in compressed sparse rows, that the kernels read.
#pragma once

#include <cstdint>

namespace closeknit {

struct Rows {
  const void* values = nullptr;  // (n_rows, n_features), or the stored values if sparse
  bool is_double = false;        // float64 or float32
  std::int64_t n_rows = 0;
  std::int64_t n_features = 0;
  const std::int64_t* indptr = nullptr;   // only if sparse
  const std::int32_t* indices = nullptr;  // only if sparse; ascending within each row
};

}  // namespace closeknit
