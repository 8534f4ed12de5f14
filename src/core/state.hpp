#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace paragrad::core {

/// What the parts of a training remember from minibatch to minibatch, by name: enough to stop it and to take it up again
/// with the same bits. Refers to the memory of who describes himself, which stays where it is.
struct State {
  struct Array {
    std::string name;
    std::span<float> values;  ///< memory of the worker's device
  };
  struct Number {
    std::string name;
    double* value;
  };

  std::vector<Array> arrays;
  std::vector<Number> numbers;

  void add(std::string name, std::span<float> values) {
    if (!values.empty()) arrays.push_back({std::move(name), values});
  }
  void add(std::string name, double& value) { numbers.push_back({std::move(name), &value}); }
};

}  // namespace paragrad::core
