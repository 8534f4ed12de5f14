#pragma once

#include "core/errors.hpp"
#include "core/format.hpp"
#include "nn/op.hpp"

/// What several operations need. The checks are for Op::infer and Op::part and throw ConfigError, a sentence that continues
/// the node's name.
namespace paragrad::nn {

inline void expect_inputs(Op::Types inputs, std::size_t count) {
  if (inputs.size() != count)
    throw core::ConfigError(core::format("takes {} input{}, not {}", count, count == 1 ? "" : "s", inputs.size()));
  for (const ValueType& input : inputs)
    if (input.type != DataType::float32) throw core::ConfigError("takes numbers, not tokens");
}

inline void expect_same_shape(const ValueType& a, const ValueType& b) {
  if (a.shape != b.shape)
    throw core::ConfigError(core::format("takes inputs of one shape, not {} and {}", describe(a.shape), describe(b.shape)));
}

/// The part of worker `index` of `workers` of `count` things, which `what` names. Nobody's part may be empty.
inline core::Range expect_part(std::size_t count, const char* what, std::size_t workers, std::size_t index) {
  if (count < workers)
    throw core::ConfigError(
        core::format("has {} {} and cannot be split into {} parts: give a smaller `tensor-parallel`", count, what, workers));
  return core::part_of(count, workers, index);
}

/// "affine", or with a fused activation function "affine+sigmoid".
inline std::string with_function(std::string_view op, backend::Activation f) {
  return f == backend::Activation::identity ? std::string(op) : core::format("{}+{}", op, backend::activation_name(f));
}

/// The extents {height, width, channels} of an image.
struct Image {
  std::size_t height, width, channels;

  std::size_t positions() const { return height * width; }
  std::size_t size() const { return channels * positions(); }
};

inline Image expect_image(const ValueType& value) {
  const std::vector<std::size_t>& extents = value.shape.extents;
  if (extents.size() != 3)
    throw core::ConfigError(core::format("takes height x width x channels, not {}", describe(value.shape)));
  return {extents[0], extents[1], extents[2]};
}

}  // namespace paragrad::nn
