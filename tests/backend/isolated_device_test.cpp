// What a device does that is not done when its functions return, and whose memory is not the host's.
#include "backend/kernels/fill.hpp"
#include "backend/kernels/scale.hpp"
#include "catch.hpp"
#include "tests/backend/host_gpu.hpp"

using namespace paragrad;
using namespace paragrad::backend;
using namespace paragrad::backend::testing;

TEST_CASE("an upload takes what the host has now, in its turn", "[backend]") {
  const auto device = any_device(GENERATE("cpu", "isolated", "host gpu"));
  core::Arena memory = device->allocate(3);
  std::vector<float> mine{1, 2, 3};
  device->run(Fill{7, memory.span()});
  device->upload(std::span<const float>(mine), memory.span());
  mine = {0, 0, 0};
  device->run(Scale{2, memory.span()});
  device->transfer(std::span<const float>(memory.span()), std::span(mine));
  CHECK(mine == std::vector<float>{2, 4, 6});
}

TEST_CASE("the isolated device does nothing before somebody waits for it", "[backend]") {
  const auto device = make_device("isolated");
  core::Arena memory = device->allocate(2);
  device->run(Fill{1, memory.span()});
  const auto real = reinterpret_cast<std::uintptr_t>(memory.span().data()) & ~(std::uintptr_t{1} << 61);
  const auto* there = reinterpret_cast<const volatile float*>(real);
  CHECK(there[0] == 0);
  device->finish();
  CHECK(there[0] == 1);
  CHECK(device->squared_norm(memory.span()) == 2);
}

TEST_CASE("a kernel of the isolated device refuses memory of the host", "[backend]") {
  const auto device = make_device("isolated");
  std::vector<float> mine(3);
  CHECK_THROWS_AS(device->run(Fill{1, mine}), std::logic_error);
}
