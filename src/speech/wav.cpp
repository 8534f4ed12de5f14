#include "speech/wav.hpp"

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "speech/number_at.hpp"

namespace paragrad::speech {
namespace {

constexpr std::uint16_t pcm = 1, extensible = 0xfffe;

std::string content_of(const std::string& path) {
  if (!std::filesystem::is_regular_file(path))
    throw core::ConfigError(core::format("cannot read '{}': there is no such file", path));
  std::ifstream file(path, std::ios::binary);
  std::string content(static_cast<std::size_t>(std::filesystem::file_size(path)), '\0');
  if (!file || !file.read(content.data(), static_cast<std::streamsize>(content.size())))
    throw core::ConfigError(core::format("cannot read '{}': {}", path, std::strerror(errno)));
  return content;
}

class WavReader {
 public:
  WavReader(const std::string& path, std::string_view bytes) : path_(path), bytes_(bytes) {}

  Wave read() {
    if (bytes_.size() < 12 || bytes_.substr(0, 4) != "RIFF" || bytes_.substr(8, 4) != "WAVE")
      throw refused("it does not start with a RIFF/WAVE header");
    for (std::size_t at = 12; at + 8 <= bytes_.size();) {
      const auto name = bytes_.substr(at, 4);
      const std::size_t size = number_at<std::uint32_t>(bytes_, at + 4), have = bytes_.size() - at - 8;
      if (size > have) throw refused(core::format("it is truncated: a chunk of {} bytes has only {}", size, have));
      const auto chunk = bytes_.substr(at + 8, size);
      if (name == "fmt ") take_format(chunk);
      if (name == "data") return take_data(chunk);
      at += 8 + size + size % 2;
    }
    throw refused("it has no 'data' chunk");
  }

 private:
  core::ConfigError refused(const std::string& why) const {
    return core::ConfigError(core::format("'{}' is not a WAV file of one channel of 16-bit PCM samples: {}", path_, why));
  }

  void take_format(std::string_view chunk) {
    if (chunk.size() < 16) throw refused("its 'fmt ' chunk is too short");
    auto encoding = number_at<std::uint16_t>(chunk, 0);
    if (encoding == extensible && chunk.size() >= 26) encoding = number_at<std::uint16_t>(chunk, 24);
    const auto channels = number_at<std::uint16_t>(chunk, 2), bits = number_at<std::uint16_t>(chunk, 14);
    const auto rate = number_at<std::uint32_t>(chunk, 4);
    if (encoding != pcm) throw refused(core::format("its encoding is {}, not 1 (PCM)", encoding));
    if (channels != 1 || bits != 16) throw refused(core::format("it has {} channels of {} bits", channels, bits));
    if (rate == 0) throw refused("its sample rate is 0");
    wave_.sample_rate = rate;
  }

  Wave take_data(std::string_view chunk) {
    if (wave_.sample_rate == 0) throw refused("its 'data' chunk comes before any 'fmt ' chunk");
    if (chunk.size() % 2 != 0) throw refused("it ends in the middle of a sample");
    wave_.samples.resize(chunk.size() / 2);
    for (std::size_t i = 0; i < wave_.samples.size(); ++i) wave_.samples[i] = number_at<std::int16_t>(chunk, 2 * i);
    return std::move(wave_);
  }

  const std::string& path_;
  std::string_view bytes_;
  Wave wave_;
};

}  // namespace

Wave read_wav(const std::string& path) {
  const auto content = content_of(path);
  return WavReader(path, content).read();
}

}  // namespace paragrad::speech
