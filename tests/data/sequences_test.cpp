#include "data/sequences.hpp"

#include <numeric>

#include "catch.hpp"
#include "core/errors.hpp"
#include "core/range.hpp"
#include "data/generate.hpp"
#include "data/sequence_stream.hpp"
#include "data/writer.hpp"
#include "decoded.hpp"
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
  CHECK((csc.overlap == 0 && parse_chunking("whole").overlap == 0));
  const Chunking decoding = parse_chunking("21-64+21/32"), bare = parse_chunking("5/4");
  CHECK((decoding.before == 21 && decoding.frames == 64 && decoding.after == 21 && decoding.overlap == 32));
  CHECK((bare.before == 0 && bare.frames == 5 && bare.after == 0 && bare.overlap == 4));
  const std::string wrong = GENERATE("", "-", "0", "21-0+21", "21-64+", "a-64+b", "-1-64+2", "64+2-1", "64/64", "64/65",
                                     "64/", "/3", "64/3-2", "64/3+2", "1-64/3+2", "64/3/2", "whole/3", "64/-1");
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

TEST_CASE("chunks that overlap score every frame once, where it is furthest from a chunk's ends", "[data]") {
  const Task task;
  const std::size_t frames = GENERATE(1u, 4u, 7u, 64u), before = GENERATE(0u, 3u);
  const std::size_t overlap = std::min(frames - 1, std::size_t{GENERATE(0u, 1u, 3u, 4u, 6u, 32u)});
  const Chunking chunking{frames, before, 2, overlap};
  CAPTURE(frames, before, overlap);
  const Sequences sequences(*task.dataset, Subset::train, chunking);
  const auto offsets = task.dataset->offsets(Subset::train);
  std::vector<int> scored(task.dataset->info().samples[0]);
  std::size_t chunk = 0;
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    const auto first = static_cast<std::size_t>(offsets[s]), end = static_cast<std::size_t>(offsets[s + 1]);
    std::vector<core::Range> bodies;  // without context
    for (std::size_t at = first; bodies.empty() || bodies.back().end < end; at += frames - overlap)
      bodies.push_back({at, std::min(end, at + frames)});
    const auto depth = [&](core::Range body, std::size_t row) {  // the ends of the sequence are no ends of a chunk
      if (row < body.begin || row >= body.end) return -1.;
      const double front = body.begin == first ? 1e9 : static_cast<double>(row - body.begin);
      return std::min(front, body.end == end ? 1e9 : static_cast<double>(body.end - 1 - row));
    };
    for (const core::Range body : bodies) {
      const Sequence& one = sequences.at(chunk++);
      CHECK(one.begin == body.begin - std::min(before, body.begin - first));
      CHECK(one.end == std::min(body.end + 2, end));
      for (std::size_t row = one.scored_begin; row < one.scored_end; ++row) {
        ++scored[row];
        for (const core::Range other : bodies) CHECK(depth(body, row) >= depth(other, row));
      }
    }
  }
  CHECK(chunk == sequences.count());
  CHECK(scored == std::vector<int>(scored.size(), 1));
}

TEST_CASE("a packed minibatch holds each frame of its sequences once, step by step", "[data]") {
  const Task task;
  const Sequences sequences(*task.dataset, Subset::train, parse_chunking(GENERATE("whole", "3-7+2")));
  auto loaded = std::make_shared<const Sequences>(sequences);
  Prefetcher prefetcher;
  SequenceStream stream(task.dataset, Subset::train, prefetcher, loaded);
  std::vector<std::uint32_t> wanted{4, 0, 7, 2, 9};
  stream.prefetch(list(wanted));
  stream.advance();
  std::size_t units = 0;
  std::vector<int> seen(task.dataset->info().samples[0]), labelled = seen, expected = seen, expected_labels = seen;
  for (const std::uint32_t index : wanted) {
    for (std::uint32_t row = sequences.at(index).begin; row < sequences.at(index).end; ++row) ++expected[row];
    for (std::uint32_t row = sequences.at(index).scored_begin; row < sequences.at(index).scored_end; ++row)
      ++expected_labels[row];
  }
  for (Batch batch = stream.next(3); batch.size() > 0; batch = stream.next(3)) {
    const std::vector<float> all = decoded(*task.dataset, batch);
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
        CHECK(std::equal(features.begin(), features.end(), all.begin() + static_cast<std::ptrdiff_t>(5 * place)));
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

TEST_CASE("imagined chunks are those within a long sequence", "[data]") {
  const Sequences imagined(60, parse_chunking("2-10+3/4"));
  CHECK(imagined.count() == 10);
  CHECK(imagined.longest() == 15);
  for (std::size_t i = 0; i < imagined.count(); ++i) {
    CHECK(imagined.at(i).frames() == 15);
    CHECK(imagined.at(i).scored() == 6);
  }
  CHECK(imagined.scored(10) == 60);
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
