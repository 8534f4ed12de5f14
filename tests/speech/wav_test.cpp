#include "speech/wav.hpp"

#include <cmath>

#include "catch.hpp"
#include "core/errors.hpp"
#include "riff.hpp"
#include "signals.hpp"
#include "temporary_folder.hpp"

using namespace paragrad;
using namespace paragrad::speech;

TEST_CASE("a WAV file gives its samples and its rate, whatever other parts it has", "[speech]") {
  const test::TemporaryFolder folder;
  const auto sound = noise(1000);
  auto header = format(1, 1, 8000, 16);
  SECTION("plain") {}
  SECTION("extensible") {
    header =
        format(0xfffe, 1, 8000, 16) + little(22, 2) + little(16, 2) + little(4, 4) + little(1, 2) + std::string(14, 'x');
  }
  test::write_text(folder.file("x.wav"), riff(part("LIST", "odd") + part("fmt ", header) + part("fact", "1234") +
                                              part("data", samples(sound)) + part("tail", "")));
  const Wave wave = read_wav(folder.file("x.wav"));
  CHECK(wave.sample_rate == 8000);
  CHECK(wave.samples == sound);
}

TEST_CASE("files that are not 16-bit PCM of one channel are refused in one sentence", "[speech]") {
  const test::TemporaryFolder folder;
  const auto path = folder.file("x.wav");
  const auto refused = [&](const std::string& content, const std::string& why) {
    test::write_text(path, content);
    CHECK_THROWS_WITH(read_wav(path), contains_text(why) && contains_text("x.wav"));
  };
  const auto data = part("data", samples(noise(10)));
  refused("", "does not start with a RIFF/WAVE header");
  refused(std::string(100, 'R'), "does not start with a RIFF/WAVE header");
  refused(riff(""), "no 'data' chunk");
  refused(riff(data), "before any 'fmt ' chunk");
  refused(riff(part("fmt ", "short") + data), "too short");
  refused(riff(part("fmt ", format(3, 1, 8000, 32)) + data), "encoding is 3");
  refused(riff(part("fmt ", format(0xfffe, 1, 8000, 16)) + data), "encoding is 65534");
  refused(riff(part("fmt ", format(1, 2, 8000, 16)) + data), "2 channels of 16 bits");
  refused(riff(part("fmt ", format(1, 1, 8000, 8)) + data), "1 channels of 8 bits");
  refused(riff(part("fmt ", format(1, 1, 0, 16)) + data), "rate is 0");
  refused(riff(part("fmt ", format(1, 1, 8000, 16)) + part("data", "abc")), "in the middle of a sample");
  refused(riff(part("fmt ", format(1, 1, 8000, 16)) + "data" + little(0x7ffeffff, 4) + "abcd"), "truncated");
  refused(riff("LIST" + little(0xffffffff, 4) + "abcd"), "truncated");
  CHECK_THROWS_WITH(read_wav(folder.file("none.wav")), contains_text("No such file"));
  CHECK_THROWS_WITH(read_wav(folder.path()), contains_text("not a regular file"));
}

TEST_CASE("samples whose number a pipe or an unfinished recorder left out go to the end of the file", "[speech]") {
  const test::TemporaryFolder folder;
  const auto sound = noise(100);
  const std::string head = "WAVE" + part("fmt ", format(1, 1, 8000, 16)) + "data", written = samples(sound);
  struct Sizes {
    std::uint32_t data, whole;
  };
  const auto header_alone = static_cast<std::uint32_t>(head.size() + 4);
  for (const auto [data, whole] :
       {Sizes{0xffffffff, 0xffffffff}, Sizes{0x7fffffff - 36, 0x7fffffff}, Sizes{0x80000000, 0x80000024},
        Sizes{0x7fff0000, 0x7fff0024}, Sizes{0, 0}, Sizes{0, header_alone}, Sizes{0, 0xffffffff}})
    for (const char* const half_a_sample : {"", "x"}) {
      CAPTURE(data, whole);
      replace_text(folder.file("x.wav"), "RIFF" + little(whole, 4) + head + little(data, 4) + written + half_a_sample);
      CHECK(read_wav(folder.file("x.wav")).samples == sound);
    }
  replace_text(folder.file("x.wav"), riff(part("fmt ", format(1, 1, 8000, 16)) + part("data", "") + part("LIST", "abcd")));
  CHECK(read_wav(folder.file("x.wav")).samples.empty());  // its size is right
}

TEST_CASE("no truncation and no flipped bit of a WAV file does more than give a sentence", "[speech]") {
  const test::TemporaryFolder folder;
  const auto path = folder.file("x.wav");
  const auto whole = riff(part("fmt ", format(1, 1, 8000, 16)) + part("data", samples(noise(20))));
  const auto attempt = [&](const std::string& content) {
    replace_text(path, content);
    try {
      return read_wav(path).samples.size() <= 20;
    } catch (const core::ConfigError&) {
      return true;
    }
  };
  for (std::size_t length = 0; length < whole.size(); ++length) CHECK(attempt(whole.substr(0, length)));
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    auto flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    CHECK(attempt(flipped));
  }
}
