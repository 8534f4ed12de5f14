#include "core/sha256.hpp"

#include <algorithm>

#include "catch.hpp"
#include "core/errors.hpp"
#include "temporary_folder.hpp"

using namespace paragrad::core;
using namespace paragrad::test;

namespace {

std::string hash(std::string_view text) { return sha256(std::as_bytes(std::span(text))); }

}  // namespace

TEST_CASE("SHA-256 gives the published digests", "[core]") {
  // FIPS 180-4, examples of NIST's CSRC
  CHECK(hash("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hash("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(hash(std::string(1'000'000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("the digest does not depend on how the bytes come", "[core]") {
  const std::string text(1000, 'x');
  const std::size_t piece = GENERATE(1u, 63u, 64u, 65u, 999u);
  Sha256 pieces;
  for (std::size_t at = 0; at < text.size(); at += piece)
    pieces.update(std::as_bytes(std::span(text)).subspan(at, std::min(piece, text.size() - at)));
  pieces.update({});
  CHECK(pieces.finish() == hash(text));
}

TEST_CASE("a file's digest is that of its bytes", "[core]") {
  const std::size_t bytes = GENERATE(0u, 1u, 1u << 20, (1u << 20) + 1, 2'500'000u);
  const TemporaryFolder folder;
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 31 + i / 1000);
  write_text(folder.file("f"), text);
  CHECK(sha256_of_file(folder.file("f")) == hash(text));
}

TEST_CASE("what cannot be read has no digest", "[core]") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(sha256_of_file(folder.file("missing")), ConfigError);
  CHECK_THROWS_AS(sha256_of_file(folder.path()), ConfigError);  // a folder opens like a file
  CHECK_THROWS_WITH(sha256_of_file(folder.file("missing")), contains_text(folder.file("missing")));
}
