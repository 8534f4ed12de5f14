#include "data/generate.hpp"

#include <algorithm>
#include <cmath>

#include "catch.hpp"
#include "core/errors.hpp"
#include "data/verify.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::data;

namespace {

GenerateOptions small(const std::string& out) {
  GenerateOptions options;
  options.out = out;
  options.samples = 6000;
  options.valid = 700;
  options.test = 1000;
  options.dim = 12;
  options.classes = 10;  // the last chain has a single state
  options.mixtures = 3;
  options.sequence_length = 100;
  return options;
}

std::vector<float> features_of(const Dataset& dataset, Subset subset, std::size_t row) {
  std::vector<float> features(dataset.info().dim);
  dataset.decode(dataset.row(subset, row), features);
  return features;
}

/// Share of test frames whose class has the nearest mean, the means being those of the training frames.
double nearest_mean_accuracy(const Dataset& dataset) {
  const auto& info = dataset.info();
  std::vector<std::vector<double>> means(info.classes, std::vector<double>(info.dim, 0));
  std::vector<double> counts(info.classes, 0);
  for (std::size_t r = 0; r < info.samples[0]; ++r) {
    const auto label = static_cast<std::size_t>(dataset.label(Subset::train, r));
    const auto x = features_of(dataset, Subset::train, r);
    for (std::size_t d = 0; d < info.dim; ++d) means[label][d] += x[d];
    ++counts[label];
  }
  std::size_t right = 0;
  for (std::size_t r = 0; r < info.samples[2]; ++r) {
    const auto x = features_of(dataset, Subset::test, r);
    std::vector<double> distances(info.classes, 0);
    for (std::size_t c = 0; c < info.classes; ++c)
      for (std::size_t d = 0; d < info.dim; ++d) distances[c] += std::pow(x[d] - means[c][d] / counts[c], 2);
    right += std::min_element(distances.begin(), distances.end()) - distances.begin() == dataset.label(Subset::test, r);
  }
  return static_cast<double>(right) / static_cast<double>(info.samples[2]);
}

}  // namespace

TEST_CASE("the same options generate the same bytes, another seed others", "[data]") {
  const TemporaryFolder folder;
  const auto a = generate(small(folder.file("a.h5")));
  const auto b = generate(small(folder.file("b.h5")));
  const bool same = read_text(folder.file("a.h5")) == read_text(folder.file("b.h5"));
  CHECK(same);
  CHECK(a.content_sha256 == b.content_sha256);
  // The same on every machine: whole-number arithmetic and single IEEE operations.
  CHECK(a.content_sha256 == "c978445b8ce71a63099749d5387aa3da78fd6608475b73b97dd8fc5d3f0f8f89");
  auto options = small(folder.file("b.h5"));
  options.seed = 2;
  CHECK(generate(options).content_sha256 != a.content_sha256);
  CHECK(verify(folder.file("a.h5")).empty());
}

TEST_CASE("generated data can be learned, and harder with less separation", "[data]") {
  const TemporaryFolder folder;
  auto options = small(folder.file("x.h5"));
  generate(options);
  const double easy = nearest_mean_accuracy(*Dataset::open(options.out));
  options.separation = 2;
  generate(options);
  const double hard = nearest_mean_accuracy(*Dataset::open(options.out));
  options.separation = 0;
  generate(options);
  const double hopeless = nearest_mean_accuracy(*Dataset::open(options.out));
  CAPTURE(easy, hard, hopeless);
  CHECK(easy > 0.5);
  CHECK(hard > 0.25);
  CHECK(hard < easy - 0.1);
  CHECK(hopeless < 0.2);
}

TEST_CASE("a longer training set begins like a shorter one, and the other subsets are the same", "[data]") {
  const TemporaryFolder folder;
  auto options = small(folder.file("short.h5"));
  generate(options);
  options.out = folder.file("long.h5");
  options.samples = 9000;
  generate(options);
  const auto a = Dataset::open(folder.file("short.h5")), b = Dataset::open(folder.file("long.h5"));
  bool same = true;
  for (std::size_t r = 0; r < 6000; ++r)
    same = same && a->label(Subset::train, r) == b->label(Subset::train, r) &&
           features_of(*a, Subset::train, r) == features_of(*b, Subset::train, r);
  for (std::size_t r = 0; r < 1000; ++r) same = same && features_of(*a, Subset::test, r) == features_of(*b, Subset::test, r);
  CHECK(same);
}

TEST_CASE("states last, every class occurs, sequences have the lengths asked for", "[data]") {
  const TemporaryFolder folder;
  auto options = small(folder.file("x.h5"));
  options.samples = 30000;
  options.mean_duration = 8;
  const auto info = generate(options);
  const auto dataset = Dataset::open(options.out);
  CHECK(info.samples == std::array<std::size_t, 3>{30000, 700, 1000});
  CHECK(info.sequences[0] == Approx(300).margin(20));

  const auto offsets = dataset->offsets(Subset::train);
  std::vector<int> frames(10, 0);
  std::size_t segments = 0;
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    const auto length = offsets[s + 1] - offsets[s];
    CHECK((length <= 150 && (length >= 50 || s + 2 == offsets.size())));
    for (auto r = offsets[s]; r < offsets[s + 1]; ++r) {
      const auto at = static_cast<std::size_t>(r);
      ++frames[static_cast<std::size_t>(dataset->label(Subset::train, at))];
      segments += r == offsets[s] || dataset->label(Subset::train, at) != dataset->label(Subset::train, at - 1);
    }
  }
  for (const int n : frames) CHECK(n > 300);
  CHECK(30000.0 / static_cast<double>(segments) == Approx(8).margin(1.2));  // ends of sequences cut segments short
}

TEST_CASE("within a state, features have the variance of noise and of its mixture", "[data]") {
  const TemporaryFolder folder;
  auto options = small(folder.file("x.h5"));
  options.separation = 0;
  generate(options);
  const auto dataset = Dataset::open(options.out);
  double sum = 0, squares = 0;
  for (std::size_t r = 0; r < 6000; ++r)
    for (const float x : features_of(*dataset, Subset::train, r)) sum += x, squares += x * x;
  CHECK(std::abs(sum / 72000) < 4 / std::sqrt(72000.0));
  CHECK(squares / 72000 == Approx(1).margin(0.02));
}

TEST_CASE("options that make no task are refused in one sentence", "[data]") {
  const TemporaryFolder folder;
  const auto with = [&](auto change) {
    auto options = small(folder.file("x.h5"));
    change(options);
    generate(options);
  };
  CHECK_THROWS_WITH(with([](auto& o) { o.samples = 0; }), contains_text("samples = 0"));
  CHECK_THROWS_WITH(with([](auto& o) { o.dim = 0; }), contains_text("dim = 0"));
  CHECK_THROWS_WITH(with([](auto& o) { o.classes = 1; }), contains_text("classes = 1"));
  CHECK_THROWS_WITH(with([](auto& o) { o.mixtures = 0; }), contains_text("mixtures = 0"));
  CHECK_THROWS_WITH(with([](auto& o) { o.sequence_length = 0; }), contains_text("sequence length = 0"));
  CHECK_THROWS_WITH(with([](auto& o) { o.mean_duration = NAN; }), contains_text("mean duration = nan"));
  CHECK_THROWS_WITH(with([](auto& o) { o.separation = -1; }), contains_text("separation = -1"));
  CHECK(folder.entries() == 0);
  CHECK_NOTHROW(with([](auto& o) { o.samples = 1, o.valid = 0, o.test = 0, o.sequence_length = 1; }));
}
