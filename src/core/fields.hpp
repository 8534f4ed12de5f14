#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

/// The fields of an aggregate, in order: C++20 has no other reflection.
namespace paragrad::core {

namespace fields {

struct Anything {
  template <class T>
  operator T() const;  // never called
};

template <class Aggregate, std::size_t... i>
constexpr bool takes(std::index_sequence<i...>) {
  return requires { Aggregate{(static_cast<void>(i), Anything{})...}; };
}

template <class Aggregate, std::size_t n = 12>
constexpr std::size_t count() {
  if constexpr (takes<Aggregate>(std::make_index_sequence<n>{}))
    return n;
  else
    return count<Aggregate, n - 1>();
}

}  // namespace fields

/// References to the fields of an aggregate with at most 12, without bases or arrays.
template <class Aggregate>
auto fields_of(Aggregate& of) {
  static_assert(std::is_aggregate_v<Aggregate>);
  constexpr std::size_t n = fields::count<std::remove_const_t<Aggregate>>();
  if constexpr (n == 1) {
    auto& [a] = of;
    return std::tie(a);
  } else if constexpr (n == 2) {
    auto& [a, b] = of;
    return std::tie(a, b);
  } else if constexpr (n == 3) {
    auto& [a, b, c] = of;
    return std::tie(a, b, c);
  } else if constexpr (n == 4) {
    auto& [a, b, c, d] = of;
    return std::tie(a, b, c, d);
  } else if constexpr (n == 5) {
    auto& [a, b, c, d, e] = of;
    return std::tie(a, b, c, d, e);
  } else if constexpr (n == 6) {
    auto& [a, b, c, d, e, f] = of;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (n == 7) {
    auto& [a, b, c, d, e, f, g] = of;
    return std::tie(a, b, c, d, e, f, g);
  } else if constexpr (n == 8) {
    auto& [a, b, c, d, e, f, g, h] = of;
    return std::tie(a, b, c, d, e, f, g, h);
  } else if constexpr (n == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = of;
    return std::tie(a, b, c, d, e, f, g, h, i);
  } else if constexpr (n == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = of;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (n == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = of;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  } else {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = of;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
  }
}

/// Calls visit(field) for each field in order.
template <class Aggregate, class Visit>
void for_each_field(Aggregate& of, const Visit& visit) {
  std::apply([&](auto&... field) { (visit(field), ...); }, fields_of(of));
}

}  // namespace paragrad::core
