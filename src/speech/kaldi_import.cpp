#include "speech/kaldi_import.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/options.hpp"
#include "core/philox.hpp"
#include "core/sha256.hpp"
#include "data/writer.hpp"
#include "speech/feature_options.hpp"
#include "speech/importers.hpp"
#include "speech/kaldi_table.hpp"
#include "speech/normaliser.hpp"

namespace paragrad::speech {
namespace {

using data::Subset;

struct Utterance {
  std::size_t features = 0, alignment = 0;  // entries of the tables
  std::size_t frames = 0;
};

/// Utterances of a table that go into one subset.
struct Set {
  std::size_t subset = 0;
  std::size_t table = 0;  // of which set: 0 training, 1 validation, 2 test; validation utterances may come from table 0
  std::vector<Utterance> utterances;
};

/// An error about an utterance.
core::ConfigError refused(const std::string& utterance, const std::string& why) {
  return core::ConfigError(core::format("utterance '{}' {}", utterance, why));
}

class Import {
 public:
  explicit Import(const ImportKaldiOptions& options) : options_(options), normaliser_(options.cmvn) {
    if (!options.utt2spk.empty()) speakers_ = read_kaldi_map(options.utt2spk);
    if (normaliser_.needs_speakers() && options.utt2spk.empty())
      throw core::ConfigError("`cmvn` speaker needs the speaker of each utterance: give `utt2spk`");
    if (options.valid > 0 && !options.features[1].empty())
      throw core::ConfigError(
          "the validation set comes either from `valid-features` or from the training set: give only one");
  }

  ImportedKaldi run() {
    for (std::size_t i = 0; i < 3; ++i) sets_[i].subset = i;
    for (std::size_t i = 0; i < 3; ++i)
      if (!options_.features[i].empty()) take_table(i);
    if (options_.valid > 0) set_aside();
    if (sets_[0].utterances.empty()) throw core::ConfigError("no utterances are left for the training set");
    describe();
    if (normaliser_.learns()) learn();
    rounding_ = data::RoundedColumns(dim_);
    data::DatasetWriter writer(options_.out, result_.info);
    for (const auto subset : {Subset::train, Subset::valid, Subset::test}) write(writer, subset);
    report();
    result_.info = data::finish_import(writer, std::move(result_.info));
    return std::move(result_);
  }

 private:
  void take_table(std::size_t i);
  bool keep(const KaldiTable& features, const KaldiTable& alignments, Utterance& utterance);
  void set_aside();
  void describe();
  void learn();
  void report();
  void write(data::DatasetWriter& writer, Subset subset);
  void check_labels(const std::string& key, const std::vector<std::int32_t>& labels) const;
  Matrix<double> features_of(const Set& set, const Utterance& utterance) const;
  SpokenBy who(const Set& set, const Utterance& utterance) const;
  const KaldiTable& open(const std::string& name);

  const ImportKaldiOptions& options_;
  Normaliser normaliser_;
  std::unordered_map<std::string, std::string> speakers_;
  std::map<std::string, std::unique_ptr<KaldiTable>> opened_;
  std::array<const KaldiTable*, 3> features_{}, alignments_{};
  std::array<Set, 3> sets_;
  std::size_t dim_ = 0, largest_label_ = 0;
  data::RoundedColumns rounding_{0};
  ImportedKaldi result_;
};

const KaldiTable& Import::open(const std::string& name) {
  auto& table = opened_[name];
  if (!table) table = std::make_unique<KaldiTable>(name);
  return *table;
}

void Import::take_table(std::size_t i) {
  features_[i] = &open(options_.features[i]);
  alignments_[i] = &open(options_.alignments[i].empty() ? options_.alignments[0] : options_.alignments[i]);
  sets_[i].table = i;
  for (std::size_t entry = 0; entry < features_[i]->size(); ++entry) {
    Utterance utterance{entry, 0, 0};
    if (!keep(*features_[i], *alignments_[i], utterance)) continue;
    if (i == 0)
      for (const auto label : alignments_[0]->object(utterance.alignment).whole())
        largest_label_ = std::max(largest_label_, static_cast<std::size_t>(std::max(label, 0)));
    sets_[i].utterances.push_back(utterance);
  }
}

/// Whether an utterance has an alignment of its length; fills in the missing fields. Otherwise throws unless such utterances
/// are to be skipped.
bool Import::keep(const KaldiTable& features, const KaldiTable& alignments, Utterance& utterance) {
  const auto& key = features.key(utterance.features);
  const auto object = features.object(utterance.features);
  utterance.frames = object.rows();
  const auto alignment = alignments.find(key);
  const auto skip = [&](std::size_t& count, const std::string& why) {
    if (!options_.skip_missing) throw refused(key, why + "; use `skip-missing` to leave such utterances out");
    ++count;
    return false;
  };
  if (!alignment) return skip(result_.without_alignment, "has no alignment");
  utterance.alignment = *alignment;
  const std::size_t labels = alignments.object(*alignment).columns();
  if (labels != utterance.frames || labels == 0)
    return skip(result_.other_length, core::format("has {} frames, but its alignment has {}", utterance.frames, labels));
  if (dim_ == 0) dim_ = object.columns();
  if (object.columns() != dim_)
    throw refused(key,
                  core::format("has {} features per frame, but the utterances before it have {}", object.columns(), dim_));
  return true;
}

/// Draws utterances of the training set for validation; both parts keep their order.
void Import::set_aside() {
  const auto all = std::move(sets_[0].utterances);
  if (options_.valid >= all.size())
    throw core::ConfigError(core::format("a validation set of {} uses up all {} training utterances: give a smaller `valid`",
                                         options_.valid, all.size()));
  const auto order =
      core::RandomStream(options_.seed, core::Purpose::validation_split).permutation(static_cast<std::uint32_t>(all.size()));
  std::vector<bool> drawn(all.size(), false);
  for (std::size_t i = 0; i < options_.valid; ++i) drawn[order[i]] = true;
  sets_[0].utterances.clear();
  for (std::size_t i = 0; i < all.size(); ++i) sets_[drawn[i] ? 1 : 0].utterances.push_back(all[i]);
  sets_[1].table = 0;
}

std::vector<std::string> read_names(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw core::ConfigError(core::format("cannot read '{}'", path));
  std::vector<std::string> names;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    names.push_back(line);
  }
  return names;
}

/// "file: digest" of the file that a table name refers to.
void add_source(const std::string& name, std::vector<std::string>& sources) {
  if (name.empty()) return;
  const auto path = name.starts_with("ark") || name.starts_with("scp:") ? name.substr(name.find(':') + 1) : name;
  const auto text = core::format("{}: {}", std::filesystem::path(path).filename().string(), core::sha256_of_file(path));
  if (std::find(sources.begin(), sources.end(), text) == sources.end()) sources.push_back(text);
}

void Import::describe() {
  auto& info = result_.info;
  info.name = options_.name;
  info.source = core::format("{}{}Kaldi; cmvn {}", options_.source, options_.source.empty() ? "" : "; ", options_.cmvn);
  if (options_.valid > 0)
    info.source +=
        core::format("; {} utterances of the training set drawn for validation with seed {}", options_.valid, options_.seed);
  info.licence = options_.licence;
  for (const auto* names : {&options_.features, &options_.alignments})
    for (const auto& name : *names) add_source(name, info.source_sha256);
  add_source(options_.utt2spk, info.source_sha256);
  if (normaliser_.reads_file()) add_source(options_.cmvn, info.source_sha256);
  info.context = options_.context;
  info.dim = dim_ * info.context.frames();
  info.classes = options_.classes > 0 ? options_.classes : largest_label_ + 1;
  data::check_number_of_classes(info.classes, core::format("the label {} of '{}'", largest_label_, options_.alignments[0]),
                                "alignments are classes, from Kaldi's ali-to-pdf");
  info.frame_shift_s = options_.frame_shift_s;
  if (!options_.class_names.empty()) info.class_names = read_names(options_.class_names);
  if (!info.class_names.empty() && info.class_names.size() != info.classes)
    throw core::ConfigError(core::format("'{}' names {} classes, but there are {}", options_.class_names,
                                         info.class_names.size(), info.classes));
}

/// Alignments may serve several sets, so those without features are counted over all.
void Import::report() {
  auto& info = result_.info;
  info.taken.push_back(
      core::format("utterances: {} for training, {} for validation, {} for the test; a frame every {:g} ms; cmvn {}",
                   sets_[0].utterances.size(), sets_[1].utterances.size(), sets_[2].utterances.size(),
                   1000 * info.frame_shift_s, options_.cmvn));
  if (const std::string loss = rounding_.loss([](std::size_t d) { return core::format("feature {}", d + 1); });
      !loss.empty())
    info.warnings.push_back(
        core::format("float32, in which features are stored, rounds {}: `cmvn` subtracts its mean first", loss));
  std::vector<std::string> unused;
  std::set<const KaldiTable*> seen;
  for (const KaldiTable* alignments : alignments_) {
    if (alignments == nullptr || !seen.insert(alignments).second) continue;
    for (std::size_t entry = 0; entry < alignments->size(); ++entry) {
      const std::string& key = alignments->key(entry);
      if (std::ranges::none_of(features_, [&](const KaldiTable* table) { return table != nullptr && table->find(key); }))
        unused.push_back(key);
    }
  }
  if (!unused.empty())
    info.warnings.push_back(core::format("left out {} of utterances without features: {}",
                                         data::several(unused.size(), "alignment"), data::some_of(unused)));
}

SpokenBy Import::who(const Set& set, const Utterance& utterance) const {
  const auto& key = features_[set.table]->key(utterance.features);
  const auto found = speakers_.find(key);
  if (!options_.utt2spk.empty() && found == speakers_.end())
    throw refused(key, core::format("has no speaker in '{}'", options_.utt2spk));
  return {key, found == speakers_.end() ? "" : found->second, set.subset};
}

/// In double until they are normalised.
Matrix<double> Import::features_of(const Set& set, const Utterance& utterance) const {
  return features_[set.table]->object(utterance.features).matrix<double>();
}

void Import::learn() {
  for (const auto& set : sets_)
    for (const auto& utterance : set.utterances) normaliser_.learn(who(set, utterance), features_of(set, utterance));
}

void Import::check_labels(const std::string& key, const std::vector<std::int32_t>& labels) const {
  for (std::size_t t = 0; t < labels.size(); ++t)
    if (labels[t] < 0 || static_cast<std::size_t>(labels[t]) >= result_.info.classes)
      throw refused(
          key, core::format("has class {} in frame {}, but there are only {} classes", labels[t], t, result_.info.classes));
}

void Import::write(data::DatasetWriter& writer, Subset subset) {
  const auto& set = sets_[static_cast<std::size_t>(subset)];
  std::size_t frames = 0;
  for (const auto& utterance : set.utterances) frames += utterance.frames;
  writer.begin(subset, frames);
  for (const auto& utterance : set.utterances) {
    const auto spoken = who(set, utterance);
    auto features = features_of(set, utterance);
    normaliser_.apply(spoken, features);
    std::vector<float> values;
    for (std::size_t i = 0; i < features.values.size(); ++i)
      values.push_back(options_.cmvn == "none" ? rounding_.round(i % dim_, features.values[i])
                                               : static_cast<float>(features.values[i]));
    if (!std::ranges::all_of(values, [](float x) { return std::isfinite(x); }))
      throw refused(spoken.utterance, "has features that are not finite");
    const auto labels = alignments_[set.table]->object(utterance.alignment).whole();
    check_labels(spoken.utterance, labels);
    writer.append(std::span<const float>(values), std::span<const std::int32_t>(labels));
    writer.end_sequence(spoken.utterance, spoken.speaker);
  }
}

}  // namespace

ImportedKaldi import_kaldi(const ImportKaldiOptions& options) { return Import(options).run(); }

void ImportKaldiOptions::describe(core::OptionList& list) {
  list.text("features", features[0], "table of training features: FILE.scp, or an archive").path().required();
  list.text("alignments", alignments[0], "table of the int32 class of each frame (from ali-to-pdf)").path().required();
  list.text("valid-features", features[1], "table of validation features").path();
  list.text("valid-alignments", alignments[1], "table of validation alignments, if they are not in `alignments`")
      .path()
      .when(!features[1].empty(), "belongs to `valid-features`: give that too");
  list.text("test-features", features[2], "table of test features").path();
  list.text("test-alignments", alignments[2], "table of test alignments, if they are not in `alignments`")
      .path()
      .when(!features[2].empty(), "belongs to `test-features`: give that too");
  list.text("utt2spk", utt2spk, "file with the speaker of each utterance").path();
  list.text(
      "cmvn", cmvn,
      "normalisation of mean and variance: utterance, speaker, global (training set), none, or a file of statistics or "
      "transforms");
  data::describe_context(list, context);
  describe_frame_shift(list, frame_shift_s);
  list.flag("skip-missing", skip_missing, "skip utterances without alignment, or whose alignment has a different length");
  list.text("out", out, "data file to write").path().required();
  list.text("name", name, "name of the data set").required();
  list.text("source", source, "origin of the files, recorded in the data file");
  list.text("licence", licence, "licence of the data, recorded in the data file");
  list.number("valid", valid, core::any_count, "training utterances to set aside for validation");
  list.number("seed", seed, core::any_seed, "random seed for drawing the validation set")
      .when(valid > 0, "is for drawing a validation set: give `valid` too");
  list.number("classes", classes, {.most = data::most_classes}, "number of classes (0: largest training label + 1)");
  list.text("class-names", class_names, "file of class names, one per line").path();
}

data::Importer kaldi_importer() {
  return {"kaldi", "convert Kaldi features and alignments (ark, scp) into a data file",
          "`features` feats.scp `alignments` ali.ark `cmvn` utterance `context` 5+5 \\\n"
          "    `valid` 2 `name` speech `out` speech.h5",
          data::import_with<ImportKaldiOptions>([](const ImportKaldiOptions& options) {
            ImportedKaldi imported = import_kaldi(options);
            if (options.skip_missing)
              imported.info.taken.push_back(
                  core::format("skipped {} utterances without alignment and {} whose alignment has a different length",
                               imported.without_alignment, imported.other_length));
            return imported.info;
          })};
}

}  // namespace paragrad::speech
