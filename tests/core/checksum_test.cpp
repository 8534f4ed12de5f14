#include "core/checksum.hpp"

#include <algorithm>
#include <string_view>

#include "catch.hpp"

using namespace paragrad::core;

namespace {

auto bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace

TEST_CASE("the checksum is XXH3's", "[core]") {
  // as xxhsum -H3 prints them
  CHECK(checksum(bytes_of("")) == 0x2d06800538d394c2);
  CHECK(checksum(bytes_of("a")) == 0xe6c632b61e964e1f);
  CHECK(checksum(bytes_of("abc")) == 0x78af5f94892f3950);
  CHECK(Checksum().digits() == "2d06800538d394c2");
}

TEST_CASE("a checksum is of the bytes so far, however they came", "[core]") {
  std::string text(100'000, 'x');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i);
  const std::size_t piece = GENERATE(1u, 63u, 256u, 1025u, 65'536u);
  Checksum pieces;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    pieces.update(bytes_of(text).subspan(at, std::min(piece, text.size() - at)));
    if (at % 97 == 0) REQUIRE(pieces.value() == checksum(bytes_of(text).first(std::min(at + piece, text.size()))));
  }
  CHECK(pieces.value() == checksum(bytes_of(text)));
}
