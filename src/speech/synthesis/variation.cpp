#include "speech/synthesis/variation.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/format.hpp"
#include "speech/synthesis/resample.hpp"

namespace paragrad::speech {
namespace {

std::vector<std::size_t> warps_that_are(bool held_out) {
  std::vector<std::size_t> some;
  for (std::size_t warp = 0; warp < warps; ++warp)
    if (is_held_out(warp) == held_out) some.push_back(warp);
  return some;
}

double factor_of(double db) { return std::pow(10, db / 20); }

double power_of(std::span<const float> signal) {
  double sum = 0;
  for (const float x : signal) sum += static_cast<double>(x) * static_cast<double>(x);
  return signal.empty() ? 0 : sum / static_cast<double>(signal.size());
}

void pass_channel(std::span<float> signal, double pole) {
  double y = 0;
  for (float& x : signal) x = static_cast<float>(y = (1 - std::abs(pole)) * static_cast<double>(x) + pole * y);
}

/// Noise of the given power, whose spectrum falls off according to the pole.
void add_noise(std::span<float> signal, double power, double pole, const core::RandomStream& noise, std::uint64_t index) {
  const double drive = std::sqrt(power * (1 - pole * pole));
  double y = 0;
  for (std::size_t t = 0; t < signal.size(); ++t) {
    y = pole * y + drive * static_cast<double>(noise.near_normal((index << 32) + t));
    signal[t] += static_cast<float>(y);
  }
}

}  // namespace

Variation draw_variation(const core::RandomStream& draws, std::uint64_t index, std::size_t voices, bool held_out) {
  std::uint64_t next = index * 16;
  const auto between = [&](double least, double most) { return least + (most - least) * draws.uniform(next++); };
  const auto some = warps_that_are(held_out);
  Variation variation;
  variation.voice = draws.below(voices, next++);
  variation.warp = some[draws.below(some.size(), next++)];
  variation.manner = {between(0.8, 1.2), between(0.85, 1.2)};
  variation.channel = between(-0.5, 0.5);
  variation.colour = between(0, 0.95);
  variation.noise_db = between(5, 30);
  variation.gain_db = between(-20, 0);
  variation.id = draws.words(next)[0];
  return variation;
}

std::string speaker_name(const std::string& voice, const Variation& variation) {
  return core::format("{}-{:.2f}", voice, warp_factor(variation.warp));
}

std::vector<float> vary(std::span<const float> spoken, const Variation& variation, const core::RandomStream& noise,
                        std::uint64_t index) {
  auto sound = resample(spoken, warp_factor(variation.warp));
  pass_channel(sound, variation.channel);
  const double ratio = factor_of(-variation.noise_db);
  add_noise(sound, power_of(sound) * ratio * ratio, variation.colour, noise, index);
  const auto gain = static_cast<float>(factor_of(variation.gain_db));
  for (float& x : sound) x = std::clamp(std::nearbyint(gain * x), -32768.f, 32767.f);
  return sound;
}

}  // namespace paragrad::speech
