// The connected components that the heavier edges of a graph form.
#pragma once

#include <cstdint>

#include "common/csr.h"

namespace closeknit {

// Numbers the connected components of the edges heavier than `share` of the lesser degree of their
// ends, in the order of their first points; returns how many there are.
template <class I>
std::int64_t label_components(const Csr<I>& weights, const double* degrees, double share,
                              std::int32_t* labels);

}  // namespace closeknit
