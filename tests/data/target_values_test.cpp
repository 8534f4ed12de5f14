// Data files whose samples have real-valued targets instead of labels.
#include <limits>

#include "catch.hpp"
#include "core/errors.hpp"
#include "core/json.hpp"
#include "data/describe.hpp"
#include "data/row_stream.hpp"
#include "data/sequence_stream.hpp"
#include "data/verify.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::data;

namespace {

float target(std::size_t row, std::size_t k) { return static_cast<float>(row) / 4 - static_cast<float>(k); }

/// Sequences of three rows, with two features and `targets` targets each.
DatasetInfo targets_file(const std::string& path, std::size_t rows = 12, std::size_t targets = 2) {
  DatasetInfo info;
  info.name = "targets";
  info.dim = 2;
  info.widths.targets = targets;
  DatasetWriter writer(path, info);
  writer.begin(Subset::train, rows);
  for (std::size_t r = 0; r < rows; ++r) {
    const std::vector<float> features{static_cast<float>(r), 1};
    std::vector<float> values;
    for (std::size_t k = 0; k < targets; ++k) values.push_back(target(r, k));
    writer.append(std::span<const float>(features), {}, {.targets = values});
    if (r % 3 == 2) writer.end_sequence();
  }
  return writer.finish();
}

}  // namespace

TEST_CASE("a data file with targets opens as it was written", "[data]") {
  const TemporaryFolder folder;
  const auto written = targets_file(folder.file("x.h5"));
  const auto dataset = Dataset::open(folder.file("x.h5"));
  CHECK(dataset->info().widths.targets == 2);
  CHECK(dataset->info().classes == 0);
  CHECK(dataset->info().content_sha256 == written.content_sha256);
  CHECK(describe(*dataset)["targets"] == 2);
  CHECK(!describe(*dataset).contains("classes"));
  for (std::size_t r = 0; r < 12; ++r)
    for (std::size_t k = 0; k < 2; ++k) CHECK(dataset->columns(Subset::train).targets[2 * r + k] == target(r, k));
  CHECK(dataset->columns(Subset::train).targets.size() == 2 * 12);
  CHECK_THROWS_AS(dataset->label(Subset::train, 0), std::out_of_range);
  CHECK(verify(folder.file("x.h5")).empty());

  samples_file(folder.file("labels.h5"));
  CHECK(Dataset::open(folder.file("labels.h5"))->columns(Subset::train).targets.empty());
}

TEST_CASE("targets are part of a data set's identity", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  targets_file(path);
  patch(path, "/train/targets", 2 * 5 + 1, 17.f);
  const auto changed = verify(path);
  REQUIRE(changed.size() == 1);
  CHECK_THAT(changed[0], contains_text("content_sha256 is "));
  patch(path, "/train/targets", 2 * 5 + 1, std::numeric_limits<float>::quiet_NaN());
  const auto damaged = verify(path);
  REQUIRE(damaged.size() == 2);
  CHECK(damaged[0] == "/train/targets: 1 of 24 values are invalid: each must be a finite number; the first is in row 5");

  Prefetcher prefetcher;
  RowStream stream(Dataset::open(path), Subset::train, prefetcher);
  stream.prefetch({3, {4, 5, 6}});
  CHECK_THROWS_WITH(stream.advance(), contains_text("target 1 in row 5 of train is nan, which is not a finite number"));
}

TEST_CASE("features that are not finite are refused when they are read, with their row", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  targets_file(path);
  Prefetcher prefetcher;
  for (const auto& [value, word] : {std::pair{std::numeric_limits<float>::quiet_NaN(), "nan"},
                                    {-std::numeric_limits<float>::quiet_NaN(), "nan"},
                                    {std::numeric_limits<float>::infinity(), "inf"},
                                    {-std::numeric_limits<float>::infinity(), "-inf"}}) {
    patch(path, "/train/features", 2 * 5 + 1, value);
    const std::string refusal = core::format("feature 1 in row 5 of train is {}, which is not a finite number", word);
    RowStream stream(Dataset::open(path), Subset::train, prefetcher);
    stream.prefetch({3, {7, 6, 5}});
    CHECK_THROWS_WITH(stream.advance(), contains_text(refusal));
    stream.prefetch({3, {4, 6, 11}});
    CHECK_NOTHROW(stream.advance());
    RowStream windows(Dataset::open(path, Context{1, 0}), Subset::train, prefetcher);  // rows 3 to 5 are a sequence
    windows.prefetch({2, {3, 4}});
    CHECK_NOTHROW(windows.advance());
    windows.prefetch({2, {0, 5}});
    CHECK_THROWS_WITH(windows.advance(), contains_text(refusal));
  }
}

TEST_CASE("streams give each row its targets, in any order", "[data]") {
  const TemporaryFolder folder;
  targets_file(folder.file("x.h5"));
  const auto dataset = Dataset::open(folder.file("x.h5"));
  Prefetcher prefetcher;
  const auto check = [](const Batch& batch) {
    REQUIRE(batch.columns.targets.size() == 2 * batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i)
      for (std::size_t k = 0; k < 2; ++k) CHECK(batch.columns.targets[2 * i + k] == target(batch.rows[i], k));
  };
  SECTION("rows") {
    RowStream stream(dataset, Subset::train, prefetcher);
    stream.prefetch({5, {7, 2, 11, 0, 7}});
    stream.advance();
    for (Batch batch = stream.next(2); batch.size() > 0; batch = stream.next(2)) {
      check(batch);
      CHECK(batch.labels[0] == 0);
    }
  }
  SECTION("sequences, cut into chunks whose context has no loss") {
    const auto sequences = std::make_shared<const Sequences>(*dataset, Subset::train, parse_chunking("1-1+1"));
    SequenceStream stream(dataset, Subset::train, prefetcher, sequences);
    stream.prefetch({4, {0, 4, 8, 2}});
    stream.advance();
    const Batch batch = stream.next(4);
    CHECK(batch.size() == 9);
    CHECK(std::ranges::count(batch.labels, 0) == 4);
    check(batch);
  }
}

TEST_CASE("what is wrong with targets is said when the file is written or opened", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  DatasetInfo info;
  info.dim = 1;
  info.widths.targets = 1;
  {
    DatasetWriter writer(path, info);
    writer.begin(Subset::train, 1);
    const std::vector<float> one{1}, infinite{std::numeric_limits<float>::infinity()};
    const std::vector<std::int32_t> label{0};
    CHECK_THROWS_WITH(writer.append(std::span<const float>(one), {}, {.targets = infinite}),
                      contains_text("target 0 in row 0 of /train is inf, which is not a finite number"));
    CHECK_THROWS_AS(writer.append(std::span<const float>(one), std::span<const std::int32_t>(label)), std::logic_error);
  }
  info.classes = 2;
  CHECK_THROWS_AS(DatasetWriter(path, info), std::logic_error);

  const auto damaged = [&](const auto& damage, const char* what) {
    targets_file(path);
    {
      auto file = Hdf5File::revise(path);
      damage(file);
      file.finish();
    }
    CHECK_THROWS_WITH(Dataset::open(path), contains_text(what));
  };
  damaged([](Hdf5File& file) { file.set_count("/", "targets", 0); }, "no targets");
  damaged([](Hdf5File& file) { file.set_count("/", "targets", 3); }, "/train/targets has the shape 12x2, not 12x3");
  damaged([](Hdf5File& file) { file.set_count("/", "version", 1); }, "classes");
  damaged([](Hdf5File& file) { file.set_count("/", "version", 3); }, "does not name its columns");
}
