#include "common/threads.h"

#include <algorithm>

namespace closeknit {
namespace {

// Beyond a few threads per core, more only cost memory.
constexpr int THREADS_PER_CORE = 4, LEAST_CAP = 16;
constexpr std::chrono::milliseconds POLL_INTERVAL{5};
// Polling may have to wait for the interpreter; it gets at most a tenth of the time.
constexpr int POLL_SHARE = 10;

// What ends a task on another thread after the work was given up.
struct Cancelled {};

int capped(int n_threads) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::min(n_threads, std::max(THREADS_PER_CORE * cores, LEAST_CAP));
}

}  // namespace

ThreadPool::ThreadPool(int n_threads, std::function<void()> poll)
    : n_threads_(capped(n_threads)),
      poll_(std::move(poll)),
      next_poll_(Clock::now() + POLL_INTERVAL) {}

std::vector<Helper*> ThreadPool::take_helpers(std::int64_t n_wanted) {
  std::vector<Helper*> helpers;
  try {
    helpers.reserve(static_cast<std::size_t>(std::max<std::int64_t>(0, n_wanted)));
    while (!refused_ && static_cast<std::int64_t>(helpers.size()) < n_wanted)
      helpers.push_back(Helper::take());
  } catch (const std::exception&) {  // no thread, or no memory for one
    refused_ = true;
  }
  return helpers;
}

void ThreadPool::check() {
  if (cancelled_.load(std::memory_order_relaxed)) throw Cancelled{};
  if (!poll_ || std::this_thread::get_id() != owner_) return;
  const auto before = Clock::now();
  if (before < next_poll_) return;
  poll_();
  const auto after = Clock::now();
  next_poll_ = after + std::max<Clock::duration>(POLL_INTERVAL, POLL_SHARE * (after - before));
}

Checkpoint ThreadPool::checkpoint() {
  return {[](void* pool) { static_cast<ThreadPool*>(pool)->check(); }, this};
}

void ThreadPool::fail(std::exception_ptr error) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!error_) error_ = std::move(error);
  next_.store(n_tasks_, std::memory_order_relaxed);
  cancelled_.store(true, std::memory_order_relaxed);
}

void ThreadPool::drain() {
  for (;;) {
    const std::int64_t i = next_.fetch_add(1, std::memory_order_relaxed);
    if (i >= n_tasks_) return;
    try {
      (*task_)(i);
      check();
    } catch (...) {
      fail(std::current_exception());
    }
  }
}

// An interrupt is noticed here, too, but the others must have ended before it may leave: they
// still use the task.
void ThreadPool::wait_for(Helper* helper) {
  while (!helper->wait_for(POLL_INTERVAL)) {
    try {
      if (!cancelled_.load(std::memory_order_relaxed)) check();
    } catch (...) {
      fail(std::current_exception());
    }
  }
}

void ThreadPool::run(std::int64_t n_tasks, const std::function<void(std::int64_t)>& task) {
  task_ = &task;
  n_tasks_ = n_tasks;
  next_.store(0, std::memory_order_relaxed);
  cancelled_.store(false, std::memory_order_relaxed);
  error_ = nullptr;
  const std::vector<Helper*> helpers =
      take_helpers(std::min<std::int64_t>(n_threads_, n_tasks) - 1);
  for (Helper* helper : helpers) helper->begin([this] { drain(); });
  drain();
  for (Helper* helper : helpers) wait_for(helper);
  for (Helper* helper : helpers) Helper::give_back(helper);
  if (error_) std::rethrow_exception(error_);
}

void parallel_chunks(ThreadPool& pool, std::int64_t n, std::int64_t chunk,
                     const std::function<void(std::int64_t, std::int64_t)>& body) {
  pool.run((n + chunk - 1) / chunk,
           [&](std::int64_t i) { body(i * chunk, std::min(n, (i + 1) * chunk)); });
}

}  // namespace closeknit
