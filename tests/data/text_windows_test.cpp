// Windows of a text: which tokens they have, and on what that depends.
#include "data/text_windows.hpp"

#include <map>
#include <numeric>
#include <set>

#include "catch.hpp"
#include "core/errors.hpp"
#include "data/sequences.hpp"
#include "data/text_import.hpp"
#include "data/window_stream.hpp"
#include "tests/data/support.hpp"

using namespace paragrad;
using namespace paragrad::data;

TEST_CASE("windows for scores label each token but the first once", "[data]") {
  for (std::size_t context = 1; context <= 7; ++context)
    for (std::size_t tokens = 0; tokens <= 30; ++tokens) {
      CAPTURE(context, tokens);
      const Windows windows = Windows::once(tokens, context);
      std::map<std::size_t, int> labelled;
      for (std::size_t i = 0; i < windows.count(); ++i) {
        CHECK(windows.length() <= context);
        CHECK(windows.begin(i, 0) + windows.length() < tokens);
        for (std::size_t t = windows.first_scored(i); t < windows.length(); ++t) ++labelled[windows.begin(i, 0) + t + 1];
      }
      CHECK(labelled.size() == (tokens < 2 ? 0 : tokens - 1));
      for (const auto& [token, times] : labelled) CHECK(times == 1);
      const Sequences sequences(windows);
      CHECK(sequences.scored(windows.count()) == labelled.size());
    }
}

TEST_CASE("training windows lie within the text, and differ from epoch to epoch", "[data]") {
  for (const Windows::Order order : {Windows::Order::disjoint, Windows::Order::random})
    for (const std::size_t context : {1, 3, 8})
      for (std::size_t tokens = context + 1; tokens <= 40; ++tokens) {
        CAPTURE(context, tokens);
        const Windows windows = Windows::training(tokens, context, order, 5, "the text");
        REQUIRE(windows.count() >= 1);
        CHECK(windows.count() * context <= tokens);
        std::set<std::uint32_t> firsts;
        for (std::uint32_t epoch = 1; epoch <= 40; ++epoch) {
          firsts.insert(windows.begin(0, epoch));
          for (std::size_t i = 0; i < windows.count(); ++i) {
            CHECK(windows.begin(i, epoch) + context < tokens);
            if (order == Windows::Order::disjoint && i > 0)
              CHECK(windows.begin(i, epoch) == windows.begin(i - 1, epoch) + context);
          }
        }
        if (context > 1 && tokens >= 3 * context) CHECK(firsts.size() > 1);
      }
  CHECK_THROWS_WITH(Windows::training(64, 64, Windows::Order::random, 1, "'x.h5' (train)"),
                    contains_text("'x.h5' (train) has 64 tokens, fewer than a window of 64 and the token after it"));
}

TEST_CASE("the labels of a minibatch of windows are the next tokens, wherever the windows are drawn", "[data]") {
  const TemporaryFolder folder;
  const std::string text = folder.file("text.txt"), file = folder.file("text.h5");
  std::string written;
  for (int i = 0; i < 500; ++i) written += static_cast<char>('a' + i * i % 23);
  write_text(text, written);
  import_text({.from = text, .tokens = "characters", .out = file, .name = "text", .valid = 0.2});
  const auto dataset = Dataset::open(file);
  const Vocabulary& vocabulary = *dataset->info().vocabulary;
  Prefetcher prefetcher;
  for (const Windows::Order order : {Windows::Order::disjoint, Windows::Order::random}) {
    const Windows windows = Windows::training(400, 16, order, 3, "the text");
    WindowStream stream(dataset, Subset::train, prefetcher, windows);
    const std::vector<std::uint32_t> indices{7, 0, 23, 11, 3};
    stream.prefetch({indices.size(), indices, 4});
    stream.advance();
    std::size_t first = 0;
    while (true) {
      const Batch batch = stream.next(2);
      if (batch.size() == 0) break;
      const std::size_t count = batch.units();
      CHECK(batch.frames_with_loss == batch.size());
      for (std::size_t w = 0; w < count; ++w)
        for (std::size_t t = 0; t < 16; ++t) {
          const std::size_t row = t * count + w, place = windows.begin(indices[first + w], 4) + t;
          CHECK(vocabulary.text(batch.tokens[row]) == written.substr(place, 1));
          CHECK(vocabulary.text(batch.labels[row]) == written.substr(place + 1, 1));
          CHECK(batch.rows[row] == indices[first + w] * 16 + t);
        }
      first += count;
    }
    CHECK(first == indices.size());
  }
}
