// Copies and sums that a GPU runs in groups, run here, against the reference's one by one.
#include "backend/kernels/add.hpp"
#include "backend/kernels/copy.hpp"
#include "backend/kernels/scale.hpp"
#include "catch.hpp"
#include "core/philox.hpp"
#include "tests/backend/host_gpu.hpp"
#include "tests/backend/support.hpp"

using namespace paragrad;
using namespace paragrad::backend;
using namespace paragrad::backend::testing;

namespace {

/// Copies and sums between random stretches of an array, most of them far apart, some overlapping; here and there something
/// else that must see what came before.
std::vector<float> moved(Device& device, std::uint32_t stream) {
  constexpr std::size_t floats = 100'000, stretches = 40, most_moves = 300;
  std::vector<float> numbers = random_numbers(floats, stream);
  core::Arena memory = device.allocate(floats);
  device.transfer(std::span<const float>(numbers), memory.span());
  const core::RandomStream random(stream, core::Purpose::generator, 1);
  auto below = [&, draw = std::uint64_t{0}](std::size_t limit) mutable {
    return static_cast<std::size_t>(random.uniform(draw++) * static_cast<double>(limit));
  };
  for (std::size_t move = 0; move < most_moves; ++move) {
    const std::size_t from = below(stretches) * floats / stretches, to = below(stretches) * floats / stretches;
    const std::size_t length = below(8) == 0 ? below(2 * floats / stretches) : floats / stretches;
    if (from == to || std::max(from, to) + length > floats || std::min(from, to) + length > std::max(from, to)) continue;
    const std::span<float> a = memory.span().subspan(from, length), b = memory.span().subspan(to, length);
    switch (below(8)) {
      case 0:
        device.run(Scale{0.5f, a});
        break;
      case 1:
      case 2:
        device.run(Add{a, b});
        break;
      default:
        device.run(Copy{a, b});
    }
  }
  device.transfer(std::span<const float>(memory.span()), std::span(numbers));
  return numbers;
}

}  // namespace

TEST_CASE("copies and sums in groups end as they do one by one", "[backend][gpu_kernels]") {
  const auto reference = make_device("reference");
  for (std::uint32_t stream = 1; stream <= 20; ++stream) {
    const std::vector<float> expected = moved(*reference, stream);
    CHECK(same_bits(moved(*any_device("host gpu"), stream), expected));
    CHECK(same_bits(moved(*any_device("host gpu backwards"), stream), expected));
  }
}

TEST_CASE("a group takes what depends on none of its copies and sums, while there is room", "[backend][gpu_kernels]") {
  std::vector<float> memory(1000);
  const auto move = [&](std::size_t from, std::size_t to) {
    return gpu_kernels::Move{&memory[from], &memory[to], 10, true};
  };
  gpu_kernels::MoveGroup group{};
  CHECK(group.takes(move(0, 10)));
  group.add(move(0, 10));
  CHECK(group.takes(move(0, 20)));  // reads the same
  CHECK(group.takes(move(30, 40)));
  CHECK_FALSE(group.takes(move(15, 40)));  // reads what is written
  CHECK_FALSE(group.takes(move(40, 5)));   // writes what is read
  CHECK_FALSE(group.takes(move(40, 19)));  // writes what is written
  while (group.count < gpu_kernels::MoveGroup::most) group.add(move(500, 600));
  CHECK_FALSE(group.takes(move(30, 40)));
}
