#include "common/threads.h"

#include <algorithm>
#include <system_error>

namespace closeknit {
namespace {

// Beyond a few threads per core, more only cost memory.
constexpr int THREADS_PER_CORE = 4, LEAST_CAP = 16;
constexpr std::chrono::milliseconds POLL_INTERVAL{5};
// Polling may have to wait for the interpreter; it gets at most a tenth of the time.
constexpr int POLL_SHARE = 10;

std::atomic<std::int64_t> n_refused{0};
std::atomic<int> n_allowed{-1};

// What ends a task on another thread after the work was given up.
struct Cancelled {};

int capped(int n_threads) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::min(n_threads, std::max(THREADS_PER_CORE * cores, LEAST_CAP));
}

void count_allowed_thread() {
  const int allowed = n_allowed.load();
  if (allowed < 0) return;
  if (allowed == 0)
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  n_allowed.store(allowed - 1);
}

}  // namespace

std::int64_t refused_threads() { return n_refused.load(); }

void limit_new_threads(int n) { n_allowed.store(n); }

ThreadPool::ThreadPool(int n_threads, std::function<void()> poll)
    : n_threads_(capped(n_threads)),
      poll_(std::move(poll)),
      next_poll_(Clock::now() + POLL_INTERVAL) {}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void ThreadPool::start(std::int64_t n_wanted) {
  try {
    while (!refused_ && static_cast<std::int64_t>(threads_.size()) < n_wanted) {
      count_allowed_thread();
      threads_.emplace_back([this, seen = round_] { work(seen); });
    }
  } catch (const std::exception&) {  // no thread, or no memory for one
    refused_ = true;
    ++n_refused;
  }
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

void ThreadPool::work(std::uint64_t seen) {
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || round_ != seen; });
      if (stop_) return;
      seen = round_;
    }
    drain();
    std::lock_guard<std::mutex> lock(mutex_);
    if (--busy_ == 0) done_.notify_one();
  }
}

// An interrupt is noticed here, too, but the others must have ended before it may leave: they
// still use the task.
void ThreadPool::wait_for_others() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!done_.wait_for(lock, POLL_INTERVAL, [&] { return busy_ == 0; })) {
    lock.unlock();
    try {
      if (!cancelled_.load(std::memory_order_relaxed)) check();
    } catch (...) {
      fail(std::current_exception());
    }
    lock.lock();
  }
}

void ThreadPool::run(std::int64_t n_tasks, const std::function<void(std::int64_t)>& task) {
  start(std::min<std::int64_t>(n_threads_, n_tasks) - 1);
  if (threads_.empty() || n_tasks <= 1) {
    for (std::int64_t i = 0; i < n_tasks; ++i) {
      task(i);
      check();
    }
    return;
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    task_ = &task;
    n_tasks_ = n_tasks;
    next_.store(0, std::memory_order_relaxed);
    cancelled_.store(false, std::memory_order_relaxed);
    busy_ = static_cast<int>(threads_.size());
    error_ = nullptr;
    ++round_;
  }
  wake_.notify_all();
  drain();
  wait_for_others();
  if (error_) std::rethrow_exception(error_);
}

void parallel_chunks(ThreadPool& pool, std::int64_t n, std::int64_t chunk,
                     const std::function<void(std::int64_t, std::int64_t)>& body) {
  pool.run((n + chunk - 1) / chunk,
           [&](std::int64_t i) { body(i * chunk, std::min(n, (i + 1) * chunk)); });
}

}  // namespace closeknit
