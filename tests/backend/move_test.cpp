// Copies and sums that a GPU makes in one launch, run here, against the reference's one by one.
#include "catch.hpp"
#include "core/philox.hpp"
#include "sanitized.hpp"
#include "tests/backend/host_gpu.hpp"
#include "tests/backend/support.hpp"

using namespace paragrad;
using namespace paragrad::backend;
using namespace paragrad::backend::testing;

namespace {

/// Copies and sums between random stretches of an array, most of them far apart, some overlapping; those that do not depend
/// on each other, up to `most`, at once.
std::vector<float> moved(Device& device, std::uint32_t stream, std::size_t most) {
  constexpr std::size_t floats = 400'000, stretches = 160, moves = 600;
  std::vector<float> numbers = random_numbers(floats, stream);
  core::Arena memory = device.allocate(floats);
  device.transfer(std::span<const float>(numbers), memory.span());
  const core::RandomStream random(stream, core::Purpose::generator, 1);
  auto below = [&, draw = std::uint64_t{0}](std::size_t limit) mutable {
    return static_cast<std::size_t>(random.uniform(draw++) * static_cast<double>(limit));
  };
  std::vector<Move> waiting;
  const auto run = [&] {
    device.move(waiting);
    waiting.clear();
  };
  for (std::size_t i = 0; i < moves; ++i) {
    const std::size_t from = below(stretches) * floats / stretches, to = below(stretches) * floats / stretches;
    const std::size_t length = below(8) == 0 ? below(2 * floats / stretches) : floats / stretches;
    if (std::max(from, to) + length > floats || std::min(from, to) + length > std::max(from, to)) continue;
    const Move move{&memory.span()[from], &memory.span()[to], length, below(3) == 0};
    if (waiting.size() == most || std::ranges::any_of(waiting, [&](const Move& other) { return move.depends_on(other); }))
      run();
    waiting.push_back(move);
  }
  run();
  device.transfer(std::span<const float>(memory.span()), std::span(numbers));
  return numbers;
}

}  // namespace

TEST_CASE("copies and sums at once end as they do one by one", "[backend][gpu_kernels]") {
  const auto reference = make_device("reference");
  for (std::uint32_t stream = 1; stream <= (sanitized ? 3 : 10); ++stream) {
    const std::vector<float> expected = moved(*reference, stream, 1);
    for (const char* name : {"host gpu", "host gpu backwards", "cpu", "isolated"})
      CHECK(same_bits(moved(*any_device(name), stream, 200), expected));
  }
}

TEST_CASE("a copy or a sum depends on those that write what it reads or writes, or read what it writes", "[backend]") {
  std::vector<float> memory(100);
  const auto move = [&](std::size_t from, std::size_t to) { return Move{&memory[from], &memory[to], 10, true}; };
  const Move first = move(0, 10);
  CHECK_FALSE(move(0, 20).depends_on(first));  // reads the same
  CHECK_FALSE(move(30, 40).depends_on(first));
  CHECK_FALSE(move(20, 30).depends_on(first));  // begins where it ends
  CHECK(move(15, 40).depends_on(first));        // reads what is written
  CHECK(move(40, 5).depends_on(first));         // writes what is read
  CHECK(move(40, 19).depends_on(first));        // writes what is written
}
