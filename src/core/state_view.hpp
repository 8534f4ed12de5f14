#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace paragrad::core {

/// What the parts of a training remember from minibatch to minibatch, by name: enough to stop it and to take it up again
/// with the same bits. Refers to the memory of who describes himself, which stays where it is.
struct StateView {
  struct Array {
    std::string name;
    std::span<float> values;  ///< memory of the worker's device, or of the host
  };
  struct Number {
    std::string name;
    std::variant<double*, float*> value;

    double get() const {
      return std::visit([](auto* number) { return static_cast<double>(*number); }, value);
    }
    void set(double to) const {
      std::visit([to](auto* number) { *number = static_cast<std::remove_reference_t<decltype(*number)>>(to); }, value);
    }
  };

  std::vector<Array> arrays;
  std::vector<Number> numbers;

  void add(std::string name, std::span<float> values) {
    if (!values.empty()) arrays.push_back({std::move(name), values});
  }
  void add(std::string name, double& value) { numbers.push_back({std::move(name), &value}); }
  void add(std::string name, float& value) { numbers.push_back({std::move(name), &value}); }
};

}  // namespace paragrad::core
