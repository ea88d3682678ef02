#include <nanobind/nanobind.h>
namespace nb = nanobind;
void bind_neighbors(nb::module_&);
NB_MODULE(_core, m) { bind_neighbors(m); }
