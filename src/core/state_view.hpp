#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/range.hpp"

namespace paragrad::core {

/// What a part of the state becomes when another number of workers goes on with it.
enum class Rescale {
  equal,   ///< it is equal at all workers, or worker 0 keeps it for all: worker 0's
  mean,    ///< the mean of the workers' own
  sum,     ///< equal shares of their sum
  pieces,  ///< each worker keeps other pieces of one array
  own      ///< it belongs to a worker, and there is no rule
};

/// What becomes of an array when the worker's gradients are summed over another share of a minibatch's samples.
enum class GrowsWith {
  nothing,  ///< parameters, and what is made of mean gradients
  share     ///< sums of gradients
};

/// The named state that the parts of a training keep between minibatches: enough to stop and to resume with bit-identical
/// results. Refers to the owner's memory, which must not move.
struct StateView {
  struct Array {
    std::string name;
    std::span<float> values;  ///< memory of the worker's device, or of the host
    Rescale rescale;
    std::vector<Range> pieces;  ///< with Rescale::pieces: what `values` hold, one after the other, of the whole array
    GrowsWith grows_with = GrowsWith::nothing;
  };
  struct Number {
    std::string name;
    std::variant<double*, float*, std::uint64_t*> value;
    Rescale rescale;

    double get() const {
      return std::visit([](auto* number) { return static_cast<double>(*number); }, value);
    }
    void set(double to) const {
      std::visit([to](auto* number) { *number = static_cast<std::remove_reference_t<decltype(*number)>>(to); }, value);
    }
  };

  std::vector<Array> arrays;
  std::vector<Number> numbers;

  void add(std::string name, std::span<float> values, Rescale rescale, GrowsWith grows_with = GrowsWith::nothing) {
    if (!values.empty()) arrays.push_back({std::move(name), values, rescale, {}, grows_with});
  }
  /// Pieces of an array that the workers share; this worker's may be empty. Pieces of different workers may overlap; then
  /// they are equal there.
  void add(std::string name, std::span<float> values, std::vector<Range> pieces) {
    if (!pieces.empty()) arrays.push_back({std::move(name), values, Rescale::pieces, std::move(pieces)});
  }
  void add(std::string name, double& value, Rescale rescale) { numbers.push_back({std::move(name), &value, rescale}); }
  void add(std::string name, float& value, Rescale rescale) { numbers.push_back({std::move(name), &value, rescale}); }
  void add(std::string name, std::uint64_t& value, Rescale rescale) {
    numbers.push_back({std::move(name), &value, rescale});
  }

  /// For a training in which only worker 0 has taken part so far: its values instead of the workers' means.
  void take_worker_0() {
    for (Array& array : arrays)
      if (array.rescale == Rescale::mean) array.rescale = Rescale::equal;
    for (Number& number : numbers)
      if (number.rescale == Rescale::mean) number.rescale = Rescale::equal;
  }

  /// Adds the state of a part: its names after `owner` and a slash.
  void add(const std::string& owner, StateView part) {
    for (Array& array : part.arrays) {
      array.name = owner + "/" + array.name;
      arrays.push_back(std::move(array));
    }
    for (Number& number : part.numbers) {
      number.name = owner + "/" + number.name;
      numbers.push_back(std::move(number));
    }
  }
};

}  // namespace paragrad::core
