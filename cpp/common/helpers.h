// Threads that wait for work between calls: starting one costs more than many a loop takes.
//
// They hold nothing between two jobs, end when nobody has wanted them for a while, and are ended
// before the process forks, so that a child starts its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace closeknit {

// A thread that does one job after the other.
class Helper {
 public:
  // Takes one that is idle, or starts one; throws if the system gives none.
  static Helper* take();
  // To be called when its job is done.
  static void give_back(Helper* helper);
  // Ends those that are idle.
  static void end_idle();

  void begin(std::function<void()> job);
  // Whether the job is done, or is within the time.
  bool wait_for(std::chrono::milliseconds time);

 private:
  Helper() = default;
  void work();
  bool may_end();

  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::function<void()> job_;
  bool ended_ = false;
};

// How often, since the process began, the system refused to start a thread.
std::int64_t refused_threads();

// For tests: from now on only `n` more threads can be started; -1 lifts the limit.
void limit_new_threads(int n);

}  // namespace closeknit
