// A small pool of threads for loops over fixed chunks.
//
// What a chunk holds never depends on the number of threads, and chunks write to places of their
// own, so any number of threads gives the same bits. Pools live as long as the call that made
// them: there is no global state, nothing to break in a forked child and no OpenMP runtime to
// clash with.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace closeknit {

class ThreadPool {
 public:
  explicit ThreadPool(int n_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Calls task(0) … task(n_tasks - 1), each once, in any order, and returns when all are done.
  // The first exception a task throws is thrown again here.
  void run(std::int64_t n_tasks, const std::function<void(std::int64_t)>& task);

 private:
  void work();
  void drain();

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(std::int64_t)>* task_ = nullptr;
  std::int64_t n_tasks_ = 0;
  std::atomic<std::int64_t> next_{0};
  int busy_ = 0;
  std::uint64_t round_ = 0;
  bool stop_ = false;
  std::exception_ptr error_;
};

// Calls body(begin, end) on consecutive ranges of `chunk` items that cover 0 … n - 1.
void parallel_chunks(ThreadPool& pool, std::int64_t n, std::int64_t chunk,
                     const std::function<void(std::int64_t, std::int64_t)>& body);

}  // namespace closeknit
