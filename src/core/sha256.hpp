#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace paragrad::core {

/// Incremental SHA-256. Identifies the content of files, data sets and weights.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(std::span<const std::byte> bytes);

  /// 64 hexadecimal digits; ends the computation.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256(std::span<const std::byte> bytes);

/// Throws ConfigError if the file cannot be read.
std::string sha256_of_file(const std::string& path);

}  // namespace paragrad::core
