#include "speech/viterbi.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <stdexcept>

#include "catch.hpp"
#include "core/errors.hpp"
#include "core/philox.hpp"

using namespace paragrad;
using namespace paragrad::speech;

namespace {

using Path = std::vector<std::int32_t>;
using Words = std::vector<std::size_t>;

/// Words of 1, 2 and 1 states.
WordModels three_words() { return WordModels({"a/0", "b/0", "b/1", "c/0"}); }

/// Whole numbers, whose sums are exact: equal ones are equal.
Scores random_scores(std::size_t frames, std::size_t classes, std::uint64_t seed) {
  Scores scores(frames, classes);
  const auto order = core::RandomStream(seed, core::Purpose::validation_split)
                         .permutation(static_cast<std::uint32_t>(scores.values.size() * 5));
  for (std::size_t i = 0; i < scores.values.size(); ++i) scores.values[i] = -static_cast<float>(order[i]);
  return scores;
}

double score_of(const Path& path, const Scores& scores) {
  double sum = 0;
  for (std::size_t t = 0; t < path.size(); ++t) sum += scores.row(t)[static_cast<std::size_t>(path[t])];
  return sum;
}

/// Every path of so many frames over all classes.
void for_each_path(std::size_t frames, std::size_t classes, const std::function<void(const Path&)>& use) {
  Path path(frames, 0);
  const std::function<void(std::size_t)> fill = [&](std::size_t t) {
    if (t == frames) return use(path);
    for (std::size_t k = 0; k < classes; ++k) {
      path[t] = static_cast<std::int32_t>(k);
      fill(t + 1);
    }
  };
  fill(0);
}

Path without_repeats(Path path) {
  path.erase(std::unique(path.begin(), path.end()), path.end());
  return path;
}

/// The fewest errors over all ways to take words away from both, by recursion.
std::size_t distance(std::span<const std::size_t> a, std::span<const std::size_t> b) {
  if (a.empty() || b.empty()) return a.size() + b.size();
  return std::min(
      {distance(a.subspan(1), b.subspan(1)) + (a[0] != b[0]), distance(a.subspan(1), b) + 1, distance(a, b.subspan(1)) + 1});
}

}  // namespace

TEST_CASE("names of classes say which words there are, and how many states they have", "[speech]") {
  const std::array<std::string_view, 2> words{"seven", "a/b"};
  const auto names = WordModels::class_names(words, 2);
  CHECK(names == std::vector<std::string>{"seven/0", "seven/1", "a/b/0", "a/b/1"});
  const WordModels models(names);
  CHECK(models.count() == 2);
  CHECK(models.classes() == 4);
  CHECK(models.word(1).name == "a/b");
  CHECK(models.word(1).first == 2);
  CHECK(models.states_of(Words{1, 0}) == Path{2, 3, 0, 1});
  for (const auto& wrong : std::vector<std::vector<std::string>>{
           {}, {"seven"}, {"/0"}, {"seven/1"}, {"seven/0", "seven/2"}, {"seven/0", "seven/0"}, {"seven/x"}, {"a/0", "a/01"}})
    CHECK_THROWS_AS(WordModels(wrong), core::ConfigError);
}

TEST_CASE("an alignment tells the words that it passes through, and may leave states out", "[speech]") {
  const auto models = three_words();
  CHECK(models.words_in(Path{1, 1, 2, 0, 0, 3, 1, 2, 1, 2}) == Words{1, 0, 2, 1, 1});
  CHECK(models.words_in(Path{}) == Words{});
  CHECK(models.words_in(Path{2, 2, 1, 3, 2}) == Words{1, 1, 2, 1});
  const WordModels long_word({"d/0", "d/1", "d/2"});
  CHECK(long_word.words_in(Path{0, 2, 1, 2, 2, 0}) == Words{0, 0, 0});
  for (const auto& wrong : std::vector<Path>{{1, 2, 2, 4}, {-1}}) CHECK_THROWS_AS(models.words_in(wrong), core::ConfigError);
}

TEST_CASE("a state may have several classes, whose probabilities add up", "[speech]") {
  const WordModels models({"ah/0", "ah/0 front_", "ah/0 front_labial", "ah/1", "b/0 _back", "b/0", "b/1 sil_"});
  CHECK(models.count() == 2);
  CHECK(models.classes() == 7);
  CHECK(models.states() == 4);
  CHECK(models.has_variants());
  CHECK(!three_words().has_variants());
  CHECK(models.word(1).first == 2);
  CHECK(models.find("b") == 1);
  CHECK_THROWS_WITH(models.find("c"), contains_text("unknown word 'c'; known: ah, b"));
  CHECK(models.words_in(Path{0, 2, 3, 1, 5, 6, 4}) == Words{0, 0, 1, 1});
  CHECK(models.states_of(Words{1, 0}) == Path{2, 3, 0, 1});
  std::vector<double> logs;
  for (const double p : {0.1, 0.2, 0.05, 0.3, 0.15, 0.15, 0.05}) logs.push_back(std::log(p));
  const auto states = models.sum_variants(logs);
  REQUIRE(states.size() == 4);
  CHECK(states[0] == Approx(std::log(0.35)));
  CHECK(states[1] == logs[3]);  // to the bit
  CHECK(states[2] == Approx(std::log(0.3)));
  CHECK(models.sum_variants(std::vector<double>(7, -1e4))[0] == Approx(-1e4 + std::log(3)));
  CHECK_THROWS_AS(models.sum_variants(states), std::logic_error);
  for (const auto& wrong : std::vector<std::vector<std::string>>{
           {"ah/0", "ah/0"}, {"ah/0 x", "ah/0", "ah/0 x"}, {"ah/0 x", "ah/1", "ah/0 y"}, {"ah/0x"}, {"ah/ 0"}, {"ah 0"}})
    CHECK_THROWS_AS(WordModels(wrong), core::ConfigError);
}

TEST_CASE("a uniform alignment gives each state its share of the frames, in order", "[speech]") {
  const Path states{7, 8, 9};
  CHECK(align_uniformly(states, 3) == states);
  for (std::size_t frames = 3; frames < 40; ++frames) {
    const auto path = align_uniformly(states, frames);
    CHECK(without_repeats(path) == states);
    for (const auto state : states) {
      const auto length = static_cast<std::size_t>(std::ranges::count(path, state));
      CHECK(length >= frames / 3);
      CHECK(length <= (frames + 2) / 3);
    }
  }
  CHECK_THROWS_AS(align_uniformly(states, 2), std::logic_error);
  CHECK_THROWS_AS(align_uniformly(Path{}, 2), std::logic_error);
}

TEST_CASE("an alignment is the best of all paths through the states", "[speech]") {
  const std::uint64_t seed = GENERATE(range(1, 9));
  const std::size_t frames = GENERATE(3u, 4u, 7u);
  const auto scores = random_scores(frames, 4, seed);
  const Path states{1, 2, 0};
  double best = -1e9;
  for_each_path(frames, 4, [&](const Path& path) {
    if (without_repeats(path) == states) best = std::max(best, score_of(path, scores));
  });
  const auto found = align(scores, states);
  CHECK(without_repeats(found) == states);
  CHECK(score_of(found, scores) == best);
  CHECK_THROWS_AS(align(random_scores(2, 4, seed), states), std::logic_error);
}

TEST_CASE("an alignment that the scores favour is found, also where a state comes twice in a row", "[speech]") {
  const Path truth{1, 1, 2, 2, 2, 1, 2};
  Scores scores(truth.size(), 4);
  for (std::size_t t = 0; t < truth.size(); ++t) scores.row(t)[static_cast<std::size_t>(truth[t])] = 1;
  CHECK(align(scores, Path{1, 2, 1, 2}) == truth);
  CHECK(align(Scores(2, 4), Path{3, 3}) == Path{3, 3});
}

TEST_CASE("decoding finds the words of the best of all paths that the grammar allows", "[speech]") {
  const auto models = three_words();
  const std::uint64_t seed = GENERATE(range(1, 9));
  const std::size_t frames = GENERATE(1u, 2u, 6u);
  const Grammar grammar{GENERATE(false, true), GENERATE(0., -30., 25.)};
  const auto scores = random_scores(frames, models.classes(), seed);
  std::map<Words, double> best;  // of each sequence of words
  for_each_path(frames, models.classes(), [&](const Path& path) {
    const Words words = models.words_in(path);
    if (models.states_of(words) != without_repeats(path) || (!grammar.loop && words.size() > 1)) return;
    const double score = score_of(path, scores) + grammar.insertion_score * static_cast<double>(words.size());
    // A word of one state may also be said once or more often for the same path.
    const auto [at, is_new] = best.try_emplace(words, score);
    if (!is_new) at->second = std::max(at->second, score);
  });
  const auto found = decode(scores, models, grammar);
  double most = -1e9;
  for (const auto& [words, score] : best) most = std::max(most, score);
  if (grammar.insertion_score <= 0 || !grammar.loop) {
    REQUIRE(best.contains(found));
    CHECK(best[found] == most);
  }
  CHECK(!found.empty());
}

TEST_CASE("too few frames for a word are no word, and the price of a word decides how many there are", "[speech]") {
  const WordModels models({"b/0", "b/1"});
  CHECK(decode(Scores(1, 2), models, {}).empty());
  CHECK(decode(Scores(0, 2), models, {}).empty());
  CHECK(decode(Scores(3, 2), models, {}) == Words{0});
  CHECK(decode(Scores(6, 2), models, {true, -1}) == Words{0});
  CHECK(decode(Scores(6, 2), models, {true, 1}) == Words{0, 0, 0});
  CHECK_THROWS_AS(decode(Scores(6, 3), models, {}), std::logic_error);
}

TEST_CASE("errors of words are as few as can be, and add up to the difference in length", "[speech]") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const auto random = core::RandomStream(seed, core::Purpose::validation_split).permutation(40);
    Words said, found;
    for (std::size_t i = 0; i < random[0] % 6; ++i) said.push_back(random[i + 1] % 3);
    for (std::size_t i = 0; i < random[10] % 6; ++i) found.push_back(random[i + 11] % 3);
    const auto errors = word_errors(said, found);
    CHECK(errors.words == said.size());
    CHECK(errors.errors() == distance(said, found));
    CHECK(errors.insertions + said.size() == errors.deletions + found.size());
    CHECK(word_errors(said, said).errors() == 0);
  }
  const WordErrors swapped = word_errors(Words{1, 2}, Words{2, 1});  // of equal totals the one with fewest insertions
  CHECK(swapped.substitutions == 2);
  CHECK(swapped.insertions == 0);
  WordErrors sum = word_errors(Words{1, 2, 3}, Words{1, 3, 3, 4});
  sum += word_errors(Words{1}, Words{});
  CHECK(sum.rate() == Approx(3. / 4));
  CHECK(sum.substitutions == 1);
  CHECK(sum.insertions == 1);
  CHECK(sum.deletions == 1);
}
