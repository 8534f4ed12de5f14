// The largest elements of each chunk: what is packed, against hand-written bytes and selection by sorting; on GPUs as on the
// host.
#include "backend/kernels/chunks.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "backend/gpu_kernels/chunks.hpp"
#include "catch.hpp"
#include "tests/backend/gpu_kernels_support.hpp"
#include "tests/backend/quantise_support.hpp"

using namespace paragrad;
using namespace paragrad::backend;
using namespace paragrad::backend::testing;

namespace {

struct Chunked {
  std::vector<std::byte> packed;
  std::vector<float> residual, decoded, added;
};

Chunked chunked(Device& device, const ChunkFormat& format, const std::vector<float>& x, std::vector<float> residual = {}) {
  Chunked result{std::vector<std::byte>(format.packed_bytes(x.size()), std::byte{0xA5}), std::move(residual),
                 poisoned(x.size()), x};
  device.run(EncodeChunks{format, x, result.residual, result.packed});
  device.run(DecodeChunks{format, result.packed, 0, result.decoded});
  device.run(DecodeChunks{format, result.packed, 1, result.added});
  return result;
}

/// u with all but the `keep` largest of each chunk set to 0, by sorting.
std::vector<float> largest_by_sorting(const ChunkFormat& format, const std::vector<float>& u) {
  std::vector<float> kept(u.size());
  for (std::size_t begin = 0; begin < u.size(); begin += format.chunk) {
    const std::size_t length = std::min(format.chunk, u.size() - begin);
    std::vector<std::size_t> order(length);
    std::iota(order.begin(), order.end(), begin);
    std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t i) { return std::abs(u[i]); });
    for (std::size_t k = 0; k < (format.keep * length + format.chunk - 1) / format.chunk; ++k) kept[order[k]] = u[order[k]];
  }
  return kept;
}

const std::vector<ChunkFormat> formats{
    {1, 1}, {1, 2}, {2, 3}, {3, 17}, {64, 4096}, {5, 5}, {3, 17, true}, {64, 4096, true}, {2, 33, true, Code::bins4}};

}  // namespace

TEST_CASE("a packed chunk is its values and then its places, in as few bits as they need", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  // Chunks of 5, of which 2 are kept; of the last 3 elements 2 · 3/5, rounded up.
  const std::vector<float> x{1, -4, 2, 3, -1, 0, 0, 7, 0, 0, 9, -8, 1};
  const Chunked whole = chunked(*device, {2, 5}, x, std::vector<float>(x.size()));
  REQUIRE(whole.packed.size() == 6 * 4 + 4);
  const std::vector<float> values{-4, 3, 0, 7, 9, -8};
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(word(whole.packed, i) == bits(values[i]));
  CHECK(word(whole.packed, 6) == (1 | 3 << 3 | 0 << 6 | 2 << 9 | 0 << 12 | 1 << 15));  // three bits each
  CHECK(whole.decoded == std::vector<float>{0, -4, 0, 3, 0, 0, 0, 7, 0, 0, 9, -8, 0});
  CHECK(whole.residual == std::vector<float>{1, 0, 2, 0, -1, 0, 0, 0, 0, 0, 0, 0, 1});

  const Chunked coded = chunked(*device, {2, 5, true}, x, std::vector<float>(x.size()));
  REQUIRE(coded.packed.size() == 16 + 4 + 4);
  const Coded alone = code(*device, {Code::bins2}, values.size(), values);
  CHECK(std::equal(alone.packed.begin(), alone.packed.end(), coded.packed.begin()));
  CHECK(word(coded.packed, 5) == word(whole.packed, 6));
  CHECK(coded.decoded[7] == alone.decoded[3]);
  CHECK(coded.residual[7] == 7 - alone.decoded[3]);
}

TEST_CASE("chunks of the published size take 14 bits for each kept element", "[backend]") {
  const ChunkFormat format{64, 4096, true};
  CHECK(format.packed_bytes(16 * 4096) == 16 + (16 * 64 * 14) / 8);
  CHECK(ChunkFormat{64, 4096}.packed_bytes(4096) == 64 * 4 + 64 * 12 / 8);
  CHECK(format.packed_bytes(0) == 16);
}

TEST_CASE("the largest of each chunk are kept, the rest and the errors of the code are the residual", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  for (const ChunkFormat& format : formats)
    for (const std::size_t count : {1u, 2u, 16u, 17u, 4095u, 4097u, 9001u}) {
      const auto x = random_numbers(count, 1), before = random_numbers(count, 2);
      std::vector<float> u(count), left(count);
      for (std::size_t i = 0; i < count; ++i) u[i] = x[i] + before[i];
      const Chunked result = chunked(*device, format, x, before);
      const std::vector<float> kept = largest_by_sorting(format, u);
      for (std::size_t i = 0; i < count; ++i) {
        left[i] = u[i] - result.decoded[i];
        if (kept[i] == 0) REQUIRE(result.decoded[i] == 0);
        if (!format.coded) REQUIRE(result.decoded[i] == kept[i]);
        REQUIRE(result.added[i] == x[i] + result.decoded[i]);
      }
      CHECK(same_bits(result.residual, left));
    }
}

TEST_CASE("cpu and reference pack the same chunks, and so does the GPU kernel", "[backend][gpu_kernels]") {
  const auto cpu = make_device("cpu"), reference = make_device("reference");
  for (const ChunkFormat& format : formats)
    for (const std::size_t count : {1u, 33u, 257u, format.chunk < 9 ? 300u : 9001u})
      for (const bool remember : {false, true})
        for (const int kind : {0, 1, 2}) {
          auto x = kind == 0 ? coarse_numbers(count, 1) : std::vector<float>(count, kind == 1 ? 0.f : -2.5f);
          if (kind == 2 && count > 30) x[3] = not_a_number, x[30] = testing::infinity;
          const auto before = remember ? coarse_numbers(count, 2) : std::vector<float>{};
          const Chunked mine = chunked(*cpu, format, x, before), theirs = chunked(*reference, format, x, before);
          CHECK(mine.packed == theirs.packed);
          CHECK(same(mine.residual, theirs.residual));
          const auto check_on = [&](const auto& run) {
            auto residual = before;
            std::vector<std::byte> packed(format.packed_bytes(count), std::byte{0xA5});
            Memory scratch(gpu_kernels::encode_chunks_scratch(format, count));
            gpu_kernels::encode_chunks(run, format, count, x.data(), remember ? residual.data() : nullptr, packed.data(),
                                       scratch.data());
            CHECK(packed == theirs.packed);
            CHECK(same(residual, theirs.residual));
            auto decoded = poisoned(count), added = x;
            gpu_kernels::decode_chunks(run, format, packed.data(), 0, count, decoded.data());
            gpu_kernels::decode_chunks(run, format, packed.data(), 1, count, added.data());
            CHECK(same(decoded, theirs.decoded));
            CHECK(same(added, theirs.added));
          };
          check_on(forwards);
          check_on(backwards);
        }
}

TEST_CASE("chunks of other sizes are refused", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu", "meta"));
  std::vector<float> x(64);
  std::vector<std::byte> packed(1000);
  const auto encode = [&](const ChunkFormat& format, std::size_t bytes) {
    device->run(EncodeChunks{format, x, {}, std::span(packed).first(bytes)});
  };
  CHECK_NOTHROW(encode({4, 16}, 16 * 4 + 8));
  CHECK_THROWS_AS(encode({4, 16}, 16 * 4 + 4), std::logic_error);
  CHECK_THROWS_AS(encode({0, 16}, 0), std::logic_error);
  CHECK_THROWS_AS(encode({17, 16}, 300), std::logic_error);
  CHECK_THROWS_AS(encode({1, 65537}, 8), std::logic_error);
  CHECK_THROWS_AS(device->run(DecodeChunks{{4, 16}, std::span(packed).first(72), 0.5f, x}), std::logic_error);
}

TEST_CASE("a place outside its chunk is refused, and a GPU skips it", "[backend][gpu_kernels]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const ChunkFormat format{1, 5};
  const std::size_t count = GENERATE(10u, 12u);  // chunks of 5 and perhaps 2 elements, places of three bits
  std::vector<std::byte> packed(format.packed_bytes(count));
  const float one = 1;
  for (std::size_t i = 0; i < format.kept(count); ++i) std::memcpy(packed.data() + 4 * i, &one, 4);
  const std::uint32_t places = count == 10 ? 2 | 5 << 3 : 2 | 3 << 3 | 4 << 6;  // the last one is none
  std::memcpy(packed.data() + 4 * format.kept(count), &places, 4);
  std::vector<float> x(count);
  CHECK_THROWS_AS(device->run(DecodeChunks{format, packed, 0, x}), std::logic_error);
  gpu_kernels::decode_chunks(forwards, format, packed.data(), 0, count, x.data());
  CHECK(std::ranges::count(x, 1.f) == static_cast<std::ptrdiff_t>(format.kept(count)) - 1);
}
