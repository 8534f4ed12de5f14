#include <algorithm>
#include <numeric>

#include "catch.hpp"
#include "core/errors.hpp"
#include "core/json.hpp"
#include "core/philox.hpp"
#include "data/describe.hpp"
#include "data/partition.hpp"
#include "data/row_stream.hpp"
#include "data/verify.hpp"
#include "decoded.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::data;

namespace {

constexpr std::size_t frame_dim = 2;
const std::vector<std::size_t> lengths{7, 1, 30, 2, 13};
const std::string_view utterance_names[] = {"u0", "u1", "u2", "u3", "u4"};
constexpr std::size_t frames = 53;

float value(std::size_t row, std::size_t d) { return static_cast<float>(10 * row + d) / 8; }

DatasetInfo utterances_info(Context context) {
  DatasetInfo info;
  info.name = "utterances";
  info.dim = frame_dim * context.frames();
  info.classes = 3;
  info.context = context;
  info.encoding.scale = 2;
  return info;
}

/// Utterances u0 … of `lengths` frames, spoken by two in turn.
DatasetInfo write_utterances(const std::string& path, DatasetInfo info, bool names = true) {
  DatasetWriter writer(path, std::move(info));
  writer.begin(Subset::train, frames);
  std::size_t row = 0;
  for (std::size_t u = 0; u < lengths.size(); ++u) {
    for (std::size_t t = 0; t < lengths[u]; ++t, ++row) {
      const std::vector<float> features{value(row, 0), value(row, 1)};
      const std::vector<std::int32_t> labels{static_cast<std::int32_t>(row % 3)};
      writer.append(std::span<const float>(features), std::span<const std::int32_t>(labels));
    }
    if (names)
      writer.end_sequence(utterance_names[u], u % 2 == 0 ? "alice" : "bob");
    else
      writer.end_sequence();
  }
  return writer.finish();
}

/// What the network sees of a row, frame by frame.
std::vector<float> naive_window(const Dataset& dataset, std::size_t row) {
  const auto offsets = dataset.offsets(Subset::train);
  const auto context = dataset.info().context;
  std::int64_t first = 0, last = 0;
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
    if (offsets[s] <= static_cast<std::int64_t>(row)) first = offsets[s], last = offsets[s + 1] - 1;
  std::vector<float> window;
  for (std::int64_t at = static_cast<std::int64_t>(row) - static_cast<std::int64_t>(context.left);
       at <= static_cast<std::int64_t>(row + context.right); ++at)
    for (std::size_t d = 0; d < frame_dim; ++d)
      window.push_back(2 * value(static_cast<std::size_t>(std::clamp(at, first, last)), d));
  return window;
}

}  // namespace

TEST_CASE("a stream splices the context of each sample as a naive splice does, in any order of rows", "[data]") {
  const TemporaryFolder folder;
  const auto context = GENERATE(Context{0, 0}, Context{1, 0}, Context{0, 3}, Context{5, 5}, Context{40, 2});
  const std::size_t minibatch = GENERATE(1u, 8u, 100u);
  const auto path = folder.file("x.h5");
  const auto written = write_utterances(path, utterances_info(context));
  const auto dataset = Dataset::open(path);
  CHECK(dataset->info().dim == frame_dim * context.frames());
  CHECK(dataset->info().frame_dim() == frame_dim);
  CHECK(dataset->info().context == context);
  CHECK(dataset->info().bytes_per_row() == frame_dim * sizeof(float));
  CHECK(Hdf5File::open(path).array_info("/train/features").shape == std::vector<std::size_t>{frames, frame_dim});
  CHECK(verify(path).empty());

  std::vector<std::uint32_t> rows(frames);
  std::iota(rows.begin(), rows.end(), 0u);
  SECTION("as stored") {}
  SECTION("backwards") { std::reverse(rows.begin(), rows.end()); }
  SECTION("shuffled, some left out") {
    rows = core::RandomStream(1, core::Purpose::generator).permutation(frames);
    rows.resize(20);
  }
  SECTION("some twice, far apart") { rows = {52, 0, 52, 8, 7, 6, 0, 37, 38}; }
  SECTION("none") { rows.clear(); }
  Prefetcher prefetcher;
  RowStream stream(dataset, Subset::train, prefetcher);
  stream.prefetch(list(rows));
  stream.advance();
  std::size_t at = 0;
  for (Batch batch = stream.next(minibatch); batch.size() > 0; batch = stream.next(minibatch)) {
    const std::vector<float> features = decoded(*dataset, batch);
    for (std::size_t i = 0; i < batch.size(); ++i, ++at) {
      const auto seen = std::span(features).subspan(i * dataset->info().dim, dataset->info().dim);
      CHECK(std::vector<float>(seen.begin(), seen.end()) == naive_window(*dataset, rows[at]));
      CHECK(batch.labels[i] == static_cast<std::int32_t>(rows[at] % 3));
      CHECK(batch.rows[i] == rows[at]);
    }
  }
  CHECK(at == rows.size());
  stream.prefetch(list({0, frames}));
  CHECK_THROWS_AS(stream.advance(), std::logic_error);
}

TEST_CASE("names of utterances and speakers, frame shift and names of classes come back as they were written", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  auto info = utterances_info({5, 5});
  info.frame_shift_s = 0.01;
  info.class_names = {"sil", "a_1", "ä_2"};
  write_utterances(path, info);
  const auto dataset = Dataset::open(path);
  CHECK(dataset->utterances(Subset::train) == std::vector<std::string_view>{"u0", "u1", "u2", "u3", "u4"});
  CHECK(dataset->speakers(Subset::train) == std::vector<std::string_view>{"alice", "bob", "alice", "bob", "alice"});
  CHECK(dataset->utterances(Subset::test).empty());
  CHECK(dataset->info().frame_shift_s == 0.01);
  CHECK(dataset->info().class_names == info.class_names);
  CHECK(verify(path).empty());
  const auto json = describe(*dataset);
  CHECK(json["context"]["left"] == 5);
  CHECK(json["dim"] == 22);
  CHECK(json["frame_shift_s"] == 0.01);
  CHECK(json["class_names"][1] == "a_1");
  CHECK(json["train"]["duration_s"] == Approx(0.53));
  CHECK(json["train"]["speakers"] == 2);
}

TEST_CASE("the checksum of a file covers context, utterances and speakers, and is the old one without them", "[data]") {
  const TemporaryFolder folder;
  const auto digest = [&](Context context, bool names) {
    return write_utterances(folder.file("x.h5"), utterances_info(context), names).content_sha256;
  };
  // Of the text in data/README.md, by another program.
  CHECK(digest({}, false) == "a446a3f6eb3710083e9d38300dd047c312697b527507a17ac77175e0a5f467f7");
  CHECK(digest({5, 4}, true) == "d0c23912bd62fc907bc9347544ef6c7cf08158ff7fc37cd8781fb7fc4df7a172");
  CHECK(digest({}, true) != digest({}, false));
  CHECK(digest({4, 5}, true) != digest({5, 4}, true));

  const auto path = folder.file("x.h5");
  digest({5, 5}, true);
  std::string finding = "content_sha256 is ";
  SECTION("an utterance") { patch(path, "/train/utterances", 1, std::uint8_t{'7'}); }
  SECTION("a speaker") { patch(path, "/train/speakers", 1, std::uint8_t{'x'}); }
  SECTION("the context") {
    auto file = Hdf5File::revise(path);
    file.set_count("/", "context_left", 4);
    file.finish();
  }
  REQUIRE(verify(path).size() == 1);
  CHECK_THAT(verify(path)[0], contains_text(finding));
}

TEST_CASE("attributes of speech that make no sense are refused when the file is opened", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  write_utterances(path, utterances_info({2, 2}));
  auto file = Hdf5File::revise(path);
  std::string finding;
  SECTION("a context beyond all bounds") {
    file.set_count("/", "context_left", ~std::uint64_t{0});
    finding = "its context of 18446744073709551615+2 frames";
  }
  SECTION("a negative frame shift") {
    file.set_number("/", "frame_shift_s", -0.01);
    finding = "its frame shift of -0.01 s";
  }
  SECTION("names of fewer classes") {
    file.set_texts("/", "class_names", {"a", "b"});
    finding = "it names 2 classes but has 3";
  }
  SECTION("names of more utterances") {
    const std::string text = "a\nb\nc\nd\ne\nf\n";
    file.write("/valid/utterances", std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
    finding = "does not have one line for each of the 0 sequences";
  }
  SECTION("names that are no text") {
    const std::vector<float> numbers{1, 2};
    file.write("/valid/speakers", std::span<const float>(numbers));
    finding = "/valid/speakers is not text";
  }
  file.finish();
  CHECK_THROWS_WITH(Dataset::open(path), contains_text(finding));
}

TEST_CASE("a writer wants names for all sequences or none, without line breaks, and sequences for a context", "[data]") {
  const TemporaryFolder folder;
  const std::vector<float> features{1, 2};
  const std::vector<std::int32_t> labels{0};
  const auto append = [&](DatasetWriter& writer) {
    writer.append(std::span<const float>(features), std::span<const std::int32_t>(labels));
  };
  DatasetWriter some(folder.file("x.h5"), utterances_info({}));
  some.begin(Subset::train, 2);
  append(some);
  CHECK_THROWS_WITH(some.end_sequence("a\nb"), contains_text("line break"));
  DatasetWriter half(folder.file("y.h5"), utterances_info({}));
  half.begin(Subset::train, 2);
  append(half);
  half.end_sequence("a");
  append(half);
  half.end_sequence();
  CHECK_THROWS_AS(half.finish(), std::logic_error);
  DatasetWriter loose(folder.file("z.h5"), utterances_info({1, 1}));
  loose.begin(Subset::train, 1);
  append(loose);
  CHECK_THROWS_AS(loose.finish(), std::logic_error);
  auto odd = utterances_info({1, 1});
  odd.dim = 7;
  CHECK_THROWS_AS(DatasetWriter(folder.file("w.h5"), odd), std::logic_error);
}
