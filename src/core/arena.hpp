#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace paragrad::core {

/// Owns one flat array of floats on some device: parameters, gradients, momentum or scratch. Independent of layers.
/// The device that allocates it supplies the function that releases it.
class Arena {
 public:
  using Release = void (*)(float* data, std::size_t count);

  Arena() = default;
  Arena(float* data, std::size_t count, Release release) : data_(data, Deleter{count, release}), count_(count) {}

  std::span<float> span() { return {data_.get(), count_}; }
  std::span<const float> span() const { return {data_.get(), count_}; }
  std::size_t size() const { return count_; }

  /// Hands the memory to the caller, who must release it.
  float* let_go() {
    count_ = 0;
    return data_.release();
  }

 private:
  struct Deleter {
    std::size_t count;
    Release release;
    void operator()(float* data) const { release(data, count); }
  };
  std::unique_ptr<float, Deleter> data_;
  std::size_t count_ = 0;
};

/// `count` zeros in host memory, aligned to 64 bytes (a cache line, an AVX-512 register). Throws ConfigError if memory is
/// exhausted.
Arena host_arena(std::size_t count);

/// Releases memory obtained by let_go() from an arena of host_arena().
void release_host_memory(float* data, std::size_t count);

}  // namespace paragrad::core
