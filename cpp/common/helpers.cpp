#include "common/helpers.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#define CK_HAVE_FORK
#endif

namespace closeknit {
namespace {

constexpr std::chrono::seconds PATIENCE{2};  // until an idle thread ends

std::atomic<std::int64_t> n_refused{0};
std::atomic<int> n_allowed{-1};

void count_allowed_thread() {
  const int allowed = n_allowed.load();
  if (allowed < 0) return;
  if (allowed == 0)
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  n_allowed.store(allowed - 1);
}

// Those that wait for work; the one that was used last comes first.
struct Idle {
  std::mutex mutex;
  std::vector<Helper*> helpers;
};

// Never destroyed: threads may outlive whatever the end of the process destroys.
Idle& idle() {
  static Idle& instance = *[] {
#ifdef CK_HAVE_FORK
    pthread_atfork(
        [] {
          for (;;) {
            Helper::end_idle();
            idle().mutex.lock();
            // One given back just now would be none in the child, which would wait for it for ever.
            if (idle().helpers.empty()) return;
            idle().mutex.unlock();
          }
        },
        [] { idle().mutex.unlock(); }, [] { idle().mutex.unlock(); });
#endif
    return new Idle;
  }();
  return instance;
}

}  // namespace

std::int64_t refused_threads() { return n_refused.load(); }

void limit_new_threads(int n) {
  Helper::end_idle();
  n_allowed.store(n);
}

Helper* Helper::take() {
  {
    std::lock_guard<std::mutex> lock(idle().mutex);
    auto& helpers = idle().helpers;
    if (!helpers.empty()) {
      Helper* helper = helpers.back();
      helpers.pop_back();
      return helper;
    }
    // So that giving it back cannot fail for lack of memory.
    helpers.reserve(helpers.capacity() + 1);
  }
  try {
    count_allowed_thread();
    std::unique_ptr<Helper> helper(new Helper);
    helper->thread_ = std::thread([self = helper.get()] { self->work(); });
    return helper.release();
  } catch (...) {
    ++n_refused;
    throw;
  }
}

void Helper::give_back(Helper* helper) {
  std::lock_guard<std::mutex> lock(idle().mutex);
  idle().helpers.push_back(helper);
}

void Helper::end_idle() {
  for (;;) {
    Helper* helper = nullptr;
    {
      std::lock_guard<std::mutex> lock(idle().mutex);
      if (idle().helpers.empty()) return;
      helper = idle().helpers.back();
      idle().helpers.pop_back();
    }
    {
      std::lock_guard<std::mutex> lock(helper->mutex_);
      helper->ended_ = true;
    }
    helper->wake_.notify_one();
    helper->thread_.join();
    delete helper;
  }
}

void Helper::begin(std::function<void()> job) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    job_ = std::move(job);
  }
  wake_.notify_one();
}

bool Helper::wait_for(std::chrono::milliseconds time) {
  std::unique_lock<std::mutex> lock(mutex_);
  return done_.wait_for(lock, time, [this] { return !job_; });
}

// Whether nobody has taken it in the meantime; then nobody can any more.
bool Helper::may_end() {
  std::lock_guard<std::mutex> lock(idle().mutex);
  auto& helpers = idle().helpers;
  const auto found = std::find(helpers.begin(), helpers.end(), this);
  if (found == helpers.end()) return false;
  helpers.erase(found);
  return true;
}

void Helper::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    if (!wake_.wait_for(lock, PATIENCE, [this] { return job_ || ended_; })) {
      lock.unlock();
      if (may_end()) {
        thread_.detach();
        delete this;
        return;
      }
      lock.lock();
      continue;
    }
    if (ended_) return;
    lock.unlock();
    job_();
    lock.lock();
    job_ = nullptr;
    done_.notify_one();
  }
}

}  // namespace closeknit
