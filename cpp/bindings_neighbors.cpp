// Translates between NumPy arrays and the neighbour kernels; nothing is computed here.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_neighbors(nb::module_&) {}
