// The module `closeknit._core`: one function of bindings per station.
#include "common/bindings_common.h"
#include "common/dispatch.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace closeknit {

void bind_neighbors(nb::module_& m);
void bind_affinities(nb::module_& m);
void bind_linalg(nb::module_& m);
void bind_graphs(nb::module_& m);
void bind_repulsion(nb::module_& m);
void bind_objectives(nb::module_& m);
void bind_minimize(nb::module_& m);
void bind_embeddings(nb::module_& m);

namespace {

void trim_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace

}  // namespace closeknit

NB_MODULE(_core, m) {
  using namespace closeknit;
  // What a daemon thread still holds when the interpreter ends is nothing to warn of.
  nb::set_leak_warnings(false);
  m.def("simd", [] { return has_avx2() ? "avx2" : "baseline"; });
  m.def("refused_threads", &refused_threads);
  m.def("limit_new_threads", &limit_new_threads, "n"_a);
  m.def("trim_memory", &trim_memory, nb::call_guard<nb::gil_scoped_release>());
  bind_linalg(m);  // first, since it has the type of graphs
  bind_neighbors(m);
  bind_affinities(m);
  bind_graphs(m);
  bind_repulsion(m);
  bind_objectives(m);
  bind_minimize(m);
  bind_embeddings(m);
}
