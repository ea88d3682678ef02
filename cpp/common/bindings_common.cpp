#include "common/bindings_common.h"

#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

namespace closeknit {
namespace {

// An interpreter that is shutting down ends daemon threads which ask for it, by unwinding their
// stacks. Neither nanobind nor destructors can be unwound through: the process would abort. A
// thread that gets here instead waits for the end of the process.
struct WaitForEnd {
  bool unwinding = true;
  ~WaitForEnd() {
    while (unwinding) std::this_thread::sleep_for(std::chrono::hours(1));
  }
};

// Asks Python whether the work is to end; false with an error set if so. Only C calls: between them
// and a guard there is nothing that may not be unwound.
bool may_go_on() {
  if (PyErr_CheckSignals() != 0) return false;
  PyObject* progress = PyImport_ImportModule("closeknit.progress");
  PyObject* answer = progress ? PyObject_CallMethod(progress, "poll", nullptr) : nullptr;
  Py_XDECREF(progress);
  Py_XDECREF(answer);
  return answer != nullptr;
}

int checked(int n_jobs) {
  require(n_jobs >= 1, "n_jobs must be at least 1");
  return n_jobs;
}

}  // namespace

bool is_permutation(const std::int64_t* order, std::int64_t n) {
  std::vector<bool> seen(static_cast<std::size_t>(n), false);
  for (std::int64_t i = 0; i < n; ++i) {
    if (order[i] < 0 || order[i] >= n || seen[static_cast<std::size_t>(order[i])]) return false;
    seen[static_cast<std::size_t>(order[i])] = true;
  }
  return true;
}

Kernel make_kernel(const KernelCode& code) {
  const auto [family, scale, power] = code;
  require(family >= static_cast<int>(Family::GAUSSIAN) &&
              family <= static_cast<int>(Family::EPANECHNIKOV),
          "there is no such family of kernels");
  require(scale > 0.0 && power > 0.0 && std::isfinite(scale) && std::isfinite(power),
          "scale and power of a kernel must be positive and finite");
  return Kernel{static_cast<Family>(family), scale, power};
}

void ReleasedInterpreter::take() {
  WaitForEnd guard;
  PyEval_RestoreThread(state_);
  guard.unwinding = false;
}

void ReleasedInterpreter::check_signals() {
  take();
  struct GiveBack {
    PyThreadState*& state;
    ~GiveBack() { state = PyEval_SaveThread(); }
  } give_back{state_};
  WaitForEnd guard;  // what is called may let another thread have the interpreter
  const bool goes_on = may_go_on();
  guard.unwinding = false;
  if (!goes_on) throw nb::python_error();
}

Work::Work(int n_jobs) : pool(checked(n_jobs), [this] { released_.check_signals(); }) {}

}  // namespace closeknit
