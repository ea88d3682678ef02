// The regression from which the order-free solver starts.
#pragma once

#include "affinities/problem.h"
#include "common/threads.h"

namespace closeknit {

// Fits the start model on about `n_fit` rows at equal stride; n_features = 0 if too few have a
// root.
template <class D>
StartModel fit_start(const Problem<D>& problem, std::int64_t n_fit, ThreadPool& pool);

}  // namespace closeknit
