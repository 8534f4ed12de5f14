#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "backend/code_formulas.hpp"
#include "backend/cpu/codes.hpp"

/// Codes of backend/quantiser.hpp that stand for levels at unequal distances: see codes.hpp.
namespace paragrad::backend::cpu {

/// bins2 and bins4: the means of bins.
template <Code code>
class Bins {
 public:
  static constexpr std::size_t bits = bits_of(code), header = header_bytes(code);
  static constexpr bool saturates = false;

  Bins(const Quantiser&, const std::byte* from) { std::memcpy(means_.data(), from, header); }

  template <bool remembers>
  Bins(const Column<remembers>& column, const Quantiser&, std::byte* to) {
    std::array<double, group_rows> sums{}, squares{};  // whose order does not depend on the registers' width
    over_groups(0, column.rows, [&](std::size_t r, std::size_t count) {
      const Row u = row_of(column.at(r, count));
      for (std::size_t i = 0; i < group_rows; ++i) {
        sums[i] += u[i];
        squares[i] += double{u[i]} * u[i];
      }
    });
    scale_ = scale_of_bins(code, sum_of(sums), sum_of(squares), column.rows);
    find_means(column);
    std::memcpy(to, means_.data(), header);
  }

  void encode(Group& u, std::size_t, std::byte* words) const {
    for (std::size_t p = 0; p < group_vectors; ++p) {
      Integers codes;
      for (std::size_t l = 0; l < lanes; ++l) {
        const std::uint32_t bin = bin_of(code, scale_, u.part[p][l]);
        codes[l] = static_cast<std::int32_t>(bin);
        u.part[p][l] -= means_[bin];
      }
      store_codes<bits>(codes, words + p * lanes * bits / 8);
    }
  }

  Group decode(const std::byte* words) const {
    Group group;
    for (std::size_t p = 0; p < group_vectors; ++p) {
      const Integers codes = load_codes<bits>(words + p * lanes * bits / 8);
      for (std::size_t l = 0; l < lanes; ++l)
        group.part[p][l] = means_[static_cast<std::size_t>(codes[l] & ((1 << bits) - 1))];
    }
    return group;
  }

 private:
  using Row = std::array<float, group_rows>;

  static Row row_of(const Group& group) {
    Row row;
    std::memcpy(row.data(), group.part, sizeof row);
    return row;
  }
  static double sum_of(const std::array<double, group_rows>& terms) {
    double sum = 0;
    for (const double term : terms) sum += term;
    return sum;
  }

  template <bool remembers>
  void find_means(const Column<remembers>& column) {
    std::array<double, std::size_t{1} << bits> sums{};
    std::array<std::size_t, std::size_t{1} << bits> counts{};
    over_groups(0, column.rows, [&](std::size_t r, std::size_t count) {
      const Row u = row_of(column.at(r, count));
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t bin = bin_of(code, scale_, u[i]);
        sums[bin] += u[i];
        counts[bin] += 1;
      }
    });
    for (std::size_t bin = 0; bin < sums.size(); ++bin) means_[bin] = mean_of_sum(sums[bin], counts[bin]);
  }

  std::array<float, std::size_t{1} << bits> means_;
  CodeScale scale_;  // to encode
};

/// e3m0: powers of two below the largest element.
class PowersOfTwo {
 public:
  static constexpr std::size_t bits = 4, header = 4;
  static constexpr bool saturates = false;

  PowersOfTwo(const Quantiser&, const std::byte* from) {
    float largest;
    std::memcpy(&largest, from, header);
    largest_ = broadcast(largest);
    divisor_ = largest == 0 ? broadcast(std::numeric_limits<float>::infinity()) : largest_;
  }

  template <bool remembers>
  PowersOfTwo(const Column<remembers>& column, const Quantiser& quantiser, std::byte* to) {
    const std::uint32_t largest = header_of_step(largest_of(column));
    std::memcpy(to, &largest, header);
    *this = PowersOfTwo(quantiser, to);
  }

  void encode(Group& u, std::size_t, std::byte* words) const {
    for (std::size_t p = 0; p < group_vectors; ++p) {
      const Integers whole = reinterpret_cast<Integers>(u.part[p]);
      const Vector ratio = reinterpret_cast<Vector>(whole & 0x7FFFFFFF) / divisor_;
      const Words raised = reinterpret_cast<Words>(ratio) & 0x7FFFFFFF;
      Integers level = reinterpret_cast<Integers>((raised + above_root_of_two) >> 23) - 120;
      level = level < 7 ? level : 7;
      const Integers codes = level > 0 ? level | (whole >> 28 & 8) : 0;
      u.part[p] -= value_of(codes);
      store_codes<bits>(codes, words + p * part_bytes);
    }
  }

  Group decode(const std::byte* words) const {
    Group group;
    for (std::size_t p = 0; p < group_vectors; ++p) group.part[p] = value_of(load_codes<bits>(words + p * part_bytes));
    return group;
  }

 private:
  static constexpr std::size_t part_bytes = lanes * bits / 8;

  Vector value_of(Integers codes) const {
    const Integers level = codes & 7;
    const Vector size = reinterpret_cast<Vector>((level + 120) << 23) * largest_;
    const Integers sign = (codes & 8) << 28;
    return level > 0 ? reinterpret_cast<Vector>(reinterpret_cast<Integers>(size) | sign) : Vector{};
  }

  Vector largest_, divisor_;
};

}  // namespace paragrad::backend::cpu
