#include "speech/wav.hpp"

#include <cstdint>
#include <string_view>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/memory.hpp"
#include "speech/number_at.hpp"
#include "system/file_map.hpp"

namespace paragrad::speech {
namespace {

constexpr std::uint16_t pcm = 1, extensible = 0xfffe;

class WavReader {
 public:
  WavReader(const std::string& path, std::string_view bytes) : path_(path), bytes_(bytes) {}

  Wave read() {
    if (bytes_.size() < 12 || bytes_.substr(0, 4) != "RIFF" || bytes_.substr(8, 4) != "WAVE")
      throw refused("it does not start with a RIFF/WAVE header");
    for (std::size_t at = 12; at + 8 <= bytes_.size();) {
      const auto name = bytes_.substr(at, 4);
      const std::size_t have = bytes_.size() - at - 8;
      std::size_t size = number_at<std::uint32_t>(bytes_, at + 4);
      if (name == "data" && is_unknown(size, at + 8)) size = have / 2 * 2;
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

  /// Whether the file was written to a pipe, or its recorder did not end: nobody then returned to write this size. They
  /// leave the largest one (ffmpeg, sox, arecord), perhaps less the header, or 0. begin: of the data.
  bool is_unknown(std::size_t size, std::size_t begin) const {
    constexpr std::size_t largest = 0x7fff0000;
    const std::size_t whole = number_at<std::uint32_t>(bytes_, 4);  // of the file, less 8 bytes
    return size > bytes_.size() - begin ? size >= largest : size == 0 && (whole + 8 <= begin || whole >= largest);
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
    core::require_memory(2.0 * static_cast<double>(chunk.size()), core::format("the recording '{}'", path_));
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
  const system::FileMap content = system::FileMap::open(path);
  return WavReader(path, {reinterpret_cast<const char*>(content.bytes().data()), content.bytes().size()}).read();
}

}  // namespace paragrad::speech
