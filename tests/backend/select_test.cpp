// Selection of the largest elements, and what puts them back.
#include "backend/kernels/select.hpp"

#include <cstring>

#include "backend/kernels/add.hpp"
#include "catch.hpp"
#include "tests/backend/support.hpp"

using namespace paragrad;
using namespace paragrad::backend;
using namespace paragrad::backend::testing;

namespace {

struct Pair {
  std::uint32_t index;
  float value;
  bool operator==(const Pair&) const = default;
};

/// Leaves in `residual` what is not kept.
std::vector<Pair> select(Device& device, std::size_t keep, const std::vector<float>& x, std::vector<float>& residual) {
  std::vector<Pair> pairs(keep);
  device.run(SelectLargest{keep, x, residual, std::as_writable_bytes(std::span(pairs))});
  return pairs;
}

std::vector<Pair> select(Device& device, std::size_t keep, const std::vector<float>& x) {
  std::vector<float> nothing;
  return select(device, keep, x, nothing);
}

}  // namespace

TEST_CASE("the largest elements are kept by index, the others in the residual", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const std::vector<float> x = {1, -5, 0, 2, 4};
  std::vector<float> residual = {2, 1, 0.5f, -2, 0};
  CHECK(select(*device, 2, x, residual) == std::vector<Pair>{{1, -4}, {4, 4}});
  CHECK(residual == std::vector<float>{3, 0, 0.5f, 0, 0});
  CHECK(select(*device, 3, x) == std::vector<Pair>{{1, -5}, {3, 2}, {4, 4}});
}

TEST_CASE("of equal sizes the first are kept", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  std::vector<float> x(100, 1);
  for (std::size_t i = 0; i < x.size(); i += 3) x[i] = -1;
  x[50] = 2;
  CHECK(select(*device, 3, x) == std::vector<Pair>{{0, -1}, {1, 1}, {50, 2}});
  CHECK(select(*device, 1, std::vector<float>{-0.f, 0.f}) == std::vector<Pair>{{0, 0}});
}

TEST_CASE("all elements may be kept, or none", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  for (const std::size_t count : {0u, 1u, 16u, 33u}) {
    const auto x = random_numbers(count, 1);
    auto residual = random_numbers(count, 2), sum = residual;
    device->run(Add{x, sum});
    CHECK(select(*device, 0, x, residual).empty());
    CHECK(same_bits(residual, sum));
    residual = random_numbers(count, 2);
    const auto pairs = select(*device, count, x, residual);
    for (std::size_t i = 0; i < count; ++i) CHECK(pairs[i] == Pair{static_cast<std::uint32_t>(i), sum[i]});
    CHECK(residual == std::vector<float>(count));
  }
}

TEST_CASE("a NaN is larger than all other elements", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  std::vector<float> x(40, 1);
  x[7] = -std::numeric_limits<float>::infinity();
  x[20] = not_a_number;
  CHECK(select(*device, 1, x)[0].index == 20);
  CHECK(select(*device, 2, x)[0].index == 7);
}

TEST_CASE("cpu and reference select the same elements", "[backend]") {
  const auto cpu = make_device("cpu"), reference = make_device("reference");
  for (const std::size_t count : {1u, 15u, 16u, 17u, 1000u, 20001u}) {
    for (const std::size_t part : {1u, 2u, 10u, 100u}) {
      for (const bool coarse : {false, true}) {  // with many equal sizes
        auto x = random_numbers(count, 1);
        if (coarse)
          for (float& value : x) value = std::round(4 * value);
        auto residual = coarse ? std::vector<float>(count) : random_numbers(count, 2), expected = residual;
        const std::size_t keep = (count + part - 1) / part;
        CHECK(select(*cpu, keep, x, residual) == select(*reference, keep, x, expected));
        CHECK(same_bits(residual, expected));
      }
    }
  }
}

TEST_CASE("what is selected and what is left make up what came in, over many steps", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const std::size_t count = 300;
  std::vector<float> residual(count);
  std::vector<double> total(count);  // came in less sent
  for (std::uint32_t step = 0; step < 100; ++step) {
    const auto x = random_numbers(count, step);
    for (std::size_t i = 0; i < count; ++i) total[i] += x[i];
    for (const Pair& pair : select(*device, 3, x, residual)) total[pair.index] -= pair.value;
  }
  CHECK(distance(residual, total) < 1e-4);
}

TEST_CASE("scatter_add adds each pair to its element, over what is kept or over zeros", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const std::vector<Pair> pairs = {{1, 2.5f}, {3, -1}};
  const auto packed = std::as_bytes(std::span(pairs));
  std::vector<float> x = {1, 1, 1, 1};
  device->run(ScatterAdd{packed, 1, x});
  CHECK(x == std::vector<float>{1, 3.5f, 1, 0});
  x = poisoned(4);
  device->run(ScatterAdd{packed, 0, x});
  CHECK(x == std::vector<float>{0, 2.5f, 0, -1});
  device->run(ScatterAdd{{}, 0, x});
  CHECK(x == std::vector<float>(4));
  CHECK_THROWS_AS(device->run(ScatterAdd{packed, 1, std::span(x).first(3)}), std::out_of_range);
  for (const std::uint32_t second : {0u, 1u}) {
    const std::vector<Pair> unordered = {{1, 2}, {second, 3}};
    CHECK_THROWS_AS(device->run(ScatterAdd{std::as_bytes(std::span(unordered)), 1, x}), std::logic_error);
  }
}

TEST_CASE("the work of selection is what it reads and writes", "[backend]") {
  const auto device = make_device("meta");
  core::Arena x = device->allocate(1000), residual = device->allocate(1000), packed = device->allocate(20);
  const auto bytes = std::as_writable_bytes(packed.span());
  device->run(SelectLargest{10, x.span(), residual.span(), bytes});
  CHECK(device->meter().of(KernelKind::streaming) == Work{1, 2000, 12000 + 80});
  device->run(SelectLargest{10, x.span(), {}, bytes});
  CHECK(device->meter().of(KernelKind::streaming) == Work{2, 3000, 16000 + 160});
  device->run(ScatterAdd{bytes, 0, x.span()});
  CHECK(device->meter().of(KernelKind::streaming) == Work{3, 3010, 20000 + 320});
  device->run(ScatterAdd{bytes, 1, x.span()});
  CHECK(device->meter().of(KernelKind::streaming) == Work{4, 3020, 20000 + 480});
}

TEST_CASE("selection refuses what does not fit", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu", "meta"));
  std::vector<float> x(4);
  std::vector<std::byte> packed(40);
  CHECK_THROWS_AS(device->run(SelectLargest{5, x, {}, packed}), std::logic_error);
  CHECK_THROWS_AS(device->run(SelectLargest{4, x, {}, packed}), std::logic_error);
  CHECK_THROWS_AS(device->run(SelectLargest{4, x, std::span(x).first(3), std::span(packed).first(32)}), std::logic_error);
  CHECK_THROWS_AS(device->run(ScatterAdd{std::span(packed).first(7), 0, x}), std::logic_error);
  CHECK_THROWS_AS(device->run(ScatterAdd{packed, 0.5f, x}), std::logic_error);
}
