// What messages contain, moved and added up in memory that the host cannot reach.
#include "sim/messages/carrier.hpp"

#include <cstring>

#include "catch.hpp"
#include "tests/backend/support.hpp"

using namespace paragrad;
using backend::testing::random_numbers;

namespace {

/// An array of the device isolated, and what it must be.
struct Memory {
  std::unique_ptr<backend::Device> device = backend::make_device("isolated");
  std::vector<float> expected = random_numbers(10'000, 1);
  core::Arena arena = device->allocate(expected.size());

  Memory() { device->transfer(std::span<const float>(expected), arena.span()); }
  std::span<float> at(std::size_t begin, std::size_t count) { return arena.span().subspan(begin, count); }
  std::vector<float> found() {
    std::vector<float> numbers(expected.size());
    device->transfer(std::span<const float>(arena.span()), std::span(numbers));
    return numbers;
  }
  void move(std::size_t from, std::size_t to, std::size_t count) {
    const std::vector<float> some(expected.begin() + static_cast<std::ptrdiff_t>(from),
                                  expected.begin() + static_cast<std::ptrdiff_t>(from + count));
    std::copy(some.begin(), some.end(), expected.begin() + static_cast<std::ptrdiff_t>(to));
  }
  void add(std::size_t from, std::size_t to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) expected[to + i] += expected[from + i];
  }
};

std::span<const std::byte> bytes(std::span<const float> floats) { return std::as_bytes(floats); }
std::span<std::byte> bytes(std::span<float> floats) { return std::as_writable_bytes(floats); }

}  // namespace

TEST_CASE("copies and sums keep their order, however many and however they depend on each other", "[sim]") {
  Memory memory;
  sim::Carrier carrier(backend::make_device("isolated"));
  carrier.begin_collective();
  for (std::size_t i = 0; i < 200; ++i) {
    const std::size_t from = 37 * i % 9000, to = 101 * i % 9000;
    if (std::max(from, to) - std::min(from, to) < 40) continue;
    if (i % 3 == 0) {
      carrier.add(memory.at(from, 40), memory.at(to, 40));
      memory.add(from, to, 40);
    } else {
      carrier.move(bytes(memory.at(from, 40)), bytes(memory.at(to, 40)));
      memory.move(from, to, 40);
    }
  }
  carrier.finish();
  carrier.end_collective();
  CHECK(memory.found() == memory.expected);
}

TEST_CASE("what goes to the host has seen all that was to be done before", "[sim]") {
  Memory memory;
  sim::Carrier carrier(backend::make_device("isolated"));
  carrier.begin_collective();
  carrier.add(memory.at(0, 10), memory.at(20, 10));
  memory.add(0, 20, 10);
  std::vector<float> here(10);
  carrier.move(bytes(memory.at(20, 10)), bytes(std::span(here)));
  CHECK(std::equal(here.begin(), here.end(), memory.expected.begin() + 20));
  carrier.move(bytes(std::span<const float>(here)), bytes(memory.at(50, 10)));  // from the host
  memory.move(20, 50, 10);
  carrier.move(bytes(memory.at(50, 10)).first(13), bytes(memory.at(70, 10)).first(13));  // no whole numbers
  std::memcpy(&memory.expected[70], &memory.expected[50], 13);
  carrier.end_collective();
  CHECK(memory.found() == memory.expected);
}

TEST_CASE("outside collectives a copy or a sum is done on return", "[sim]") {
  Memory memory;
  sim::Carrier carrier(backend::make_device("isolated"));
  carrier.move(bytes(memory.at(0, 10)), bytes(memory.at(20, 10)));
  memory.move(0, 20, 10);
  carrier.add(memory.at(20, 10), memory.at(40, 10));
  memory.add(20, 40, 10);
  CHECK(memory.found() == memory.expected);
}

TEST_CASE("a sum of arrays that differ in length is a mistake", "[sim]") {
  Memory memory;
  sim::Carrier carrier(backend::make_device("isolated"));
  CHECK_THROWS_AS(carrier.add(memory.at(0, 9), memory.at(20, 10)), std::logic_error);
}
