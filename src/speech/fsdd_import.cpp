#include "speech/fsdd_import.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/numbers.hpp"
#include "core/options.hpp"
#include "core/sha256.hpp"
#include "data/writer.hpp"
#include "speech/deltas.hpp"
#include "speech/fbank.hpp"
#include "speech/feature_options.hpp"
#include "speech/importers.hpp"
#include "speech/normalise.hpp"
#include "speech/viterbi.hpp"
#include "speech/wav.hpp"
#include "speech/word_models.hpp"

namespace paragrad::speech {
namespace {

std::array<std::string_view, 10> digit_names() {
  return {"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"};
}

struct Recording {
  std::string speaker;
  std::size_t digit = 0;
  std::size_t index = 0;
  std::string path{};
  double sample_rate = 0;
  Features features{};

  auto order() const { return std::tie(speaker, digit, index); }
  std::string name() const { return core::format("{}_{}_{}", digit, speaker, index); }
};

/// Parses "7_jackson_32.wav"; nullopt for other names.
std::optional<Recording> parse_name(const std::filesystem::path& path) {
  const std::string name = path.stem().string();
  const auto first = name.find('_'), last = name.rfind('_');
  if (path.extension() != ".wav" || first != 1 || last <= first + 1 || name[0] < '0' || name[0] > '9') return {};
  Recording recording{name.substr(2, last - 2), static_cast<std::size_t>(name[0] - '0')};
  const auto index = core::number_of<std::size_t>(std::string_view(name).substr(last + 1));
  if (!index) return {};
  recording.index = *index;
  recording.path = path.string();
  return recording;
}

/// left_out: the names of other files and folders, without hidden ones.
std::vector<Recording> list(const std::string& folder, std::vector<std::string>& left_out) {
  if (!std::filesystem::is_directory(folder)) throw core::ConfigError(core::format("there is no folder '{}'", folder));
  std::vector<Recording> all;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (auto recording = parse_name(entry.path()))
      all.push_back(std::move(*recording));
    else if (const std::string name = entry.path().filename().string(); !name.starts_with('.'))
      left_out.push_back(name);
  std::ranges::sort(left_out);
  if (all.empty()) throw core::ConfigError(core::format("'{}' has no recordings named like 7_jackson_32.wav", folder));
  std::ranges::sort(all, {}, &Recording::order);
  return all;
}

/// Sets the recording's sample rate.
Features features_of(Recording& recording, const ImportFsddOptions& options) {
  const Wave wave = read_wav(recording.path);
  recording.sample_rate = wave.sample_rate;
  FbankOptions fbank{.frame = {}, .bins = options.bins};
  fbank.frame.sample_rate = wave.sample_rate;
  fbank.frame.shift_s = options.frame_shift_s;
  Features features = Fbank(fbank)(wave.samples);
  if (features.rows < options.states)
    throw core::ConfigError(core::format("'{}' has {} frames, too few for the {} states of a word", recording.path,
                                         features.rows, options.states));
  if (options.deltas > 0) features = add_deltas(features, options.deltas);
  FeatureStatistics statistics(features.columns);
  statistics.add(features);
  statistics.normalise(features);
  return features;
}

/// With another rate the same filter covers other frequencies.
void check_rates(const std::vector<Recording>& all) {
  for (const Recording& recording : all)
    if (recording.sample_rate != all.front().sample_rate)
      throw core::ConfigError(
          core::format("'{}' has {} samples per second, but '{}' has {}: resample the recordings to one rate",
                       recording.path, recording.sample_rate, all.front().path, all.front().sample_rate));
}

void report(data::Imported& info, const std::vector<Recording>& all, const std::vector<std::string>& left_out,
            const ImportFsddOptions& options) {
  info.taken.push_back(
      core::format("recordings: {} of {} samples per second; indices below {} for the test{}, the others for training",
                   all.size(), all.front().sample_rate, options.test,
                   options.valid > 0 ? core::format(", the next {} for validation", options.valid) : ""));
  if (!left_out.empty())
    info.warnings.push_back(core::format("left out {} not like 7_jackson_32.wav: {}", data::several(left_out.size(), "name"),
                                         data::some_of(left_out)));
}

/// One digest for all files: the digest of lines "digest  file".
std::string digest_of(const std::vector<Recording>& all) {
  std::string lines;
  for (const auto& recording : all)
    lines += core::format("{}  {}.wav\n", core::sha256_of_file(recording.path), recording.name());
  return core::sha256(std::as_bytes(std::span(lines)));
}

data::Imported describe(const std::vector<Recording>& all, const ImportFsddOptions& options) {
  data::Imported info;
  info.name = "speech-digits";
  info.source = core::format("{} recordings of the Free Spoken Digit Dataset", all.size());
  info.licence = "CC BY-SA 4.0";
  info.source_sha256 = {core::format("recordings: {}", digest_of(all))};
  info.context = options.context;
  info.dim = all.front().features.columns * info.context.frames();
  info.class_names = WordModels::class_names(digit_names(), options.states);
  info.classes = info.class_names.size();
  info.frame_shift_s = options.frame_shift_s;
  return info;
}

data::Subset subset_of(const Recording& recording, const ImportFsddOptions& options) {
  if (recording.index < options.test) return data::Subset::test;
  return recording.index < options.test + options.valid ? data::Subset::valid : data::Subset::train;
}

void write(data::DatasetWriter& writer, data::Subset subset, const std::vector<Recording>& all, const WordModels& models,
           const ImportFsddOptions& options) {
  std::size_t frames = 0;
  for (const auto& recording : all)
    if (subset_of(recording, options) == subset) frames += recording.features.rows;
  if (subset == data::Subset::train && frames == 0)
    throw core::ConfigError(
        core::format("'{}' has no recordings for training, whose indices begin at {}: give a smaller `test` or `valid`",
                     options.recordings, options.test + options.valid));
  writer.begin(subset, frames);
  for (const auto& recording : all) {
    if (subset_of(recording, options) != subset) continue;
    const auto states = models.states_of(std::array{recording.digit});
    const auto labels = align_uniformly(states, recording.features.rows);
    writer.append(std::span<const float>(recording.features.values), std::span<const std::int32_t>(labels));
    writer.end_sequence(recording.name(), recording.speaker);
  }
}

}  // namespace

data::Imported import_fsdd(const ImportFsddOptions& options) {
  if (options.states == 0) throw core::ConfigError("a word needs at least one state");
  std::vector<std::string> left_out;
  auto all = list(options.recordings, left_out);
  for (auto& recording : all) recording.features = features_of(recording, options);
  check_rates(all);
  auto info = describe(all, options);
  report(info, all, left_out, options);
  const WordModels models(info.class_names);
  data::DatasetWriter writer(options.out, info);
  for (const auto subset : {data::Subset::train, data::Subset::valid, data::Subset::test})
    write(writer, subset, all, models, options);
  return data::finish_import(writer, std::move(info));
}

void ImportFsddOptions::describe(core::OptionList& list) {
  list.text("recordings", recordings, "folder of files such as 7_jackson_32.wav").path().required();
  list.text("out", out, "data file to write").path().required();
  list.number("states", states, {.least = 1, .most = 1000}, "number of states of each digit");
  list.number("test", test, core::any_count, "recordings with an index below this form the test set");
  list.number("valid", valid, core::any_count, "number of further indices whose recordings form the validation set");
  describe_mel_features(list, bins, deltas);
  data::describe_context(list, context);
  describe_frame_shift(list, frame_shift_s);
}

data::Importer fsdd_importer() {
  return {"fsdd", "convert recordings of spoken digits (FSDD) into a data file, with flat-start labels",
          "`recordings` recordings `context` 0+0 `out` digits.h5", data::import_with<ImportFsddOptions>(import_fsdd)};
}

}  // namespace paragrad::speech
