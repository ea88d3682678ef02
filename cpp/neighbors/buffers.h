// Memory for the search kernels, in the instruction set's namespace (see isa.h).
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace closeknit::CK_ISA {

// A fixed number of elements, not initialised if they are plain numbers.
template <class T>
class Buffer {
 public:
  explicit Buffer(std::int64_t size) : data_(new T[static_cast<std::size_t>(size)]) {}
  ~Buffer() { delete[] data_; }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  T* data() const { return data_; }
  T& operator[](std::int64_t i) const { return data_[i]; }

 private:
  T* data_;
};

// A growing list of plain values.
template <class T>
class List {
  static_assert(std::is_trivially_copyable<T>::value, "elements are moved byte by byte");

 public:
  List() = default;
  ~List() { delete[] data_; }
  List(const List&) = delete;
  List& operator=(const List&) = delete;

  std::int64_t size() const { return size_; }
  T* data() const { return data_; }
  T& operator[](std::int64_t i) const { return data_[i]; }

  void clear() { size_ = 0; }
  void cut(std::int64_t size) { size_ = size; }

  void reserve(std::int64_t capacity) {
    if (capacity <= capacity_) return;
    T* wider = new T[static_cast<std::size_t>(capacity)];
    if (size_ > 0)
      std::memcpy(static_cast<void*>(wider), data_, static_cast<std::size_t>(size_) * sizeof(T));
    delete[] data_;
    data_ = wider;
    capacity_ = capacity;
  }

  void append(const T& value) {
    if (size_ == capacity_) reserve(2 * capacity_ + 16);
    data_[size_++] = value;
  }

 private:
  T* data_ = nullptr;
  std::int64_t size_ = 0, capacity_ = 0;
};

}  // namespace closeknit::CK_ISA
