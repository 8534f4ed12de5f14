#pragma once

#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/all_kernels.hpp"
#include "backend/device.hpp"
#include "core/fields.hpp"

namespace paragrad::backend::testing {

/// Runs the formulas of all kernels in double, so that whole models can be checked against finite differences: every float
/// in memory has a double beside it, which rounds to it. A float that was written from outside counts as it is. Slow.
class DoubleDevice final : public Device {
 public:
  std::string_view name() const override { return "double"; }
  core::Arena allocate(std::size_t count) const override { return core::host_arena(count); }

  double get(const float& x) const {
    const auto known = exact_.find(&x);
    return known != exact_.end() && static_cast<float>(known->second) == x ? known->second : static_cast<double>(x);
  }
  void put(float& x, double value) {
    x = static_cast<float>(value);
    exact_[&x] = value;
  }

 private:
  /// The arrays of one kernel in double, and what to do with them afterwards.
  struct Arrays {
    std::vector<std::vector<double>> values;
    std::vector<std::pair<std::span<float>, std::size_t>> written;
  };

  std::span<double> copy_of(std::span<const float> x, Arrays& arrays) const {
    std::vector<double>& copy = arrays.values.emplace_back();
    for (const float& value : x) copy.push_back(get(value));
    return copy;
  }

  // ---- arguments in double ----

  double convert(float value, Arrays&) const { return static_cast<double>(value); }
  std::span<const double> convert(std::span<const float> x, Arrays& arrays) const { return copy_of(x, arrays); }
  std::span<double> convert(std::span<float> x, Arrays& arrays) const {
    const std::span<double> copy = copy_of(x, arrays);
    arrays.written.push_back({x, arrays.values.size() - 1});
    return copy;
  }
  template <class Float>
  auto convert(const LstmWeightsOf<Float>& weights, Arrays& arrays) const {
    return convert_fields<LstmWeightsOf<std::conditional_t<std::is_const_v<Float>, const double, double>>>(weights, arrays);
  }
  LstmMemoryOf<double> convert(const LstmMemory& memory, Arrays& arrays) const {
    return convert_fields<LstmMemoryOf<double>>(memory, arrays);
  }
  template <class T, std::size_t n>
  auto convert(const std::array<T, n>& each, Arrays& arrays) const {
    std::array<decltype(convert(each[0], arrays)), n> result{};
    for (std::size_t i = 0; i < n; ++i) result[i] = convert(each[i], arrays);
    return result;
  }
  template <class T>
  T convert(const T& same, Arrays&) const {
    return same;
  }

  template <class To, class From>
  To convert_fields(const From& from, Arrays& arrays) const {
    return std::apply([&](const auto&... field) { return To{convert(field, arrays)...}; }, core::fields_of(from));
  }

  template <class Kernel, class InDouble>
  void compute(const Kernel& kernel, std::type_identity<InDouble>) {
    Arrays arrays;
    run_reference(convert_fields<InDouble>(kernel, arrays));
    for (const auto& [to, from] : arrays.written)
      for (std::size_t i = 0; i < to.size(); ++i) put(to[i], arrays.values[from][i]);
  }

  template <template <class> class Kernel>
  void body(const Kernel<float>& kernel) {
    compute(kernel, std::type_identity<Kernel<double>>{});
  }
  template <class Rule>
  void body(const RuleUpdateOf<Rule, float>& kernel) {
    compute(kernel, std::type_identity<RuleUpdateOf<Rule, double>>{});
  }
  template <class Kernel>
  void body(const Kernel&) {
    throw std::logic_error("a code of gradients has no form in double");
  }

  void do_run(const KernelRef& ref) override {
    visit(ref, [this](const auto& kernel) { body(kernel); });
  }

  std::unordered_map<const float*, double> exact_;
};

}  // namespace paragrad::backend::testing
