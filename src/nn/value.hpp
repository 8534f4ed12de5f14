#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

namespace paragrad::nn {

/// The extents of one row of a value, slowest first: {features}, or {height, width, channels}. A row is a sample or a frame.
struct Shape {
  Shape(std::initializer_list<std::size_t> all) : extents(all) {}

  std::size_t size() const;
  bool operator==(const Shape&) const = default;

  std::vector<std::size_t> extents;
};

/// "224x224x3"
std::string describe(const Shape& shape);

enum class DataType { float32, int32 };  ///< int32: tokens

struct ValueType {
  Shape shape;
  DataType type = DataType::float32;
  std::size_t vocabulary = 0;  ///< of tokens, which are below it

  std::size_t size() const { return shape.size(); }  ///< elements per row
  bool operator==(const ValueType&) const = default;
};

}  // namespace paragrad::nn
