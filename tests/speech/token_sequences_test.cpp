#include "data/token_sequences.hpp"

#include <numeric>

#include "catch.hpp"
#include "core/errors.hpp"
#include "data/sequence_stream.hpp"
#include "data/writer.hpp"
#include "speech/tokens.hpp"
#include "temporary_folder.hpp"

using namespace paragrad;
using namespace paragrad::data;

namespace {

using Said = std::vector<std::int32_t>;

DatasetInfo info_of(std::vector<std::string> class_names) {
  DatasetInfo info;
  info.dim = 1;
  info.classes = class_names.size();
  info.class_names = std::move(class_names);
  return info;
}

ReadTokens tokens_of(const DatasetInfo& info) {
  return [tokens = speech::Tokens(info.class_names, info.classes)](std::span<const std::int32_t> labels) {
    return tokens.in(labels);
  };
}

/// A training set of these sequences of labels.
std::shared_ptr<const Dataset> file_of(const test::TemporaryFolder& folder, const DatasetInfo& info,
                                       const std::vector<Said>& sequences) {
  std::size_t rows = 0;
  for (const Said& labels : sequences) rows += labels.size();
  DatasetWriter writer(folder.file("said.h5"), info);
  writer.begin(Subset::train, rows);
  for (const Said& labels : sequences) {
    writer.append(std::vector<float>(labels.size(), 0.5f), labels);
    writer.end_sequence();
  }
  writer.finish();
  return Dataset::open(folder.file("said.h5"));
}

}  // namespace

TEST_CASE("a minibatch of sequences with tokens has them in the places of the first frames", "[speech]") {
  const test::TemporaryFolder folder;
  const auto info = info_of({"a/0", "a/1", "b/0"});
  const std::vector<Said> all{{0, 1}, {2, 0, 1, 0, 1, 1, 2}, {1, 1, 1}, {2, 2, 0, 0}};
  const std::vector<Said> said{{0}, {1, 0, 0, 1}, {0}, {1, 0}};
  const auto dataset = file_of(folder, info, all);
  const auto sequences = std::make_shared<const Sequences>(*dataset, Subset::train, Chunking{});
  const auto tokens = std::make_shared<const TokenSequences>(*dataset, Subset::train, tokens_of(info));
  CHECK(tokens->count(2) == 5);
  CHECK(tokens->count(99) == 8);
  CHECK(tokens->mean() == 2);
  Prefetcher prefetcher;
  SequenceStream stream(dataset, Subset::train, prefetcher, sequences, tokens);
  const std::vector<std::uint32_t> order{2, 0, 1, 3};
  stream.prefetch({order.size(), order});
  stream.advance();
  std::size_t met = 0;
  for (Batch batch = stream.next(3); batch.size() > 0; batch = stream.next(3)) {
    std::size_t scored = 0;
    for (std::size_t s = 0; s < batch.units(); ++s, ++met) {
      Said found;
      std::size_t frames = 0;
      for (std::size_t t = 0, place = s; t < batch.active.size() && batch.active[t] > s;
           place += batch.active[t++], ++frames)
        if (batch.labels[place] != no_label) {
          CHECK(found.size() == t);  // without gaps
          found.push_back(batch.labels[place]);
        }
      const auto which = static_cast<std::size_t>(
          std::ranges::find_if(all, [&](const Said& one) { return one.size() == frames; }) - all.begin());
      CHECK(found == said[which]);
      CHECK(std::ranges::equal(found, tokens->of(which)));
      scored += found.size();
    }
    CHECK(batch.scored() == scored);
  }
  CHECK(met == 4);
}

TEST_CASE("a sequence too short for what is said in it is refused by its number", "[speech]") {
  const test::TemporaryFolder folder;
  const auto info = info_of({"a/0", "a/1", "b/0"});
  const auto enough = file_of(folder, info, {{0, 2, 0}, {1, 0, 0}});
  CHECK(TokenSequences(*enough, Subset::train, tokens_of(info)).of(1).size() == 2);
  const auto few = file_of(folder, info, {{0, 2, 0}, {1, 0}});
  CHECK_THROWS_WITH(TokenSequences(*few, Subset::train, tokens_of(info)), contains_text("sequence 1 of") &&
                                                                              contains_text("has 2 frames for 2 tokens") &&
                                                                              contains_text("at least 3 frames"));
}
