#include <algorithm>
#include <vector>

#include "backend/cpu/bodies.hpp"
#include "backend/cpu/vector.hpp"

// The channels of a position are neighbours: sums are kept for each channel and then added up to those of the groups, so
// that loops run along them. The formula adds in another order, in double precision as well.
namespace paragrad::backend::cpu {
namespace {

/// Sums over the positions of a row, for each channel, and from them those of the groups.
class ChannelSums {
 public:
  explicit ChannelSums(const GroupShape& shape) : shape_(shape), sums_(shape.channels) {}

  /// term(place in x, channel), a double
  template <class Term>
  void add_row(std::size_t row, const Term& term) {
    double* const sums = sums_.data();
    for (std::size_t i = 0; i < shape_.positions; ++i) {
      const std::size_t first = (row * shape_.positions + i) * shape_.channels;
      for (std::size_t c = 0; c < shape_.channels; ++c) sums[c] += term(first + c, c);
    }
  }
  template <class Term>
  void of_row(std::size_t row, const Term& term) {
    std::ranges::fill(sums_, 0.0);
    add_row(row, term);
  }
  double of_channel(std::size_t c) const { return sums_[c]; }
  double of_group(std::size_t group) const {
    double sum = 0;
    for (std::size_t c = group * shape_.group_channels(); c < (group + 1) * shape_.group_channels(); ++c) sum += sums_[c];
    return sum;
  }

 private:
  const GroupShape& shape_;
  std::vector<double> sums_;
};

/// A number for each group, repeated for each of its channels.
template <class Number, class OfGroup>
void spread(const GroupShape& shape, std::vector<Number>& numbers, const OfGroup& of_group) {
  for (std::size_t group = 0; group < shape.groups; ++group)
    std::fill_n(numbers.begin() + static_cast<std::ptrdiff_t>(group * shape.group_channels()), shape.group_channels(),
                of_group(group));
}

}  // namespace

void run(Workspace&, const GroupNormForward& kernel) {
  const auto& [shape, epsilon, f, x, parameters, used, y] = kernel;
  const double count = static_cast<double>(shape.positions * shape.group_channels());
  ChannelSums sums(shape);
  std::vector<double> means(shape.channels);
  std::vector<float> factors(shape.channels), terms(shape.channels);
  for (std::size_t row = 0; row < shape.rows; ++row) {
    sums.of_row(row, [&](std::size_t at, std::size_t) { return static_cast<double>(x[at]); });
    spread(shape, means, [&](std::size_t group) { return sums.of_group(group) / count; });
    sums.of_row(row, [&](std::size_t at, std::size_t c) {
      const double distance = static_cast<double>(x[at]) - means[c];
      return distance * distance;
    });
    for (std::size_t group = 0; group < shape.groups; ++group)
      kernel.use(row * shape.groups + group, means[group * shape.group_channels()], sums.of_group(group) / count);
    spread(shape, factors, [&](std::size_t group) { return used[2 * (row * shape.groups + group) + 1]; });
    spread(shape, terms, [&](std::size_t group) { return used[2 * (row * shape.groups + group)]; });
    with_fused(f, [&]<Activation function>() {
      for (std::size_t i = 0; i < shape.positions; ++i) {
        const std::size_t first = (row * shape.positions + i) * shape.channels;
        transform(
            shape.channels, y.data() + first,
            [](Vector value, Vector mean, Vector factor, Vector scale, Vector shift) {
              return activate<function>(scale * ((value - mean) * factor) + shift);
            },
            x.data() + first, terms.data(), factors.data(), parameters.data(), parameters.data() + shape.channels);
      }
    });
  }
}

void run(Workspace&, const GroupNormBackward& kernel) {
  const auto& [shape, x, parameters, used, dy, keep, dx] = kernel;
  const double count = static_cast<double>(shape.positions * shape.group_channels());
  ChannelSums along(shape), sums(shape);
  std::vector<float> means(shape.channels), factors(shape.channels), mean_along(shape.channels), mean_dy(shape.channels);
  for (std::size_t row = 0; row < shape.rows; ++row) {
    spread(shape, means, [&](std::size_t group) { return used[2 * (row * shape.groups + group)]; });
    spread(shape, factors, [&](std::size_t group) { return used[2 * (row * shape.groups + group) + 1]; });
    along.of_row(row, [&](std::size_t at, std::size_t c) {
      return static_cast<double>(dy[at] * parameters[c]) * static_cast<double>((x[at] - means[c]) * factors[c]);
    });
    sums.of_row(row, [&](std::size_t at, std::size_t c) { return static_cast<double>(dy[at] * parameters[c]); });
    spread(shape, mean_along, [&](std::size_t group) { return static_cast<float>(along.of_group(group) / count); });
    spread(shape, mean_dy, [&](std::size_t group) { return static_cast<float>(sums.of_group(group) / count); });
    for (std::size_t i = 0; i < shape.positions; ++i) {
      const std::size_t first = (row * shape.positions + i) * shape.channels;
      for (std::size_t c = 0; c < shape.channels; ++c) {
        const float normal = (x[first + c] - means[c]) * factors[c];
        const float gradient = dy[first + c] * parameters[c] - mean_dy[c] - normal * mean_along[c];
        dx[first + c] = accumulate(factors[c] * gradient, keep, dx[first + c]);
      }
    }
  }
}

void run(Workspace&, const GroupNormGradient& kernel) {
  const auto& [shape, x, used, dy, keep, dparameters] = kernel;
  ChannelSums along(shape), sums(shape);
  std::vector<float> means(shape.channels), factors(shape.channels);
  for (std::size_t row = 0; row < shape.rows; ++row) {
    spread(shape, means, [&](std::size_t group) { return used[2 * (row * shape.groups + group)]; });
    spread(shape, factors, [&](std::size_t group) { return used[2 * (row * shape.groups + group) + 1]; });
    along.add_row(row, [&](std::size_t at, std::size_t c) {
      return static_cast<double>(dy[at]) * static_cast<double>((x[at] - means[c]) * factors[c]);
    });
    sums.add_row(row, [&](std::size_t at, std::size_t) { return static_cast<double>(dy[at]); });
  }
  for (std::size_t c = 0; c < shape.channels; ++c) kernel.add_to_parameters(c, along.of_channel(c), sums.of_channel(c));
}

}  // namespace paragrad::backend::cpu
