// What images changed by chance look like, judged by the pictures alone.
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "backend/all_kernels.hpp"
#include "catch.hpp"

using namespace paragrad;
using namespace paragrad::backend;

namespace {

constexpr std::size_t images = 400, side = 6, channels = 2;
using Picture = std::array<float, side * side * channels>;

/// Every pixel of every image has a number of its own.
float pixel(std::size_t image, std::size_t i, std::size_t j, std::size_t c) {
  return 1 + static_cast<float>(((image * side + i) * side + j) * channels + c);
}

std::vector<Picture> augmented(const Augmentation& augmentation, std::uint32_t epoch = 1) {
  std::vector<float> x(images * side * side * channels), y(x.size());
  for (std::size_t at = 0; at < x.size(); ++at) x[at] = 1 + static_cast<float>(at);
  std::vector<std::uint32_t> rows(images);
  for (std::size_t n = 0; n < images; ++n) rows[n] = static_cast<std::uint32_t>(n);
  run_reference(
      Augment{core::RandomStream(5, core::Purpose::augmentation, epoch), rows, side, side, channels, augmentation, x, y});
  std::vector<Picture> pictures(images);
  for (std::size_t n = 0; n < images; ++n)
    std::copy_n(y.begin() + static_cast<std::ptrdiff_t>(n * pictures[n].size()), pictures[n].size(), pictures[n].begin());
  return pictures;
}

/// Whether a picture is the image seen through a window that lies so many places down and right of it.
bool is_shifted(const Picture& picture, std::size_t image, int down, int right, bool flipped) {
  for (int i = 0; i < static_cast<int>(side); ++i)
    for (int j = 0; j < static_cast<int>(side); ++j)
      for (std::size_t c = 0; c < channels; ++c) {
        const int from_i = i + down, from_j = j + right, end = side;
        const bool inside = from_i >= 0 && from_i < end && from_j >= 0 && from_j < end;
        const auto column = static_cast<std::size_t>(flipped ? end - 1 - from_j : from_j);
        const float wanted = inside ? pixel(image, static_cast<std::size_t>(from_i), column, c) : 0;
        if (picture[(static_cast<std::size_t>(i) * side + static_cast<std::size_t>(j)) * channels + c] != wanted)
          return false;
      }
  return true;
}

}  // namespace

TEST_CASE("shifts down, shifts across and flips are drawn independently", "[backend]") {
  std::vector<std::uint32_t> rows(3000);
  std::iota(rows.begin(), rows.end(), 0u);
  const std::vector<float> x(rows.size());
  std::vector<float> y(rows.size());
  const Augment augment{core::RandomStream(5, core::Purpose::augmentation, 1), rows, 1, 1, 1, {1, true, 0}, x, y};
  std::array<std::array<std::array<int, 2>, 3>, 3> counts{};
  for (std::size_t image = 0; image < rows.size(); ++image) {
    const auto draw = augment.draw(image);
    ++counts[draw.down + 1][draw.across + 1][draw.flipped];  // unsigned: -1 + 1 is 0
  }
  for (const auto& down : counts)
    for (const auto& across : down)
      for (const int count : across) CHECK(std::abs(count - 3000 / 18) < 5 * std::sqrt(3000 / 18.));
}

TEST_CASE("augmented images are shifted by every distance up to the padding, and every other one is flipped", "[backend]") {
  constexpr int pad = 2;
  const auto pictures = augmented({pad, true, 0});
  std::set<std::pair<int, int>> shifts;
  std::size_t flips = 0;
  for (std::size_t n = 0; n < images; ++n) {
    std::size_t found = 0;
    for (int down = -pad; down <= pad; ++down)
      for (int right = -pad; right <= pad; ++right)
        for (const bool flipped : {false, true})
          if (is_shifted(pictures[n], n, down, right, flipped)) {
            ++found;
            flips += flipped ? 1 : 0;
            shifts.insert({down, right});
          }
    REQUIRE(found == 1);
  }
  CHECK(shifts.size() == 25);
  CHECK(flips > images * 2 / 5);
  CHECK(flips < images * 3 / 5);
}

TEST_CASE("a cutout is a square around a place of the image, also where it extends beyond the border", "[backend]") {
  std::set<std::size_t> sizes;
  for (const Picture& picture : augmented({0, false, 3})) {
    std::set<std::size_t> rows, columns;
    std::size_t zeros = 0;
    for (std::size_t at = 0; at < picture.size(); ++at) {
      if (picture[at] != 0) continue;
      rows.insert(at / channels / side);
      columns.insert(at / channels % side);
      ++zeros;
    }
    REQUIRE(zeros == rows.size() * columns.size() * channels);
    for (const auto& lines : {rows, columns}) {
      REQUIRE(lines.size() >= 2);
      REQUIRE(lines.size() <= 3);
      REQUIRE(*lines.rbegin() - *lines.begin() + 1 == lines.size());
    }
    sizes.insert(zeros);
  }
  CHECK(sizes == std::set<std::size_t>{8, 12, 18});
}

TEST_CASE("images are changed anew in every epoch", "[backend]") {
  const auto first = augmented({2, true, 0}, 1), second = augmented({2, true, 0}, 2);
  std::size_t same = 0;
  for (std::size_t n = 0; n < images; ++n) same += first[n] == second[n] ? 1 : 0;
  CHECK(same < images / 10);
  CHECK(augmented({2, true, 0}, 1) == first);
}
