// A small pool of threads for loops over fixed chunks.
//
// What a chunk holds never depends on the number of threads, and chunks write to places of their
// own, so any number of threads gives the same bits. Pools live as long as the call that made
// them, and there is no OpenMP runtime to clash with.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "common/checkpoint.h"
#include "common/helpers.h"

namespace closeknit {

class ThreadPool {
 public:
  // `poll` is called every few milliseconds, always on the thread that made the pool, and may throw
  // to end the work. The number of threads is capped at a few per core. A loop takes as many as it
  // has work for; if the system refuses one, the pool goes on with those it has.
  explicit ThreadPool(int n_threads, std::function<void()> poll = {});
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int n_threads() const { return n_threads_; }

  // Calls task(0) … task(n_tasks - 1), each once, in any order, and returns when all are done.
  // The first exception a task throws is thrown again here.
  void run(std::int64_t n_tasks, const std::function<void(std::int64_t)>& task);

  // To be called now and then within long tasks: throws if the work is to end.
  void check();
  // The same for kernels, which know nothing of threads.
  Checkpoint checkpoint();

 private:
  using Clock = std::chrono::steady_clock;

  std::vector<Helper*> take_helpers(std::int64_t n_wanted);
  void drain();
  void fail(std::exception_ptr error);
  void wait_for(Helper* helper);

  const int n_threads_;
  const std::function<void()> poll_;
  const std::thread::id owner_ = std::this_thread::get_id();
  Clock::time_point next_poll_;
  bool refused_ = false;  // the system gave no more threads
  const std::function<void(std::int64_t)>* task_ = nullptr;
  std::int64_t n_tasks_ = 0;
  std::atomic<std::int64_t> next_{0};
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;  // of the error
  std::exception_ptr error_;
};

// Calls body(begin, end) on consecutive ranges of `chunk` items that cover 0 … n - 1.
void parallel_chunks(ThreadPool& pool, std::int64_t n, std::int64_t chunk,
                     const std::function<void(std::int64_t, std::int64_t)>& body);

}  // namespace closeknit
