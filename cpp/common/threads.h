// A small pool of threads for loops over fixed chunks.
//
// What a chunk holds never depends on the number of threads, and chunks write to places of their
// own, so any number of threads gives the same bits. Pools live as long as the call that made
// them: nothing can break in a forked child, and there is no OpenMP runtime to clash with.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "common/checkpoint.h"

namespace closeknit {

class ThreadPool {
 public:
  // `poll` is called every few milliseconds, always on the thread that made the pool, and may throw
  // to end the work. The number of threads is capped at a few per core. Threads start when a loop
  // first has work for them; if the system refuses one, the pool goes on with those it has.
  explicit ThreadPool(int n_threads, std::function<void()> poll = {});
  ~ThreadPool();
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

  void start(std::int64_t n_wanted);
  void work(std::uint64_t seen);
  void drain();
  void fail(std::exception_ptr error);
  void wait_for_others();

  const int n_threads_;
  const std::function<void()> poll_;
  const std::thread::id owner_ = std::this_thread::get_id();
  Clock::time_point next_poll_;
  bool refused_ = false;  // the system gave no more threads
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(std::int64_t)>* task_ = nullptr;
  std::int64_t n_tasks_ = 0;
  std::atomic<std::int64_t> next_{0};
  std::atomic<bool> cancelled_{false};
  int busy_ = 0;
  std::uint64_t round_ = 0;
  bool stop_ = false;
  std::exception_ptr error_;
};

// Calls body(begin, end) on consecutive ranges of `chunk` items that cover 0 … n - 1.
void parallel_chunks(ThreadPool& pool, std::int64_t n, std::int64_t chunk,
                     const std::function<void(std::int64_t, std::int64_t)>& body);

// How often, since the process began, the system refused to start a thread.
std::int64_t refused_threads();

// For tests: from now on only `n` more threads can be started; -1 lifts the limit.
void limit_new_threads(int n);

}  // namespace closeknit
