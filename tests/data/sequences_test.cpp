#include "data/sequences.hpp"

#include <numeric>

#include "catch.hpp"
#include "core/errors.hpp"
#include "data/generate.hpp"
#include "data/sequence_loader.hpp"
#include "data/writer.hpp"
#include "temporary_folder.hpp"

using namespace paragrad;
using namespace paragrad::data;

namespace {

/// A generated task of sequences.
struct Task {
  test::TemporaryFolder folder;
  std::shared_ptr<const Dataset> dataset;

  Task() {
    GenerateOptions options;
    options.out = folder.file("task.h5");
    options.samples = 413;
    options.valid = 61;
    options.test = 60;
    options.dim = 5;
    options.classes = 6;
    options.sequence_length = 20;
    generate(options);
    dataset = Dataset::open(options.out);
  }
};

}  // namespace

TEST_CASE("chunkings are read, and what is none is refused", "[data]") {
  const Chunking csc = parse_chunking("21-64+21"), plain = parse_chunking("64"), ahead = parse_chunking("30+5");
  CHECK((csc.before == 21 && csc.frames == 64 && csc.after == 21));
  CHECK((plain.before == 0 && plain.frames == 64 && plain.after == 0));
  CHECK((ahead.before == 0 && ahead.frames == 30 && ahead.after == 5));
  CHECK(parse_chunking("whole").frames == 0);
  const std::string wrong = GENERATE("", "-", "0", "21-0+21", "21-64+", "a-64+b", "-1-64+2", "64+2-1");
  CAPTURE(wrong);
  CHECK_THROWS_AS(parse_chunking(wrong), core::ConfigError);
}

TEST_CASE("chunks score every frame once, and their context is what the sequence has", "[data]") {
  const Task task;
  const std::string text = GENERATE("whole", "7", "3-7+2", "50-64+50", "1-1+1");
  const Chunking chunking = parse_chunking(text);
  const Sequences sequences(*task.dataset, Subset::train, chunking);
  const auto offsets = task.dataset->offsets(Subset::train);
  std::vector<int> scored(task.dataset->info().samples[0]);
  for (std::size_t i = 0; i < sequences.count(); ++i) {
    const Sequence& one = sequences.at(i);
    for (std::uint32_t row = one.scored_begin; row < one.scored_end; ++row) ++scored[row];
    const auto end = *std::upper_bound(offsets.begin(), offsets.end(), static_cast<std::int64_t>(one.scored_begin));
    const auto begin =
        *std::prev(std::upper_bound(offsets.begin(), offsets.end(), static_cast<std::int64_t>(one.scored_begin)));
    const std::int64_t before = one.scored_begin - begin, after = end - one.scored_end;
    CHECK(one.scored_begin - one.begin == std::min<std::int64_t>(before, static_cast<std::int64_t>(chunking.before)));
    CHECK(one.end - one.scored_end == std::min<std::int64_t>(after, static_cast<std::int64_t>(chunking.after)));
    CHECK(sequences.scored(i + 1) - sequences.scored(i) == one.scored());
    CHECK(one.frames() <= sequences.longest());
  }
  CHECK(scored == std::vector<int>(scored.size(), 1));
}

TEST_CASE("a packed minibatch holds each frame of its sequences once, step by step", "[data]") {
  const Task task;
  const Sequences sequences(*task.dataset, Subset::train, parse_chunking(GENERATE("whole", "3-7+2")));
  auto loaded = std::make_shared<const Sequences>(sequences);
  Prefetcher prefetcher;
  SequenceLoader loader(task.dataset, Subset::train, prefetcher, loaded);
  std::vector<std::uint32_t> wanted{4, 0, 7, 2, 9};
  loader.prefetch(wanted);
  loader.advance();
  std::size_t units = 0;
  std::vector<int> seen(task.dataset->info().samples[0]), labelled = seen, expected = seen, expected_labels = seen;
  for (const std::uint32_t index : wanted) {
    for (std::uint32_t row = sequences.at(index).begin; row < sequences.at(index).end; ++row) ++expected[row];
    for (std::uint32_t row = sequences.at(index).scored_begin; row < sequences.at(index).scored_end; ++row)
      ++expected_labels[row];
  }
  for (Batch batch = loader.next(3); batch.size() > 0; batch = loader.next(3)) {
    units += batch.units();
    CHECK(std::is_sorted(batch.active.rbegin(), batch.active.rend()));
    CHECK(std::accumulate(batch.active.begin(), batch.active.end(), std::size_t{0}) == batch.size());
    std::size_t scored = 0, place = 0;
    for (std::size_t t = 0; t < batch.active.size(); ++t)
      for (std::size_t s = 0; s < batch.active[t]; ++s, ++place) {
        const std::uint32_t row = batch.rows[place];
        ++seen[row];
        if (t > 0) CHECK(row == batch.rows[place - batch.active[t - 1]] + 1);  // the same sequence's frame before
        std::vector<float> features(5);
        task.dataset->decode(task.dataset->row(Subset::train, row), features);
        CHECK(std::equal(features.begin(), features.end(), batch.features.begin() + static_cast<std::ptrdiff_t>(5 * place)));
        if (batch.labels[place] == no_label) continue;
        CHECK(batch.labels[place] == task.dataset->label(Subset::train, row));
        ++labelled[row];
        ++scored;
      }
    CHECK(scored == batch.scored());
  }
  CHECK(units == wanted.size());
  CHECK(seen == expected);
  CHECK(labelled == expected_labels);
}

TEST_CASE("samples that stand alone cannot be cut into sequences", "[data]") {
  const test::TemporaryFolder folder;
  DatasetInfo info;
  info.dim = 2;
  info.classes = 2;
  DatasetWriter writer(folder.file("rows.h5"), info);
  writer.begin(Subset::train, 1);
  writer.append(std::vector<float>{1, 2}, std::vector<std::int32_t>{0});
  writer.finish();
  const auto dataset = Dataset::open(folder.file("rows.h5"));
  CHECK_THROWS_AS(Sequences(*dataset, Subset::train, {}), core::ConfigError);
}
