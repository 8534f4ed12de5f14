#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/augmentation.hpp"
#include "backend/kernel.hpp"
#include "core/philox.hpp"

namespace paragrad::backend {

/// y[rows][height][width][channels] = x, each image shifted, flipped and cut as drawn for it. The draws depend on the stream
/// and on rows[i] alone, so they are the same in every minibatch and on every worker. Krizhevsky, Sutskever and Hinton, NIPS
/// 2012; padding by 4 as in He et al., CVPR 2016.
template <class Real>
struct AugmentOf {
  static constexpr KernelId id = KernelId::augment;

  core::RandomStream random;
  std::span<const std::uint32_t> rows;  ///< numbers of the images
  std::size_t height, width, channels;
  Augmentation augmentation;
  std::span<const Real> x;
  std::span<Real> y;

  void check() const {
    expect_size(id, "x", x.size(), rows.size() * height * width * channels);
    expect_size(id, "y", y.size(), x.size());
  }
  KernelCost cost() const { return streaming_cost(y.size(), 4, 2); }
  std::size_t elements() const { return y.size(); }

  /// What is drawn for an image. Place (i, j) shows x's place (i + down, j + across), counted after a flip; unsigned
  /// numbers wrap around below 0.
  struct Draw {
    std::size_t down, across;
    bool flipped;
    std::size_t top, bottom, left, right;  ///< of the square of zeros: [top, bottom) × [left, right)

    PARAGRAD_HOST_DEVICE bool is_cut(std::size_t i, std::size_t j) const {
      return i >= top && i < bottom && j >= left && j < right;
    }
  };
  PARAGRAD_HOST_DEVICE static std::size_t below(std::size_t bound, std::uint32_t word) {
    return static_cast<std::size_t>(static_cast<std::uint64_t>(word) * bound >> 32);
  }
  PARAGRAD_HOST_DEVICE Draw draw(std::size_t image) const {
    const auto words = random.words(rows[image]);
    const std::size_t places = 2 * augmentation.pad + 1, side = augmentation.cutout;
    Draw draw{below(places, words[0]) - augmentation.pad,
              below(places, words[1]) - augmentation.pad,
              augmentation.flip && words[2] >> 31 != 0,
              0,
              0,
              0,
              0};
    if (side == 0) return draw;
    const auto centre = random.words(std::uint64_t{rows[image]} | std::uint64_t{1} << 32);
    const std::size_t i = below(height, centre[0]), j = below(width, centre[1]);
    draw.top = i < side / 2 ? 0 : i - side / 2;
    draw.bottom = i + (side + 1) / 2;
    draw.left = j < side / 2 ? 0 : j - side / 2;
    draw.right = j + (side + 1) / 2;
    return draw;
  }
  /// Where in x's image the place is that (i, j) shows, or the number of places if none is.
  PARAGRAD_HOST_DEVICE std::size_t shown(const Draw& draw, std::size_t i, std::size_t j) const {
    const std::size_t from_i = i + draw.down, from_j = j + draw.across;
    if (from_i >= height || from_j >= width || draw.is_cut(i, j)) return height * width;
    return from_i * width + (draw.flipped ? width - 1 - from_j : from_j);
  }

  PARAGRAD_HOST_DEVICE void element(std::size_t at) const {
    const std::size_t places = height * width, image = at / (places * channels), place = at / channels % places;
    const std::size_t from = shown(draw(image), place / width, place % width);
    y[at] = from == places ? Real(0) : x[(image * places + from) * channels + at % channels];
  }
  static Example<AugmentOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, width = std::max<std::size_t>(1, count / 3), count] {
      const std::size_t channels = count < 3 ? 1 : 3;
      return AugmentOf{{1, core::Purpose::generator},
                       memory.rows(1),
                       1,
                       width,
                       channels,
                       {4, true, 0},
                       memory.activations(0, width * channels),
                       memory.activations(1, width * channels)};
    };
  }
};
using Augment = AugmentOf<float>;

}  // namespace paragrad::backend
