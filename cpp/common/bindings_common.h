// What all bindings share: array types, checks, and how a call gives the interpreter away.
//
// Bindings translate between NumPy arrays and the loops, and compute nothing. Everything that comes
// from Python is checked here, once: shapes, types, index ranges, structure. Outputs are allocated
// by the caller, because NumPy asks for huge pages and the page faults of a plain allocation would
// cost as much as a pass over the data.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <optional>
#include <tuple>

#include "common/kernel.h"
#include "common/threads.h"

namespace closeknit {

namespace nb = nanobind;
using namespace nb::literals;

template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
// Of any type and number of dimensions, which whoever takes it must look at.
using AnyArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
template <class A>
using Maybe = std::optional<A>;

// An argument that the call writes to: never a converted copy, which would be thrown away.
inline auto output(const char* name) { return nb::arg(name).noconvert(); }

inline void require(bool condition, const char* message) {
  if (!condition) throw nb::value_error(message);
}

template <class A>
std::int64_t length(const A& array, std::size_t axis = 0) {
  return static_cast<std::int64_t>(array.shape(axis));
}

// Has the array these lengths? One that is not there has any.
template <class T>
bool has_shape(const Vector<T>& array, std::int64_t n) {
  return length(array) == n;
}
template <class T>
bool has_shape(const Matrix<T>& array, std::int64_t n, std::int64_t k) {
  return length(array) == n && length(array, 1) == k;
}
template <class A, class... Lengths>
bool has_shape(const Maybe<A>& array, Lengths... lengths) {
  return !array || has_shape(*array, lengths...);
}

template <class A>
auto data_or_null(const Maybe<A>& array) {
  return array ? array->data() : nullptr;
}

template <class T, class A>
bool holds(const A& array) {
  return array.dtype() == nb::dtype<T>();
}

// Do offsets begin at 0, never fall, and end at `end`?
template <class I>
bool are_offsets(const I* offsets, std::int64_t n, std::int64_t end) {
  if (n < 1 || offsets[0] != 0 || static_cast<std::int64_t>(offsets[n - 1]) != end) return false;
  bool rising = true;
  for (std::int64_t i = 1; i < n; ++i) rising &= offsets[i - 1] <= offsets[i];
  return rising;
}

// Are all indices at least `least` and below `end`?
template <class I>
bool are_between(const I* indices, std::int64_t n, std::int64_t least, std::int64_t end) {
  bool inside = true;
  for (std::int64_t i = 0; i < n; ++i) inside &= (indices[i] >= least) & (indices[i] < end);
  return inside;
}

// Is this an order of 0 … n - 1, each once?
bool is_permutation(const std::int64_t* order, std::int64_t n);

// A kernel comes as its family, scale and power.
using KernelCode = std::tuple<int, double, double>;
Kernel make_kernel(const KernelCode& code);

// The interpreter, given to other threads for as long as this lives.
class ReleasedInterpreter {
 public:
  ReleasedInterpreter() : state_(PyEval_SaveThread()) {}
  ~ReleasedInterpreter() { take(); }
  ReleasedInterpreter(const ReleasedInterpreter&) = delete;
  ReleasedInterpreter& operator=(const ReleasedInterpreter&) = delete;

  // Lets Python handle signals, and throws what a handler raises, such as KeyboardInterrupt, or
  // what whoever waits for the work wants raised (closeknit.progress.interruptible).
  void check_signals();

 private:
  void take();

  PyThreadState* state_;
};

// Around the work of a call: threads without the interpreter that still notice Ctrl-C. The threads
// have ended before the interpreter is taken back.
class Work {
 public:
  explicit Work(int n_jobs);

 private:
  ReleasedInterpreter released_;

 public:
  ThreadPool pool;
};

}  // namespace closeknit
