// A call that long tasks make now and then; it throws if the work is to end.
#pragma once

namespace closeknit {

// A pointer instead of std::function, because kernels use no templates of the standard library.
struct Checkpoint {
  void (*check)(void*);
  void* context;
};

}  // namespace closeknit
