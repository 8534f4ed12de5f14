// Every column of data/sample_columns.def that is not an answer, here weights, from the file to a minibatch.
#include <algorithm>
#include <limits>

#include "catch.hpp"
#include "core/json.hpp"
#include "data/describe.hpp"
#include "data/relabel.hpp"
#include "data/row_stream.hpp"
#include "data/sequence_stream.hpp"
#include "data/verify.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::data;

namespace {

constexpr std::size_t rows = 12;

float weight(std::size_t row) { return static_cast<float>(row) / 4; }

/// Sequences of three rows with a label and a value of every column, whose width is 0 or 1.
DatasetInfo weighted_file(const std::string& path, bool weighted = true) {
  DatasetInfo info;
  info.name = "weighted";
  info.dim = 2;
  info.classes = 3;
  info.widths.weights = weighted ? 1 : 0;
  DatasetWriter writer(path, info);
  writer.begin(Subset::train, rows);
  for (std::size_t r = 0; r < rows; ++r) {
    const std::vector<float> features{static_cast<float>(r), 1}, weights{weight(r)};
    const std::vector<std::int32_t> label{static_cast<std::int32_t>(r % 3)};
    writer.append(std::span<const float>(features), label, weighted ? ColumnViews{.weights = weights} : ColumnViews{});
    if (r % 3 == 2) writer.end_sequence();
  }
  return writer.finish();
}

void check(const Batch& batch) {
  REQUIRE(batch.columns.weights.size() == batch.size());
  CHECK(batch.columns.targets.empty());
  for (std::size_t i = 0; i < batch.size(); ++i) CHECK(batch.columns.weights[i] == weight(batch.rows[i]));
}

}  // namespace

TEST_CASE("a data file with a column opens as it was written", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  const auto written = weighted_file(path), plain = weighted_file(folder.file("plain.h5"), false);
  const auto dataset = Dataset::open(path);
  CHECK(dataset->info().widths.weights == 1);
  CHECK(dataset->info().classes == 3);
  CHECK(dataset->info().content_sha256 == written.content_sha256);
  CHECK(dataset->info().bytes_to_read() == 3 * sizeof(float));
  CHECK(written.content_sha256 != plain.content_sha256);
  CHECK(describe(*dataset)["weights"] == 1);
  CHECK_FALSE(describe(*Dataset::open(folder.file("plain.h5"))).contains("weights"));
  REQUIRE(dataset->columns(Subset::train).weights.size() == rows);
  for (std::size_t r = 0; r < rows; ++r) CHECK(dataset->columns(Subset::train).weights[r] == weight(r));
  CHECK(verify(path).empty());
}

TEST_CASE("streams give each row the values of its columns, in any order", "[data]") {
  const TemporaryFolder folder;
  weighted_file(folder.file("x.h5"));
  const auto dataset = Dataset::open(folder.file("x.h5"));
  Prefetcher prefetcher;
  SECTION("rows") {
    RowStream stream(dataset, Subset::train, prefetcher);
    stream.prefetch({5, {7, 2, 11, 0, 7}});
    stream.advance();
    for (Batch batch = stream.next(2); batch.size() > 0; batch = stream.next(2)) check(batch);
  }
  SECTION("sequences") {
    const auto sequences = std::make_shared<const Sequences>(*dataset, Subset::train, parse_chunking("1-1+1"));
    SequenceStream stream(dataset, Subset::train, prefetcher, sequences);
    stream.prefetch({4, {0, 4, 8, 2}});
    stream.advance();
    check(stream.next(4));
  }
}

TEST_CASE("a relabelled file keeps the columns", "[data]") {
  const TemporaryFolder folder;
  weighted_file(folder.file("x.h5"));
  const auto dataset = Dataset::open(folder.file("x.h5"));
  relabel(*dataset, {std::vector<std::int32_t>(rows, 1), {}, {}}, folder.file("y.h5"), "");
  const auto again = Dataset::open(folder.file("y.h5"));
  CHECK(again->label(Subset::train, 0) == 1);
  CHECK(std::ranges::equal(again->columns(Subset::train).weights, dataset->columns(Subset::train).weights));
}

TEST_CASE("what is wrong with a column is said when the file is written, opened, read or verified", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  {
    DatasetInfo info;
    info.dim = 1;
    info.classes = 1;
    info.widths.weights = 1;
    DatasetWriter writer(folder.file("bad.h5"), info);
    writer.begin(Subset::train, 1);
    const std::vector<float> one{1}, bad{GENERATE(-1.f, std::numeric_limits<float>::infinity())};
    const std::vector<std::int32_t> label{0};
    CHECK_THROWS_WITH(
        writer.append(std::span<const float>(one), label, {.weights = bad}),
        contains_text("the weight in row 0 of /train is ") && contains_text("which is not a finite number of at least 0"));
    CHECK_THROWS_AS(writer.append(std::span<const float>(one), label), std::logic_error);
    CHECK_THROWS_AS(writer.append(std::span<const float>(one), label, {.targets = one, .weights = one}), std::logic_error);
  }
  weighted_file(path);
  patch(path, "/train/weights", 5, -0.5f);
  CHECK(verify(path)[0] ==
        "/train/weights: 1 of 12 values are invalid: each must be a finite number of at least 0; the first is in row 5");
  Prefetcher prefetcher;
  RowStream stream(Dataset::open(path), Subset::train, prefetcher);
  stream.prefetch({2, {4, 5}});
  CHECK_THROWS_WITH(stream.advance(),
                    contains_text("the weight in row 5 of train is -0.5, which is not a finite number of at least 0"));

  const auto damaged = [&](const auto& damage, const char* what) {
    weighted_file(path);
    {
      auto file = Hdf5File::revise(path);
      damage(file);
      file.finish();
    }
    CHECK_THROWS_WITH(Dataset::open(path), contains_text(what));
  };
  damaged(
      [](Hdf5File& file) {
        file.set_texts("/", "columns", {"weights", "masks"});
      },
      "has columns that this program does not know: masks");
  damaged([](Hdf5File& file) { file.set_texts("/", "columns", std::vector<std::string>{}); },
          "does not name it among its columns");
  damaged([](Hdf5File& file) { file.set_count("/", "version", 1); }, "does not name it among its columns");
}
