#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "catch.hpp"
#include "core/errors.hpp"
#include "signals.hpp"
#include "speech/deltas.hpp"
#include "speech/fbank.hpp"
#include "speech/mfcc.hpp"
#include "speech/normalise.hpp"
#include "speech/real_fft.hpp"

using namespace paragrad;
using namespace paragrad::speech;

namespace {

/// At most 1e-3 anywhere, and on average 1e-5: torchaudio reckons filterbanks in single precision.
void check_equal(const Features& features, const Features& expected, double on_average = 1e-5) {
  REQUIRE(features.rows == expected.rows);
  REQUIRE(features.columns == expected.columns);
  double largest = 0, sum = 0;
  for (std::size_t i = 0; i < features.values.size(); ++i) {
    const double difference = std::abs(double{features.values[i]} - expected.values[i]);
    largest = std::max(largest, difference);
    sum += difference;
  }
  INFO("largest " << largest << ", mean " << sum / static_cast<double>(features.values.size()));
  CHECK(largest <= 1e-3);
  CHECK(sum / static_cast<double>(features.values.size()) <= on_average);
}

FbankOptions narrow() {
  FbankOptions options;
  options.frame.sample_rate = 8000;
  options.bins = 24;
  return options;
}

}  // namespace

TEST_CASE("the transform of real numbers is the sum that defines it", "[speech]") {
  const std::size_t size = GENERATE(4u, 8u, 32u, 256u);
  const auto floats = noise(static_cast<std::int64_t>(size));
  const std::vector<double> signal(floats.begin(), floats.end());
  std::vector<double> power(size / 2 + 1);
  RealFft(size).power_spectrum(signal, power);
  for (std::size_t k = 0; k <= size / 2; ++k) {
    std::complex<double> sum = 0;
    for (std::size_t t = 0; t < size; ++t)
      sum += signal[t] * std::polar(1., -2 * std::numbers::pi * static_cast<double>(k * t) / static_cast<double>(size));
    CHECK(power[k] == Approx(std::norm(sum)).epsilon(1e-9).margin(1e-6));
  }
  CHECK_THROWS_AS(RealFft(size + 1), std::logic_error);
  CHECK_THROWS_AS(RealFft(2), std::logic_error);
}

TEST_CASE("filterbanks equal those of torchaudio's Kaldi-compatible function", "[speech]") {
  SECTION("16 kHz, 40 filters") { check_equal(Fbank({})(sines(8000)), golden("fbank_sines", 40)); }
  SECTION("frames beyond both ends") {
    FbankOptions options;
    options.frame.snip_edges = false;
    check_equal(Fbank(options)(chirp(8000)), golden("fbank_chirp", 40));
  }
  SECTION("8 kHz, with the energy") {
    auto options = narrow();
    options.frame.snip_edges = false;
    options.add_energy = true;
    check_equal(Fbank(options)(noise(8000)), golden("fbank_noise", 25));
  }
  SECTION("a band, another window and emphasis, mean kept") {
    auto options = narrow();
    options.low_hz = 100;
    options.high_hz = -300;
    options.frame.length_s = 0.02;
    options.frame.window = WindowFunction::hamming;
    options.frame.remove_mean = false;
    options.frame.preemphasis = 0.5;
    check_equal(Fbank(options)(noise(8000)), golden("fbank_band", 24));
  }
}

TEST_CASE("cepstra equal those of torchaudio's Kaldi-compatible function", "[speech]") {
  constexpr double on_average = 1e-4;  // its matrix of the cosine transform is in single precision, and cepstra go to 100
  check_equal(Mfcc({})(chirp(8000)), golden("mfcc_chirp", 13), on_average);
  MfccOptions options;
  options.fbank = narrow();
  options.cepstra = 20;
  options.lifter = 0;
  options.use_energy = false;
  check_equal(Mfcc(options)(noise(8000)), golden("mfcc_noise", 20), on_average);
  options.cepstra = 25;
  CHECK_THROWS_WITH(Mfcc(options), contains_text("25 cepstra cannot be computed from 24 mel filters"));
}

TEST_CASE("the number of frames follows from length and shift, at both ways to treat the ends", "[speech]") {
  FrameOptions options;
  options.sample_rate = GENERATE(8000., 16000., 11025.);
  const FrameCutter inside(options);
  options.snip_edges = false;
  const FrameCutter beyond(options);
  CHECK(inside.length() == static_cast<std::size_t>(options.sample_rate * 0.025 + 1e-9));
  CHECK(inside.padded_length() >= inside.length());
  CHECK(inside.frames(inside.length() - 1) == 0);
  CHECK(inside.frames(inside.length()) == 1);
  CHECK(inside.frames(inside.length() + inside.shift() - 1) == 1);
  CHECK(inside.frames(inside.length() + inside.shift()) == 2);
  CHECK(beyond.frames(0) == 0);
  for (const std::size_t n : {1u, 5u, 100u}) CHECK(beyond.frames(n * inside.shift()) == n);
}

TEST_CASE("a signal shorter than a frame is reflected as often as needed, or has no frames", "[speech]") {
  FbankOptions options;
  CHECK(Fbank(options)(noise(399)).rows == 0);
  options.frame.snip_edges = false;
  const auto features = Fbank(options)(noise(100));
  CHECK(features.rows == 1);
  for (const float x : features.values) CHECK(std::isfinite(x));
  CHECK(Fbank(options)({}).rows == 0);
}

TEST_CASE("silence has the logarithm of the floor everywhere", "[speech]") {
  const auto features = Fbank({})(std::vector<float>(4000, 7.f));
  for (const float x : features.values) CHECK(x == Approx(std::log(std::numeric_limits<float>::epsilon())));
}

TEST_CASE("options that make no frames or no filters are refused", "[speech]") {
  FbankOptions options;
  SECTION("a rate") {
    options.frame.sample_rate = GENERATE(0., -1., std::nan(""), 1e300);
    CHECK_THROWS_AS(Fbank(options), core::ConfigError);
  }
  SECTION("a shift") {
    options.frame.shift_s = GENERATE(0., -1., 1e-9);
    CHECK_THROWS_WITH(Fbank(options), contains_text("frame shift"));
  }
  SECTION("a band") {
    options.high_hz = GENERATE(10., 8001., -8000.);
    CHECK_THROWS_WITH(Fbank(options), contains_text("half the sample rate"));
  }
  SECTION("filters") {
    options.bins = GENERATE(0u, 5000u, 1000u);
    CHECK_THROWS_WITH(Fbank(options), contains_text("mel filter"));
  }
}

TEST_CASE("the delta of a ramp is its slope and the second one zero, away from the ends", "[speech]") {
  Features ramp(30, 2);
  for (std::size_t t = 0; t < 30; ++t) ramp.row(t)[0] = 3 * static_cast<float>(t), ramp.row(t)[1] = 7;
  const auto out = add_deltas(ramp);
  REQUIRE(out.columns == 6);
  for (std::size_t t = 4; t < 26; ++t) {
    CHECK(out.row(t)[0] == ramp.row(t)[0]);
    CHECK(out.row(t)[2] == Approx(3));
    CHECK(out.row(t)[4] == Approx(0).margin(1e-5));
  }
  for (std::size_t t = 0; t < 30; ++t) CHECK(out.row(t)[3] == Approx(0).margin(1e-6));
  CHECK(out.row(0)[2] == Approx(3 * (1 + 2 * 2) / 10.));  // the first frame repeats to its left
  CHECK(add_deltas(Features(0, 2)).rows == 0);
}

TEST_CASE("deltas equal those of torchaudio", "[speech]") {
  const auto mfcc = golden("mfcc_noise", 20);
  const auto out = add_deltas(mfcc, 1), expected = golden("deltas_noise", 20);
  Features deltas(out.rows, 20);
  for (std::size_t t = 0; t < out.rows; ++t) std::copy_n(out.row(t).begin() + 20, 20, deltas.row(t).begin());
  check_equal(deltas, expected);
}

TEST_CASE("second deltas are the filter of the regression applied to itself", "[speech]") {
  Features impulse(21, 1);
  impulse.values[10] = 100;
  const auto out = add_deltas(impulse);
  const float expected[] = {4, 4, 1, -4, -10, -4, 1, 4, 4};  // (-2 -1 0 1 2)/10 convolved with itself, times 100
  for (std::size_t t = 6; t <= 14; ++t) CHECK(out.row(t)[2] == Approx(expected[t - 6]).margin(1e-5));
}

TEST_CASE("features far from 0 are normalised like those near it", "[speech]") {
  Matrix<double> near(50, 3), far(50, 3);
  const double offsets[] = {5.4e6, 1.7e9, -16777217};
  for (std::size_t t = 0; t < near.rows; ++t)
    for (std::size_t d = 0; d < 3; ++d) {
      near.row(t)[d] = static_cast<double>((7 * t + 3 * d) % 11) / 16;  // exact, also with the offset
      far.row(t)[d] = near.row(t)[d] + offsets[d];
    }
  for (Matrix<double>* features : {&near, &far}) {
    FeatureStatistics statistics(3);
    statistics.add(*features);
    statistics.normalise(*features);
  }
  for (std::size_t i = 0; i < near.values.size(); ++i) CHECK(far.values[i] == Approx(near.values[i]).margin(2e-6));
}

TEST_CASE("normalised features have mean 0 and variance 1; one that never changes becomes 0", "[speech]") {
  auto features = Fbank({})(noise(8000));
  for (std::size_t t = 0; t < features.rows; ++t) features.row(t)[5] = 12345.678f;
  auto other = features;
  FeatureStatistics statistics(40), kaldi(40);
  statistics.add(features);
  Matrix<double> sums(2, 41);
  sums.row(0)[40] = static_cast<double>(features.rows);
  for (std::size_t t = 0; t < features.rows; ++t)
    for (std::size_t d = 0; d < 40; ++d) {
      sums.row(0)[d] += features.row(t)[d];
      sums.row(1)[d] += double{features.row(t)[d]} * features.row(t)[d];
    }
  kaldi.load(sums);
  statistics.normalise(features);
  kaldi.normalise(other);
  CHECK(features.values == other.values);
  for (std::size_t d = 0; d < 40; ++d) {
    double sum = 0, squares = 0;
    for (std::size_t t = 0; t < features.rows; ++t) {
      sum += features.row(t)[d];
      squares += double{features.row(t)[d]} * features.row(t)[d];
    }
    CHECK(sum == Approx(0).margin(1e-2));
    CHECK(squares / static_cast<double>(features.rows) == Approx(d == 5 ? 0 : 1).margin(1e-4));
  }
  CHECK_THROWS_AS(FeatureStatistics(40).normalise(features), std::logic_error);
  CHECK_THROWS_WITH(kaldi.load(Matrix<double>(2, 40)), contains_text("2x41, not 2x40"));
  CHECK_THROWS_WITH(kaldi.load(Matrix<double>(2, 41)), contains_text("no frames"));
}
