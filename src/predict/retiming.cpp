#include "predict/retiming.hpp"

#include <sstream>
#include <utility>

#include "cli/command.hpp"
#include "cli/flat_toml.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "core/printable.hpp"
#include "metrics/run_folder.hpp"
#include "nn/model.hpp"
#include "runs/finished_run.hpp"
#include "runs/training.hpp"
#include "runs/training_report.hpp"
#include "system/files.hpp"

namespace paragrad::predict {
namespace {

core::ConfigError cannot(const std::string& folder, const std::string& why) {
  return core::ConfigError(core::format("'{}' cannot be timed again: {}", core::printable(folder), why));
}

/// The options of `simulate` that a run was given, without those of the world it ran in, as words of a command line.
std::vector<std::string> words_of(const std::string& folder, const CLI::App& parser) {
  std::vector<std::string> words;
  const std::string path = folder + "/config.toml";
  for (const cli::ConfigEntry& entry : cli::read_flat_toml(system::read_text(path), path)) {
    if (entry.key == "platform" || entry.key == "device" || parser.get_option_no_throw("--" + entry.key) == nullptr)
      continue;
    words.push_back(core::format("--{}={}", entry.key, core::join(entry.values, ",")));
  }
  return words;
}

/// The run's options, to be timed: epochs and workers as they were in the end.
SimulationArguments arguments_of(const std::string& folder, const core::Json& manifest) {
  SimulationArguments arguments;
  runs::TrainingArguments& training = arguments.training;
  train::TrainingOptions& options = training.options;
  training.device = "meta", training.is_kept = false;
  arguments.world.needs_platform = false;
  const auto parser = cli::make_parser("simulate", "");
  runs::add_training_options(*parser, arguments);
  std::vector<std::string> words = words_of(folder, *parser);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  if (cli::parse(*parser, pointers)) throw cannot(folder, "its config.toml is damaged");
  runs::resolve(training);
  if (strategies::strategy_entry(options.strategy).has_servers)
    throw cannot(folder, core::format("with {} the times of messages decide what is learnt", options.strategy));
  if (options.balance) throw cannot(folder, "with --balance the speeds of workers decide what each of them learns");
  if (options.minibatch_search.enabled) throw cannot(folder, "with --auto-minibatch losses decide how long it trains");
  if (options.pretraining.epochs > 0) throw cannot(folder, "only trainings without pretraining can");
  const nn::Graph network = nn::make_graph(options.model);
  if (network.reads_sequences() && !network.tokens())
    throw cannot(folder, "its sequences differ in length, and a timing run knows only one");
  options.computes = false;
  options.epochs = manifest.at("result").at("epochs").get<int>();
  options.schedule = {.initial_rate = 1};  // unused
  arguments.world.workers = manifest.at("run").at("workers").get<int>();
  return arguments;
}

/// The config.toml of the run on another platform; of a measured run, with what an emulated one has in addition.
std::string config_on(const std::string& folder, const std::string& platform, int workers) {
  std::string config;
  std::istringstream lines(system::read_text(folder + "/config.toml"));
  bool has_workers = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("platform=")) continue;
    has_workers = has_workers || line.starts_with("workers=");
    config += line + "\n";
  }
  if (!has_workers) config += core::format("workers={}\n", workers);
  return config + core::format("platform={}\n", cli::as_toml(platform));
}

bool is_of_the_network(const std::string& name) {
  return name.ends_with("_s") || name.ends_with("_bytes") || name == "exposed" || name == "messages";
}

}  // namespace

Retiming::Retiming(const std::string& folder) : folder_(folder), manifest_(runs::read_manifest(folder)) {
  runs::read_finished_run(folder);
  try {
    if (manifest_.contains("platform")) platform_ = manifest_.at("platform").at("name").get<std::string>();
    std::istringstream lines(system::read_text(folder + "/metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) original_.push_back(core::parse_json(line));
    if (original_.empty() || !original_.back().contains("end")) throw cannot(folder, "its records are incomplete");
    for (const core::Json& record : original_)
      for (const char* const time : {"optimise_s", "aggregate_s", "validate_s", "exposed"}) record.at(time).get<double>();
    original_.back().at("training_s").get<double>();
    run_.emplace(arguments_of(folder, manifest_));
  } catch (const core::ConfigError&) {
    throw;
  } catch (const std::exception& error) {  // of core::Json, most of them
    throw cannot(folder, core::format("its records are damaged: {}", error.what()));
  }
}

Retiming::Records Retiming::on(const sim::Platform& platform) const {
  if (platform.failures)
    throw cannot(folder_, core::format("the devices of '{}' fail, and a timing run has no state to resume from",
                                       core::printable(platform.name)));
  Records timed;
  const train::Output output{.on_record = [&](const core::Json& record) { timed.push_back(record); }, .explains = false};
  const train::Result result = run_->train(platform, run_->known_rate(platform), 1, output);
  timed.push_back(runs::end_record(result));
  if (timed.size() != original_.size())
    throw cannot(folder_, core::format("it has {} records and would have {}", original_.size(), timed.size()));
  Records records = original_;
  for (std::size_t i = 0; i < records.size(); ++i)
    for (const auto& [name, value] : timed[i].items())
      if (is_of_the_network(name)) records[i][name] = value;
  return records;
}

void Retiming::write(const std::string& into, bool overwrite, const sim::Platform& platform, const Records& records) const {
  core::Json manifest = manifest_;
  for (const char* const of_the_other : {"simulation", "finished", "mpi"}) manifest.erase(of_the_other);
  manifest["run"]["world"] = "simulation";
  manifest["platform"] = {{"name", platform.name}, {"file_sha256", platform.sha256}, {"nodes", platform.nodes}};
  manifest["retimed"] = {{"run", folder_}, {"platform", platform_ ? core::Json(*platform_) : core::Json(nullptr)}};
  manifest["result"] = records.back();
  using Existing = metrics::RunFolder::Existing;
  metrics::RunFolder folder(into, overwrite ? Existing::replace : Existing::refuse);
  folder.write("config.toml", config_on(folder_, platform.file, manifest_.at("run").at("workers").get<int>()));
  for (const core::Json& record : records) folder.record(record);
  folder.sync();
  folder.write("manifest.json", core::text_of(manifest, 2) + "\n");
}

}  // namespace paragrad::predict
