#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "speech/matrix.hpp"
#include "temporary_folder.hpp"

namespace paragrad::speech {

/// Division that rounds down, as Python's does.
inline std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// The signals of goldens/make.py, which describes them.
inline std::int64_t wave(std::int64_t phase) {
  const std::int64_t x = phase % 65536 - 32768;
  return floor_div(x * (32768 - (x < 0 ? -x : x)), 32768);
}

inline std::vector<std::int64_t> whole_noise(std::int64_t samples) {
  std::vector<std::int64_t> out;
  std::uint32_t state = 12345;
  for (std::int64_t t = 0; t < samples; ++t) {
    state = 1664525 * state + 1013904223;
    out.push_back((static_cast<std::int64_t>(state >> 19) - 4096) * (t / 1000 % 2 == 1 ? 4 : 1));
  }
  return out;
}

inline std::vector<float> noise(std::int64_t samples) {
  const auto whole = whole_noise(samples);
  return {whole.begin(), whole.end()};
}

inline std::vector<float> sines(std::int64_t samples) {
  std::vector<float> out;
  std::int64_t t = 0;
  for (const auto n : whole_noise(samples)) {
    const auto tones = wave(200 * t) + floor_div(wave(1237 * t + 5000), 4) + floor_div(wave(3011 * t + 300), 8);
    out.push_back(static_cast<float>(tones + floor_div(n, 8)));
    ++t;
  }
  return out;
}

inline std::vector<float> chirp(std::int64_t samples) {
  std::vector<float> out;
  std::int64_t t = 0;
  for (const auto n : whole_noise(samples)) {
    out.push_back(static_cast<float>(wave(100 * t + 3 * (t * (t + 1) / 2)) + 500 + floor_div(n, 8)));
    ++t;
  }
  return out;
}

/// A new file in place of the old: to rewrite thousands of times in place makes some file systems wait for the disk.
inline void replace_text(const std::string& path, std::string_view text) {
  std::filesystem::remove(path);
  test::write_text(path, text);
}

inline std::string golden_path(const std::string& name) { return std::string(PARAGRAD_GOLDENS) + "/" + name; }

/// goldens/<name>.f32 as a matrix of `columns`.
inline Features golden(const std::string& name, std::size_t columns) {
  const auto bytes = test::read_text(golden_path(name + ".f32"));
  Features features(bytes.size() / sizeof(float) / columns, columns);
  std::memcpy(features.values.data(), bytes.data(), features.values.size() * sizeof(float));
  return features;
}

}  // namespace paragrad::speech
