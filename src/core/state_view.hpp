#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace paragrad::core {

/// The named state that the parts of a training keep between minibatches: enough to stop and to resume with bit-identical
/// results. Refers to the owner's memory, which must not move.
struct StateView {
  struct Array {
    std::string name;
    std::span<float> values;  ///< memory of the worker's device, or of the host
  };
  struct Number {
    std::string name;
    std::variant<double*, float*, std::uint64_t*> value;

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
  void add(std::string name, std::uint64_t& value) { numbers.push_back({std::move(name), &value}); }
};

}  // namespace paragrad::core
