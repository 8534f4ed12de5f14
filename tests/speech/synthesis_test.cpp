#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>

#include "catch.hpp"
#include "core/errors.hpp"
#include "data/dataset.hpp"
#include "speech/synthesis/generate_speech.hpp"
#include "speech/synthesis/random_streams.hpp"
#include "speech/synthesis/resample.hpp"
#include "speech/synthesis/utterance.hpp"
#include "temporary_folder.hpp"

using namespace paragrad;
using namespace paragrad::speech;

namespace {

std::vector<float> sine(double hz, std::size_t samples) {
  std::vector<float> out;
  for (std::size_t t = 0; t < samples; ++t)
    out.push_back(static_cast<float>(1000 * std::sin(2 * std::numbers::pi * hz * static_cast<double>(t) / 16000)));
  return out;
}

double most_apart(std::span<const float> a, std::span<const float> b, std::size_t edge) {
  double most = 0;
  for (std::size_t t = edge; t + edge < std::min(a.size(), b.size()); ++t)
    most = std::max(most, std::abs(static_cast<double>(a[t]) - static_cast<double>(b[t])));
  return most;
}

/// "pau k ae t" of states: the phones in their order.
std::string phones_of(std::span<const std::uint8_t> states) {
  std::string phones;
  for (std::size_t i = 0; i < states.size(); ++i)
    if (i == 0 || states[i] / 3 != states[i - 1] / 3 || states[i] < states[i - 1])
      phones += (phones.empty() ? "" : " ") + std::string(phone_names[states[i] / 3]);
  return phones;
}

/// Without voices there is nothing to test.
bool silent() {
  if (Voice::available()) return false;
  WARN("left out: the program was built without flite");
  return true;
}

bool same(const GeneratedUtterance& a, const GeneratedUtterance& b) {
  return a.speaker == b.speaker && a.features.values == b.features.values && a.states == b.states;
}

std::vector<std::string> some_sentences() {
  return {"Let there be light.", "And it was so.", "The lazy dog sleeps, as ever.", "A fox jumps over it."};
}

}  // namespace

TEST_CASE("a resampled sound is as long as the factor says and its frequencies are lower by it", "[speech]") {
  const double factor = GENERATE(0.85, 0.93, 1.0, 1.07, 1.15), hz = GENERATE(200., 3000.);
  const auto signal = sine(hz, 4000);
  const auto resampled = resample(signal, factor);
  REQUIRE(resampled.size() == static_cast<std::size_t>(factor * 4000));
  CHECK(most_apart(resampled, sine(hz / factor, resampled.size()), 40) < 10);  // of 1000
  if (factor == 1.0) CHECK(most_apart(resampled, signal, 0) < 1e-3);
}

TEST_CASE("what would lie beyond half the sample rate after resampling is gone, not folded back", "[speech]") {
  const auto resampled = resample(sine(7900, 4000), 0.85);
  CHECK(most_apart(resampled, std::vector<float>(resampled.size(), 0.f), 40) < 100);  // of 1000
}

TEST_CASE("sentences are clean lines, each once", "[speech]") {
  const test::TemporaryFolder folder;
  test::write_text(folder.file("text"),
                   "Let there be light.\n  let there  be LIGHT!\nTwo words\nIt has 3 digits\n\nHe said, \"Who's there?\"\n"
                   "well - known things\na-b c'd (e f)\na\tb c\ncaf\xc3\xa9 is not clean\n" +
                       std::string("x ") + "very looooooooooooooooooooong word\n" + "no-end");
  CHECK(read_sentences(folder.file("text")) ==
        std::vector<std::string>{"Let there be light.", "He said, \"Who's there?\"", "a-b c'd (e f)", "a b c"});
  CHECK(words_of("He said, \"Who's there?\"") == "he said whos there");
  std::string long_line = "a";
  for (int i = 1; i < 25; ++i) long_line += " a";
  test::write_text(folder.file("text"), long_line + "\n" + long_line + " b\n");
  CHECK(read_sentences(folder.file("text")) == std::vector<std::string>{long_line});
  test::write_text(folder.file("text"), "");
  REQUIRE_THROWS_WITH(read_sentences(folder.file("text")), contains_text("no line with a sentence"));
  REQUIRE_THROWS_WITH(read_sentences(folder.file("none")), contains_text("cannot read the text"));
}

TEST_CASE("every pass over sentences has each once, in another order", "[speech]") {
  std::vector<std::string> sentences;
  for (int i = 0; i < 50; ++i) sentences.push_back(std::to_string(i));
  SentenceOrder order(sentences, 1, 0), again(sentences, 1, 0), other(sentences, 2, 0), subset(sentences, 1, 1);
  std::vector<std::string> first, second;
  for (std::uint64_t i = 0; i < 50; ++i) first.push_back(order[i]);
  for (std::uint64_t i = 50; i < 100; ++i) second.push_back(order[i]);
  CHECK(first != second);
  CHECK(again[73] == second[23]);  // whatever was asked for before
  CHECK(again[7] == first[7]);
  CHECK(std::set(first.begin(), first.end()).size() == 50);
  CHECK(std::set(second.begin(), second.end()).size() == 50);
  const auto differs = [&](SentenceOrder& o) {
    for (std::uint64_t i = 0; i < 50; ++i)
      if (o[i] != first[i]) return true;
    return false;
  };
  CHECK(differs(other));
  CHECK(differs(subset));
}

TEST_CASE("a phone's neighbours are those beside it, silence beyond the ends, and a phone may come twice", "[speech]") {
  const auto state = [](std::string_view phone, int s) {
    return static_cast<std::uint8_t>((std::ranges::find(phone_names, phone) - phone_names.begin()) * 3 + s);
  };
  const std::vector<std::uint8_t> states{state("k", 0), state("k", 2), state("ae", 1),
                                         state("t", 2), state("t", 0), state("t", 0)};
  const auto contexts = in_context(states);
  REQUIRE(contexts.size() == states.size());
  std::vector<std::pair<std::string_view, std::string_view>> neighbours;
  for (std::size_t i = 0; i < contexts.size(); ++i) {
    CHECK(contexts[i].state == states[i]);
    neighbours.emplace_back(broad_names[contexts[i].left], broad_names[contexts[i].right]);
  }
  CHECK(neighbours == std::vector<std::pair<std::string_view, std::string_view>>{{"sil", "front"},
                                                                                 {"sil", "front"},
                                                                                 {"velar", "alveolar"},
                                                                                 {"front", "alveolar"},
                                                                                 {"alveolar", "sil"},
                                                                                 {"alveolar", "sil"}});
  CHECK(in_context({}).empty());
}

TEST_CASE("tied states have N frames each but for what is left, and N is the smallest that gives few enough", "[speech]") {
  const std::uint32_t seed = GENERATE(range(0u, 4u));
  const std::size_t most = GENERATE(123u, 150u, 700u, 100000u);
  const core::RandomStream draws(seed, core::Purpose::generator);
  std::vector<std::uint64_t> frames(context_states, 0);
  for (std::size_t i = 0; i < frames.size(); ++i)
    if (draws.uniform(2 * i) < 0.2) frames[i] = static_cast<std::uint64_t>(std::pow(draws.uniform(2 * i + 1), -0.8));
  const TiedStates ties(frames, most);
  REQUIRE(ties.count() <= most);
  CHECK(std::set(ties.names().begin(), ties.names().end()).size() == ties.count());

  // In other words: how many classes there are where N is n.
  const auto count_for = [&](std::uint64_t n) {
    std::set<std::string> classes;
    std::map<std::string, std::uint64_t> by_side;
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const std::string state = std::to_string(i / 100), left = std::to_string(i / 10 % 10), right = std::to_string(i % 10);
      classes.insert(state);
      if (frames[i] >= n)
        classes.insert(state + " " + left + "_" + right);
      else
        by_side[i / 100 % 3 == 2 ? state + " _" + right : state + " " + left + "_"] += frames[i];
    }
    for (const auto& [name, sum] : by_side)
      if (sum >= n) classes.insert(name);
    return classes.size();
  };
  CHECK(count_for(ties.least_frames()) == ties.count());
  for (std::uint64_t n = 1; n < std::min<std::uint64_t>(ties.least_frames(), 20); ++n) CHECK(count_for(n) > most);
  if (ties.least_frames() > 1) CHECK(count_for(ties.least_frames() - 1) > most);

  std::vector<std::uint64_t> of_class(ties.count(), 0);
  std::int32_t last = 0;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const ContextState context{static_cast<std::uint8_t>(i / 10 % 10), static_cast<std::uint8_t>(i / 100),
                               static_cast<std::uint8_t>(i % 10)};
    REQUIRE(index_of(context) == i);
    const std::int32_t k = ties.class_of(context);
    const auto& name = ties.names()[static_cast<std::size_t>(k)];
    const std::string state = std::string(phone_names[i / 300]) + "/" + std::to_string(i / 100 % 3);
    REQUIRE(name.substr(0, name.find(' ')) == state);
    if (i % 100 == 0) CHECK(k >= last);
    last = std::max(last, k);
    of_class[static_cast<std::size_t>(k)] += frames[i];
  }
  for (std::size_t k = 0; k < ties.count(); ++k)
    if (ties.names()[k].find(' ') != std::string::npos) CHECK(of_class[k] >= ties.least_frames());
}

TEST_CASE("fewer classes than states of phones are refused", "[speech]") {
  REQUIRE_THROWS_WITH(TiedStates(std::vector<std::uint64_t>(context_states, 5), 122), contains_text("122 classes"));
}

TEST_CASE("a frame has the state at its middle, wherever the warp has moved it", "[speech]") {
  std::vector<std::uint8_t> states;
  for (std::uint8_t s = 0; s < 100; ++s) states.push_back(s);
  const auto at = [&](double factor) {
    std::vector<int> result;
    for (const auto& state : states_of_frames(states, factor, 5, 400, 160)) result.push_back(state.state);
    return result;
  };
  CHECK(at(1) == std::vector<int>{3, 5, 7, 9, 11});      // middles at sample 200, 360, …; an item each 80
  CHECK(at(0.85) == std::vector<int>{3, 5, 8, 10, 12});  // 2.94, 5.29, 7.65, 10, 12.35
  CHECK(at(1.15) == std::vector<int>{2, 4, 6, 7, 9});    // 2.17, 3.91, 5.65, 7.39, 9.13
  CHECK(states_of_frames(states, 1, 60, 400, 160).back().state == 99);
}

TEST_CASE("variations lie in their ranges, and training has other warps than the rest", "[speech]") {
  const auto draws = draws_of(3, Draw::variation, 0);
  std::set<std::size_t> seen, held_out, voices;
  for (std::uint64_t i = 0; i < 400; ++i) {
    const auto a = draw_variation(draws, i, 3, false), b = draw_variation(draws, i, 3, true);
    seen.insert(a.warp);
    held_out.insert(b.warp);
    voices.insert(a.voice);
    CHECK((a.manner.pitch >= 0.8 && a.manner.pitch < 1.2));
    CHECK((a.manner.duration >= 0.85 && a.manner.duration < 1.2));
    CHECK((std::abs(a.channel) <= 0.5 && a.colour >= 0 && a.colour < 0.95));
    CHECK((a.noise_db >= 5 && a.noise_db < 30 && a.gain_db >= -20 && a.gain_db < 0));
  }
  CHECK(voices.size() == 3);
  CHECK(seen.size() == 25);
  CHECK(held_out.size() == 6);
  for (const std::size_t warp : held_out) CHECK(!seen.contains(warp));
  CHECK(warp_factor(0) == Approx(0.85));
  CHECK(warp_factor(warps - 1) == Approx(1.15));
}

TEST_CASE("noise has the power that its distance to the speech asks for, and samples are whole", "[speech]") {
  Variation variation;
  variation.colour = GENERATE(0., 0.9);
  variation.noise_db = 20;
  const auto signal = sine(500, 16000);
  const auto varied = vary(signal, variation, draws_of(1, Draw::noise, 0), 7);
  double power = 0, noise = 0;
  for (std::size_t t = 100; t + 100 < varied.size(); ++t) {
    power += static_cast<double>(signal[t]) * static_cast<double>(signal[t]);
    noise += std::pow(static_cast<double>(varied[t]) - static_cast<double>(signal[t]), 2);
    CHECK(varied[t] == std::round(varied[t]));
  }
  CHECK(10 * std::log10(power / noise) == Approx(20).margin(0.7));
  CHECK(vary(signal, variation, draws_of(1, Draw::noise, 0), 7) == varied);
  CHECK(vary(signal, variation, draws_of(1, Draw::noise, 0), 8) != varied);
  variation.gain_db = 60;
  const auto loud = vary(signal, variation, draws_of(1, Draw::noise, 0), 7);
  CHECK(*std::ranges::max_element(loud) == 32767);
  CHECK(*std::ranges::min_element(loud) == -32768);
}

TEST_CASE("a voice says the phones of a text in their order, with a state for every 5 ms", "[speech]") {
  if (silent()) return;
  const std::string name = GENERATE("slt", "rms", "awb");
  Voice voice(name);
  const auto spoken = voice.say("Let there be light.", {}, 5);
  CHECK(phones_of(spoken.states) == "pau l eh t dh eh r b iy l ay t pau");
  CHECK(spoken.samples.size() == (spoken.states.size() - 1) * samples_per_item);

  voice.say("Something else was said meanwhile.", {1.2, 0.9}, 6);
  const auto again = voice.say("Let there be light.", {}, 5);
  CHECK(again.samples == spoken.samples);
  CHECK(again.states == spoken.states);
  const auto slow = voice.say("Let there be light.", {1, 1.2}, 5);
  CHECK(static_cast<double>(slow.samples.size()) == Approx(1.2 * static_cast<double>(spoken.samples.size())).epsilon(0.05));
  CHECK(phones_of(slow.states) == phones_of(spoken.states));
}

TEST_CASE("an unknown voice is refused with those that are known", "[speech]") {
  if (silent())
    REQUIRE_THROWS_WITH(Voice("slt"), contains_text("flite1-dev"));
  else
    REQUIRE_THROWS_WITH(Voice("kal"), contains_text("unknown voice 'kal'; known: slt, rms, awb"));
}

TEST_CASE("an utterance depends on its number alone, and has a label for each frame", "[speech]") {
  if (silent()) return;
  const Speaker::Options options{
      .voices = {"slt", "awb"}, .bins = 20, .deltas = 1, .seed = 2, .subset = 1, .held_out = true};
  Speaker speaker(options, some_sentences()), other(options, some_sentences());
  std::vector<GeneratedUtterance> all;
  for (std::uint64_t i = 0; i < 4; ++i) all.push_back(speaker.say(i));
  for (const std::uint64_t i : {3u, 0u, 2u}) CHECK(same(other.say(i), all[i]));
  for (const auto& utterance : all) {
    CHECK(utterance.features.columns == 40);
    CHECK(utterance.features.rows == utterance.states.size());
    CHECK(phone_names[utterance.states.front().state / 3] == "pau");
    CHECK(phone_names[utterance.states.back().state / 3] == "pau");
    CHECK(same(GeneratedUtterance::unpack(utterance.pack()), utterance));
  }
}

namespace {

/// A small set: seconds of speech out of two texts.
struct SmallSet {
  SmallSet() {
    options.text = folder.file("text");
    options.unseen_text = folder.file("unseen");
    options.out = folder.file("speech.h5");
    options.train_s = 5;
    options.valid_s = options.test_s = 2;
    options.bins = 10;
    std::string text;
    for (const auto& sentence : some_sentences()) text += sentence + "\n";
    test::write_text(options.text, text);
    test::write_text(options.unseen_text, "Let there be light!\nNobody has heard of this.\nNor will he of that.\n");
  }

  std::string bytes(std::size_t jobs) {
    options.jobs = jobs;
    generate_speech(options);
    return test::read_text(options.out);
  }

  test::TemporaryFolder folder;
  GenerateSpeechOptions options;
};

}  // namespace

TEST_CASE("generated speech is the same to the byte for any number of processes, and another for another seed", "[speech]") {
  if (silent()) return;
  SmallSet set;
  const auto bytes = set.bytes(1);
  CHECK(set.bytes(1) == bytes);
  CHECK(set.bytes(3) == bytes);
  CHECK(set.folder.entries() == 3);  // nothing is left behind
  set.options.seed = 2;
  CHECK(set.bytes(2) != bytes);
}

TEST_CASE("generated speech lasts as long as was asked for, by speakers that are only in one set", "[speech]") {
  if (silent()) return;
  SmallSet set;
  set.options.context = {2, 1};
  set.options.classes = 130;
  set.options.jobs = 2;
  const auto generated = generate_speech(set.options);
  const auto dataset = data::Dataset::open(set.options.out);
  const auto& info = dataset->info();
  CHECK(info.dim == 40);
  CHECK(info.classes <= 130);
  CHECK(info.class_names.size() == info.classes);
  CHECK(info.frame_shift_s == 0.01);
  CHECK(generated.info.content_sha256 == info.content_sha256);
  std::set<std::string_view> train_speakers;
  for (const auto speaker : dataset->speakers(data::Subset::train)) train_speakers.insert(speaker);
  for (const auto speaker : dataset->speakers(data::Subset::test)) CHECK(!train_speakers.contains(speaker));
  const std::array<std::size_t, 3> least{500, 200, 200};
  for (std::size_t s = 0; s < 3; ++s) {
    const auto offsets = dataset->offsets(static_cast<data::Subset>(s));
    CHECK(info.samples[s] >= least[s]);
    CHECK(static_cast<std::size_t>(offsets[offsets.size() - 2]) < least[s]);  // without its last it would be too short
  }
}

TEST_CASE("what cannot be generated is refused, and no file is made", "[speech]") {
  if (silent()) return;
  SmallSet set;
  auto& options = set.options;
  std::string part;
  SECTION("no duration") { options.train_s = 0, part = "a duration above zero"; }
  SECTION("less than none") { options.test_s = -1, part = "a duration above zero"; }
  SECTION("no end") { options.valid_s = 1e300, part = "more than"; }
  SECTION("an unknown voice") { options.voices = {"slt", "bob"}, part = "unknown voice 'bob'"; }
  SECTION("no text") { options.text = set.folder.file("none"), part = "cannot read the text"; }
  SECTION("no unseen text") { options.unseen_text.clear(), part = "cannot read the text"; }
  SECTION("nothing unseen") { options.unseen_text = options.text, part = "fewer than two sentences that"; }
  SECTION("no processes") { options.jobs = 0, part = "at least one job"; }
  SECTION("too few classes") { options.train_s = 1, options.classes = 100, part = "100 classes"; }
  SECTION("no folder for the file") { options.out = set.folder.file("none/speech.h5"), part = "none/speech.h5"; }
  REQUIRE_THROWS_WITH(generate_speech(options), contains_text(part));
  CHECK(set.folder.entries() == 2);
}
