#include "app/cntk/cntk_import.hpp"

#include <algorithm>
#include <cmath>

#include "core/format.hpp"
#include "core/join.hpp"

namespace paragrad::app {
namespace {

using Entry = BrainScript::Entry;
using Section = CntkSection;

struct Method {
  Section section;
  const char* name;
  const char* strategy;
};

constexpr Method methods[] = {{Section::data_parallel, "DataParallelSGD", "data_parallel"},
                              {Section::bmuf, "BlockMomentumSGD", "bmuf"},
                              {Section::model_averaging, "ModelAveragingSGD", "model_averaging"},
                              {Section::asgd, "DataParallelASGD", "async_sgd"}};

constexpr const char* cntk_default = "CNTK's default";

std::string toml(double value) { return core::format("{}", value); }
std::string toml(bool value) { return value ? "true" : "false"; }
std::string toml(const char* value) { return core::format("\"{}\"", value); }

class CntkImporter {
 public:
  CntkImporter(const BrainScript& script, int workers) : block_(script), workers_(workers) {}
  CntkImport run(std::string file);

 private:
  void choose_method();
  void surroundings();
  void parallel_train();
  void sync_period(double by_default);
  void block_momentum();
  void exchange_period();
  void parallel_utterances();
  void gradient_bits();
  void minibatch();
  void learning_rate();
  void warm_up(bool per_sample);
  void momentum();
  void clipping();
  void auto_minibatch();
  void other_keys();
  void treat(const CntkKey& key, const Entry& entry);

  double first_of(const Entry* entry, double by_default);
  bool searches_rate() const;
  bool local() const;
  double share(double samples) const;

  void set(const char* option, std::string value, std::string origin = "") {
    settings_.push_back({option, std::move(value), std::move(origin)});
  }
  void note(int line, std::string text) { block_.note(line, std::move(text)); }
  void lose(int line, std::string text) { block_.lose(line, std::move(text)); }

  CntkBlock block_;
  int workers_;
  const Method* method_ = nullptr;  // of parallel training
  int method_line_ = 0;             // where it is chosen
  std::vector<double> sizes_{256};  // of minibatches, epoch by epoch
  std::vector<CntkImport::Setting> settings_;
};

CntkImport CntkImporter::run(std::string file) {
  block_.read(Section::sgd, "AutoAdjust", Section::auto_adjust);
  block_.read(Section::sgd, "ParallelTrain", Section::parallel);
  choose_method();
  surroundings();
  parallel_train();
  minibatch();
  parallel_utterances();
  if (method_ != nullptr && method_->section == Section::asgd) exchange_period();
  learning_rate();
  momentum();
  clipping();
  auto_minibatch();
  other_keys();
  return {std::move(file), block_.line(), std::move(settings_), block_.remarks()};
}

/// Whether workers train independently for some minibatches, each of its own size.
bool CntkImporter::local() const { return method_ != nullptr && method_->section != Section::data_parallel; }

double CntkImporter::first_of(const Entry* entry, double by_default) {
  if (entry == nullptr) return by_default;
  const auto values = block_.list(*entry);
  if (values.size() > 1)
    lose(entry->line, core::format("{} = {} changes over the epochs, which cannot be expressed: the first value is used",
                                   entry->key, shown(entry->value)));
  return values[0];
}

bool CntkImporter::searches_rate() const {
  const Entry* search = block_.find(Section::auto_adjust, "autoAdjustLR");
  return search != nullptr && !same_key(search->value, "none") && !same_key(search->value, "false");
}

/// CNTK's readers give each worker its share of a minibatch; where workers train independently, Paragrad counts per worker.
double CntkImporter::share(double samples) const {
  return local() && workers_ > 0 ? std::max(1., std::floor(samples / workers_)) : samples;
}

// ---- parallel training ----

void CntkImporter::choose_method() {
  const Entry* parallel = block_.find(Section::sgd, "ParallelTrain");
  if (parallel == nullptr) return;
  const Entry* name = block_.find(Section::parallel, "parallelizationMethod");
  if (name == nullptr && block_.given(Section::parallel, "parallelizationMethod")) return;
  if (name != nullptr && (same_key(name->value, "none") || name->value.empty())) return;
  std::vector<std::string> known;
  std::vector<const Method*> chosen;
  for (const Method& method : methods) {
    known.push_back(method.name);
    if (name != nullptr ? same_key(name->value, method.name) : block_.given(Section::parallel, method.name))
      chosen.push_back(&method);
  }
  if (name != nullptr && chosen.empty())
    throw block_.error(*name, core::unknown_name("parallelizationMethod", shown(name->value), known).what());
  if (chosen.size() != 1) {
    lose(parallel->line,
         core::format("ParallelTrain has no parallelizationMethod, and {} blocks of methods: choose --strategy",
                      chosen.size()));
    return;
  }
  if (name == nullptr)
    note(parallel->line,
         core::format("ParallelTrain has no parallelizationMethod: {} is taken, the only method with a block "
                      "(CNTK would not train in parallel)",
                      chosen[0]->name));
  method_ = chosen[0];
  method_line_ = (name != nullptr ? name : parallel)->line;
  block_.read(Section::parallel, method_->name, method_->section);
  if (method_->section == Section::asgd) block_.read(Section::asgd, "AdjustLearningRateAtBeginning", Section::asgd);
}

/// Handles precision and parallel training in the enclosing blocks.
void CntkImporter::surroundings() {
  const auto precision = block_.outside("precision");
  if (precision && !precision->value.empty() && !same_key(precision->value, "float"))
    lose(precision->line,
         core::format("precision = {} cannot be expressed: all computations use float32", shown(precision->value)));
  const auto parallel = block_.outside("parallelTrain");
  if (parallel && method_ != nullptr && !parallel->value.empty() && !block_.yes_no(*parallel))
    note(parallel->line, "parallelTrain = false: CNTK would have used one worker and ignored ParallelTrain");
}

void CntkImporter::parallel_train() {
  if (method_ == nullptr) return;
  set("strategy", toml(method_->strategy));
  if (method_->section == Section::data_parallel) gradient_bits();
  if (method_->section == Section::model_averaging) sync_period(40000);
  if (method_->section == Section::bmuf) {
    sync_period(120000);
    block_momentum();
  }
}

void CntkImporter::sync_period(double by_default) {
  const Section section = method_->section;
  const Entry* misspelt = block_.find(section, "syncPeroid");
  const Entry* documented = block_.find(section, "syncPeriod");
  if (misspelt != nullptr)
    note(misspelt->line, "syncPeroid: CNTK checked for this misspelt key, and then read syncPeriod");
  else if (section == Section::model_averaging && documented != nullptr && block_.number(*documented) != by_default)
    note(documented->line,
         core::format("syncPeriod = {}: CNTK checked for the misspelt key syncPeroid, ignored this one and "
                      "synchronised every {} samples",
                      shown(documented->value), by_default));
  const Entry* one = block_.only_one_of(section, {"syncPeriod", "blockSizePerWorker", "blockSize", "syncFrequencyInFrames"});
  if (one == nullptr) one = misspelt;
  if (one == nullptr) {
    bool said = false;
    for (const char* name : {"syncPeriod", "blockSizePerWorker", "blockSize", "syncFrequencyInFrames", "syncPeroid"})
      said = said || block_.given(section, name);
    if (!said) set("sync-period", toml(by_default), cntk_default);
  } else if (!same_key(one->key, "blockSize")) {
    set("sync-period", toml(block_.whole(*one)));
  } else if (workers_ > 0) {
    set("sync-period", toml(share(block_.whole(*one))),
        core::format("blockSize {} for all {} workers together", one->value, workers_));
  } else {
    lose(one->line,
         core::format("blockSize = {} counts the samples of all workers together, but sync-period those of one: give "
                      "--workers",
                      toml(block_.whole(*one))));
  }
}

void CntkImporter::block_momentum() {
  set("bmuf-kind", toml(block_.is_yes(Section::bmuf, "useNesterovMomentum", true) ? "nbm_cntk" : "cbm"),
      block_.given(Section::bmuf, "useNesterovMomentum") ? "" : cntk_default);
  set("reset-local-momentum", toml(block_.is_yes(Section::bmuf, "resetSGDMomentum", true)),
      block_.given(Section::bmuf, "resetSGDMomentum") ? "" : cntk_default);
  set("block-learning-rate-form", toml("cntk"));
  const Entry* one = block_.only_one_of(Section::bmuf, {"blockMomentumPerSync", "blockMomentumAsTimeConstant"});
  if (one == nullptr) return;  // 1 - 1/N, as here
  const bool per_sync = same_key(one->key, "blockMomentumPerSync");
  set(per_sync ? "block-momentum" : "block-momentum-time-constant", toml(block_.number(*one)));
  if (!per_sync)
    block_.note(one->line,
                "blockMomentumAsTimeConstant is taken per worker, as CNTK's documentation defines it; its program "
                "divides it by the number of workers");
}

/// CNTK's workers push what they have learned since the last exchange after so many samples, and fetch the model.
void CntkImporter::exchange_period() {
  const Entry* period = block_.only_one_of(Section::asgd, {"syncPeriod", "syncPeriodPerWorker"});
  if (period == nullptr && (block_.given(Section::asgd, "syncPeriod") || block_.given(Section::asgd, "syncPeriodPerWorker")))
    return;
  const double samples = first_of(period, 256), size = share(sizes_[0]);
  const double minibatches = std::max(1., std::round(samples / size));
  const std::string origin = core::format("{}{} samples between two exchanges, in minibatches of {}",
                                          period == nullptr ? "CNTK's default, " : "", toml(samples), toml(size));
  set("push-every", toml(minibatches), origin);
  set("fetch-every", toml(minibatches));
}

/// Recurrent networks: CNTK's reader takes so many utterances at a time, which is not in the SGD block.
void CntkImporter::parallel_utterances() {
  const auto utterances = block_.in_reader("nbruttsineachrecurrentiter"), frames = block_.in_reader("frameMode");
  if (!utterances || (frames && block_.yes_no(*frames))) return;  // which concerns single frames
  lose(utterances->line,
       core::format(
           "nbruttsineachrecurrentiter = {} is the number of utterances in a minibatch of a recurrent network, which "
           "--minibatch counts for one: give --minibatch",
           shown(utterances->value)));
}

void CntkImporter::gradient_bits() {
  const Section section = Section::data_parallel;
  const double bits =
      std::min(32., first_of(block_.find(section, "gradientBits"), 32));  // 64: double precision, not quantised either
  if (block_.find(section, "gradientBits") != nullptr) set("gradient-bits", toml(bits));
  const Entry* said = block_.find(section, "useZeroThresholdFor1BitQuantization");
  if (bits == 1)
    set("quantise-threshold", toml(block_.is_yes(section, "useZeroThresholdFor1BitQuantization", true) ? "zero" : "mean"),
        said != nullptr ? "" : cntk_default);
  else if (said != nullptr)
    note(said->line, "useZeroThresholdFor1BitQuantization is ignored: gradients do not have 1 bit");
}

// ---- minibatches, learning rate, momentum ----

void CntkImporter::minibatch() {
  const Entry* entry = block_.find(Section::sgd, "minibatchSize");
  if (entry == nullptr && block_.given(Section::sgd, "minibatchSize")) return;
  if (entry != nullptr) sizes_ = block_.list(*entry);
  const double size = first_of(entry, sizes_[0]);
  for (const double samples : sizes_)
    if (!(samples >= 1 && samples == std::floor(samples)))
      throw block_.error(*entry, core::format("minibatchSize = {} is not a number of samples", shown(entry->value)));
  std::string origin = entry == nullptr ? cntk_default : "";
  const int line = entry == nullptr ? block_.line() : entry->line;
  if (local() && workers_ == 0)
    note(line, core::format("minibatchSize {} counts all workers together in CNTK, but each worker here: divide it by their "
                            "number, or give --workers",
                            toml(size)));
  if (local() && workers_ > 0) {
    if (!origin.empty()) origin += ", ";
    origin += core::format("minibatchSize {} for all {} workers together", toml(size), workers_);
    if (share(size) * workers_ != size)
      note(line, core::format("minibatchSize {} is not a multiple of {} workers: each takes {}", toml(size), workers_,
                              toml(share(size))));
  }
  set("minibatch", toml(share(size)), origin);
}

void CntkImporter::learning_rate() {
  const Entry* entry = block_.only_one_of(Section::sgd, {"learningRatesPerSample", "learningRatesPerMB"});
  if (entry == nullptr) {
    if (!block_.given(Section::sgd, "learningRatesPerSample") && !block_.given(Section::sgd, "learningRatesPerMB"))
      note(block_.line(), "the block has neither learningRatesPerSample nor learningRatesPerMB: give --learning-rate");
    return;
  }
  std::vector<double> rates = block_.list(*entry);
  bool per_sample = same_key(entry->key, "learningRatesPerSample");
  std::string origin;
  if (!per_sample && (local() || sizes_.size() > 1)) {  // minibatches here differ from CNTK's
    origin = core::format("learningRatesPerMB {}, of minibatchSize {}", shown(entry->value), toml(sizes_[0]));
    rates.resize(std::max(rates.size(), sizes_.size()), rates.back());
    for (std::size_t epoch = 0; epoch < rates.size(); ++epoch) rates[epoch] /= sizes_[std::min(epoch, sizes_.size() - 1)];
    per_sample = true;
  }
  set("learning-rate", toml(rates[0]), origin);
  set("learning-rate-per", toml(per_sample ? "sample" : "minibatch"));
  warm_up(per_sample);
  if (rates.size() == 1) return;
  set("schedule", toml("table"));
  set("schedule-rates", core::format("[{}]", core::join(rates, ", ")));
}

/// The rate at the beginning of warmupEpochs, in the unit of the learning rate.
void CntkImporter::warm_up(bool per_sample) {
  const Entry* from = block_.only_one_of(Section::sgd, {"startLearnRatePerMB", "startLearnRatePerSample"});
  if (from == nullptr) return;
  if (!block_.given(Section::sgd, "warmupEpochs"))
    return lose(from->line, core::format("{} = {} has no effect without warmupEpochs", from->key, shown(from->value)));
  const bool given_per_sample = same_key(from->key, "startLearnRatePerSample");
  const double factor = given_per_sample == per_sample ? 1 : given_per_sample ? sizes_[0] : 1 / sizes_[0];
  set("warm-up-from", toml(block_.number(*from) * factor),
      factor == 1 ? "" : core::format("{} {}, of minibatchSize {}", from->key, shown(from->value), toml(sizes_[0])));
}

void CntkImporter::momentum() {
  const Entry* entry = block_.only_one_of(Section::sgd, {"momentumPerMB", "momentumPerSample", "momentumAsTimeConstant"});
  for (const char* name : {"momentumPerMB", "momentumPerSample", "momentumAsTimeConstant"})
    if (entry == nullptr && block_.given(Section::sgd, name)) return;
  const bool time_constant = entry != nullptr && same_key(entry->key, "momentumAsTimeConstant");
  const bool per_sample = entry != nullptr && same_key(entry->key, "momentumPerSample");
  const double value = first_of(entry, 0.9);
  if (value < 0 || (!time_constant && value >= 1))
    throw block_.error(*entry, core::format("{} = {} is outside [0, 1)", entry->key, shown(entry->value)));
  std::string origin = entry == nullptr ? cntk_default : "";
  // If minibatches differ from CNTK's, or change their size, momentum is expressed independently of them.
  const bool convert =
      !time_constant && (per_sample || local() || block_.is_yes(Section::auto_adjust, "autoAdjustMinibatch", false));
  if (value == 0 || (!time_constant && !convert)) {
    set("momentum", toml(value), origin);
  } else if (convert) {
    const double samples = per_sample ? 1 : sizes_[0];
    if (!origin.empty()) origin += ", ";
    origin += core::format("momentum {} per {}", toml(value), per_sample ? "sample" : core::format("{} samples", samples));
    set("momentum-time-constant", toml(-samples / std::log(value)), origin);
  } else {
    set("momentum-time-constant", toml(value));
  }
  if (value > 0) set("unit-gain-momentum", toml(true), "as CNTK computes it");
  if (value > 0 && method_ != nullptr && method_->section == Section::asgd)
    note(method_line_, "DataParallelASGD: CNTK's workers apply the momentum, here the servers do");
  const Entry* other = block_.find(Section::sgd, "useNesterovMomentum");
  if (other != nullptr) note(other->line, "useNesterovMomentum: in the SGD block CNTK read useNAG and ignored this key");
  const bool nesterov =
      block_.is_yes(Section::sgd, "useNAG", false) || block_.is_yes(Section::sgd, "useNesterovMomentum", false);
  set("optimiser", toml(nesterov ? "nesterov" : "momentum"));
}

void CntkImporter::clipping() {
  const Entry* threshold = block_.find(Section::sgd, "clippingThresholdPerSample");
  if (threshold == nullptr || std::isinf(to_number(threshold->value).value_or(0))) return;
  set("clip-gradient", toml(block_.number(*threshold)));
  set("clip", toml(block_.is_yes(Section::sgd, "gradientClippingWithTruncation", true) ? "truncate" : "norm"),
      block_.given(Section::sgd, "gradientClippingWithTruncation") ? "" : cntk_default);
}

void CntkImporter::auto_minibatch() {
  if (!block_.is_yes(Section::auto_adjust, "autoAdjustMinibatch", false)) return;
  const auto copy = [&](const char* name, const char* option, double by_default) {
    const Entry* entry = block_.find(Section::auto_adjust, name);
    if (entry != nullptr || !block_.given(Section::auto_adjust, name))
      set(option, toml(entry == nullptr ? by_default : block_.number(*entry)), entry == nullptr ? cntk_default : "");
  };
  set("auto-minibatch", toml(true));
  copy("minibatchSizeTuningFrequency", "minibatch-tuning-frequency", 1);
  copy("minibatchSearchCriterionErrorMargin", "minibatch-error-margin", 1);
  const Entry* most = block_.find(Section::auto_adjust, "minibatchSizeTuningMax");
  if (most != nullptr || !block_.given(Section::auto_adjust, "minibatchSizeTuningMax"))
    set("minibatch-max", toml(share(most == nullptr ? 1048576 : block_.whole(*most))), most == nullptr ? cntk_default : "");
  if (const Entry* samples = block_.find(Section::auto_adjust, "numSamples4Search"))
    set("minibatch-search-samples", toml(first_of(samples, 0)));
  else if (!block_.given(Section::auto_adjust, "numSamples4Search"))
    set("minibatch-search-samples",
        toml(first_of(block_.find(Section::auto_adjust, "numMiniBatch4LRSearch"), 500) * sizes_[0]),
        block_.given(Section::auto_adjust, "numMiniBatch4LRSearch") ? "numMiniBatch4LRSearch minibatches" : cntk_default);
}

// ---- the other keys, one by one ----

void CntkImporter::other_keys() {
  for (const CntkKey& key : cntk_keys())
    if (const Entry* entry = block_.find(key.section, key.name)) treat(key, *entry);
}

bool is_fixed_at(std::string_view values, std::string_view text) {
  for (const std::string_view value : split(values, '|')) {
    if (same_key(value, text)) return true;
    const auto expected = to_number(value);
    const auto parts = split(text, ':');
    if (expected &&
        std::all_of(parts.begin(), parts.end(), [&](auto part) { return to_number(split(part, '*')[0]) == expected; }))
      return true;
  }
  return false;
}

void CntkImporter::treat(const CntkKey& key, const Entry& entry) {
  const auto cannot = [&] {
    lose(entry.line, core::format("{} = {} cannot be expressed: {}", key.name, shown(entry.value), key.reason));
  };
  switch (key.treatment) {
    case CntkTreatment::whole:
      return set(key.argument, toml(block_.whole(entry)));
    case CntkTreatment::number:
      return set(key.argument, toml(block_.number(entry)));
    case CntkTreatment::yes_no:
      return set(key.argument, toml(block_.yes_no(entry)));
    case CntkTreatment::remark:
      return note(entry.line, core::format("{} {}", key.name, key.reason));
    case CntkTreatment::fixed:
      return is_fixed_at(key.argument, entry.value) ? void() : cannot();
    case CntkTreatment::of_search:
      return searches_rate() ? cannot() : void();
    case CntkTreatment::joined:
    case CntkTreatment::unneeded:
      return;
  }
}

}  // namespace

std::string CntkImport::toml() const {
  std::string text = core::format("# The SGD block (line {}) of {}, by paragrad import-cntk\n", line, shown(file));
  for (const CntkRemark& remark : remarks) text += core::format("# line {}: {}\n", remark.line, remark.text);
  for (const Setting& setting : settings) {
    if (!setting.origin.empty()) text += core::format("# {}:\n", setting.origin);
    text += core::format("{} = {}\n", setting.option, setting.value);
  }
  return text;
}

CntkImport import_cntk(const BrainScript& script, int workers) { return CntkImporter(script, workers).run(script.name()); }

}  // namespace paragrad::app
