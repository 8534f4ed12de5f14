#include "speech/synthesis/generate_speech.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <unordered_set>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "core/options.hpp"
#include "core/sha256.hpp"
#include "core/units.hpp"
#include "data/writer.hpp"
#include "speech/feature_options.hpp"
#include "speech/synthesis/process_farm.hpp"
#include "speech/synthesis/utterance.hpp"
#include "system/file_replacement.hpp"

namespace paragrad::speech {
namespace {

constexpr double frame_shift_s = 0.01;
constexpr double longest_s = 1e8;

/// Temporary storage of features, in a file that is removed with this object.
class Spool {
 public:
  explicit Spool(const std::string& path)
      : place_(path), file_(place_.temporary_path(), std::ios::in | std::ios::out | std::ios::binary) {}

  void put(const Features& features) {
    file_.write(reinterpret_cast<const char*>(features.values.data()), size_of(features));
    check("write");
  }
  void rewind() { file_.seekg(0); }
  void get(Features& features) {
    file_.read(reinterpret_cast<char*>(features.values.data()), size_of(features));
    check("read");
  }

 private:
  static std::streamsize size_of(const Features& features) {
    return static_cast<std::streamsize>(features.values.size() * sizeof(float));
  }
  void check(const char* action) const {
    if (!file_)
      throw core::ConfigError(core::format("cannot {} the file '{}'; is the disk full?", action, place_.temporary_path()));
  }

  system::FileReplacement place_;  // never committed: the content is temporary
  std::fstream file_;
};

/// The part of a subset that is kept in memory.
struct Part {
  std::vector<ContextState> states{};   // of all frames
  std::vector<std::size_t> lengths{};   // of utterances, in frames
  std::vector<std::string> speakers{};  // of utterances
};

class Generator {
 public:
  explicit Generator(const GenerateSpeechOptions& options) : options_(options), spool_(options.out + ".features") {
    if (options_.voices.empty()) options_.voices = Voice::names();
    for (const auto& name : options_.voices) Voice{name};  // throws for unknown names
    texts_[0] = read_sentences(options.text);
    if (options.valid_s + options.test_s > 0) divide_unseen_text();
  }

  GeneratedSpeech run() {
    const std::array seconds{options_.train_s, options_.valid_s, options_.test_s};
    for (std::size_t s = 0; s < parts_.size(); ++s)
      if (seconds[s] > 0) generate(s, static_cast<std::size_t>(std::ceil(seconds[s] / frame_shift_s - 1e-6)));
    std::vector<std::uint64_t> frames(context_states, 0);
    for (const auto& state : parts_[0].states) ++frames[index_of(state)];
    const TiedStates ties(frames, options_.classes);
    data::DatasetWriter writer(options_.out, describe(ties));
    spool_.rewind();
    for (std::size_t s = 0; s < parts_.size(); ++s)
      if (!parts_[s].lengths.empty()) write(writer, s, ties);
    return {writer.finish(), ties.least_frames()};
  }

 private:
  /// Sentences outside the training set: alternately for validation and test.
  void divide_unseen_text() {
    std::unordered_set<std::string> seen;
    for (const auto& sentence : texts_[0]) seen.insert(words_of(sentence));
    auto unseen = read_sentences(options_.unseen_text);
    std::erase_if(unseen, [&](const std::string& sentence) { return seen.contains(words_of(sentence)); });
    for (std::size_t i = 0; i < unseen.size(); ++i) texts_[1 + i % 2].push_back(std::move(unseen[i]));
    if (texts_[2].empty())
      throw core::ConfigError(core::format(
          "the text '{}' has fewer than two sentences that are not in '{}'; validation and test need at least one each",
          options_.unseen_text, options_.text));
  }

  void generate(std::size_t s, std::size_t frames) {
    Part& part = parts_[s];
    Speaker speaker({options_.voices, options_.bins, options_.deltas, options_.seed, static_cast<std::uint32_t>(s), s > 0},
                    texts_[s]);
    const auto take = [&](std::string_view bytes) {
      const auto utterance = GeneratedUtterance::unpack(bytes);
      spool_.put(utterance.features);
      dim_ = utterance.features.columns;
      part.states.insert(part.states.end(), utterance.states.begin(), utterance.states.end());
      part.lengths.push_back(utterance.states.size());
      part.speakers.push_back(utterance.speaker);
      return part.states.size() < frames;
    };
    in_processes(
        options_.jobs, [&](std::uint64_t index) { return speaker.say(index).pack(); }, take);
  }

  data::DatasetInfo describe(const TiedStates& ties) const {
    data::DatasetInfo info;
    info.name = options_.name;
    info.source = core::format("paragrad data generate-speech: flite's voices {}, seed {}, states tied at {} frames",
                               core::join(options_.voices, ", "), options_.seed, ties.least_frames());
    info.licence = "that of the texts; flite's voices ask for none";
    info.source_sha256 = {core::format("text: {}", core::sha256_of_file(options_.text))};
    if (!texts_[1].empty())
      info.source_sha256.push_back(core::format("unseen text: {}", core::sha256_of_file(options_.unseen_text)));
    info.context = options_.context;
    info.dim = dim_ * info.context.frames();
    info.class_names = ties.names();
    info.classes = ties.count();
    info.frame_shift_s = frame_shift_s;
    return info;
  }

  void write(data::DatasetWriter& writer, std::size_t s, const TiedStates& ties) {
    const Part& part = parts_[s];
    writer.begin(static_cast<data::Subset>(s), part.states.size());
    std::size_t first = 0;
    for (std::size_t u = 0; u < part.lengths.size(); first += part.lengths[u++]) {
      Features features(part.lengths[u], dim_);
      spool_.get(features);
      std::vector<std::int32_t> labels;
      for (std::size_t t = 0; t < part.lengths[u]; ++t) labels.push_back(ties.class_of(part.states[first + t]));
      writer.append(std::span<const float>(features.values), std::span<const std::int32_t>(labels));
      writer.end_sequence(core::format("{}-{:06}", data::subset_names[s], u), part.speakers[u]);
    }
  }

  GenerateSpeechOptions options_;
  Spool spool_;
  std::array<std::vector<std::string>, 3> texts_;
  std::array<Part, 3> parts_;
  std::size_t dim_ = 0;
};

void check(const GenerateSpeechOptions& options) {
  if (!Voice::available()) Voice{""};  // throws the error
  if (!(options.train_s > 0) || !(options.valid_s >= 0) || !(options.test_s >= 0))
    throw core::ConfigError("the training set needs a duration above zero, the other sets zero or more");
  if (!(options.train_s + options.valid_s + options.test_s <= longest_s))
    throw core::ConfigError(core::format("more than {} of speech requested; that is too much for one data file",
                                         core::format_quantity(longest_s, core::Unit::time)));
}

}  // namespace

GeneratedSpeech generate_speech(const GenerateSpeechOptions& options) {
  check(options);
  return Generator(options).run();
}

void GenerateSpeechOptions::describe(core::OptionList& list) {
  list.text("text", text, "file of sentences to speak for training, one per line").path().required();
  list.text("unseen-text", unseen_text, "file of sentences to speak for validation and test, one per line")
      .path()
      .when(valid_s > 0 || test_s > 0, "is for the validation and test sets: give `valid` or `test`");
  list.text("out", out, "data file to write").path().required();
  list.text("name", name, "name of the data set");
  list.quantity("train", train_s, core::Unit::time, "duration of the training set, such as 1h");
  list.quantity("valid", valid_s, core::Unit::time, "duration of the validation set, such as 6min");
  list.quantity("test", test_s, core::Unit::time, "duration of the test set, such as 6min");
  list.words("voices", voices, "voices of flite to use, such as slt,rms,awb (default: all)");
  list.number("classes", classes, core::any_count, "maximum number of classes; states with few frames are tied");
  describe_mel_features(list, bins, deltas);
  data::describe_context(list, context);
  list.number("jobs", jobs, {.least = 1, .most = 10000},
              "number of processes that synthesise speech; does not affect the data");
  list.number("seed", seed, core::any_seed, "random seed");
}

}  // namespace paragrad::speech
