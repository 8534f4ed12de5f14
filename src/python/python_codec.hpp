#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "core/layout.hpp"
#include "python/nanobind.hpp"
#include "python/of_call.hpp"

namespace paragrad::python {

/// A compressor written in Python, a paragrad.compressor.GivenCompressor. Its functions are called from any thread; they
/// take the interpreter's lock, and throw ConfigError with what Python raised.
class PythonCodec {
 public:
  /// Needs the interpreter's lock.
  explicit PythonCodec(nanobind::object given);
  ~PythonCodec();
  PythonCodec(const PythonCodec&) = delete;

  const std::string& text() const { return text_; }  ///< "Sign@1f7ebee7a93c0d39"

  /// Of the code of an array of this shape.
  std::size_t bytes(const core::MatrixShape& shape);

  void encode(const core::MatrixShape& shape, std::span<const float> values, std::span<std::byte> code);
  void decode(const core::MatrixShape& shape, std::span<const std::byte> code, std::span<float> values);

 private:
  nanobind::object given_;
  std::string name_, text_;
  std::mutex mutex_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> bytes_;  // by rows and columns
};

using CompressorOfCall = OfCall<PythonCodec>;  ///< of a paragrad.compressor.GivenCompressor: the compression `python`

}  // namespace paragrad::python
