#include "predict/retiming.hpp"

#include <set>
#include <sstream>
#include <utility>

#include "cli/command.hpp"
#include "cli/described_options.hpp"
#include "cli/flat_toml.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "core/printable.hpp"
#include "metrics/run_folder.hpp"
#include "nn/model.hpp"
#include "nn/node_text.hpp"
#include "optim/schedule.hpp"
#include "runs/finished_run.hpp"
#include "runs/training.hpp"
#include "runs/training_report.hpp"
#include "system/files.hpp"
#include "train/observers/loop_observer.hpp"

namespace paragrad::predict {
namespace {

core::ConfigError cannot(const std::string& folder, const std::string& why) {
  return core::ConfigError(core::format("'{}' cannot be timed again: {}", core::printable(folder), why));
}

/// What may end a training early or choose among its models, which a timing run cannot: its end is known.
std::set<std::string> options_of_observers() {
  train::TrainingOptions any;
  core::OptionList list;
  for (const train::LoopObserverEntry& observer : train::loop_observers())
    if (observer.describe != nullptr) observer.describe(list, any);
  std::set<std::string> names;
  for (const core::OptionInfo& option : list.infos()) names.insert(option.name);
  return names;
}

/// The options of a run that `simulate` has, as words of a command line; not those of its platform, its device, its folder
/// and its end.
std::vector<std::string> words_of(const std::string& folder) {
  SimulationArguments arguments;
  arguments.training.is_kept = false;
  const auto known = cli::make_parser("simulate", "");
  cli::add_options(*known, arguments);
  std::set<std::string> left_out = options_of_observers();
  left_out.insert({"platform", "device"});
  std::vector<std::string> words;
  const std::string path = folder + "/config.toml";
  for (const cli::ConfigEntry& entry : cli::read_flat_toml(system::read_text(path), path))
    if (!left_out.contains(entry.key) && known->get_option_no_throw("--" + entry.key) != nullptr)
      words.push_back(core::format("--{}={}", entry.key, core::join(entry.values, ",")));
  return words;
}

/// Throws ConfigError if times decide what is learnt, or what is learnt decides times.
void require_independent(const std::string& folder, const SimulationArguments& arguments, bool keeps_best) {
  const train::TrainingOptions& options = arguments.training.options;
  const auto collective = options.strategy_settings.find("collective");
  if (strategies::strategy_entry(options.strategy).has_servers)
    throw cannot(folder, core::format("with {} the times of messages decide what is learnt", options.strategy));
  if (options.balance) throw cannot(folder, "with --balance the speeds of workers decide what each of them learns");
  if (options.minibatch_search.enabled) throw cannot(folder, "with --auto-minibatch losses decide how long it trains");
  if (optim::make_schedule(options.schedule)->goes_back())
    throw cannot(folder, "with --newbob-restore losses decide when workers go back to an older model");
  if (keeps_best && options.tensor_parallel > 1)
    throw cannot(folder, "with --keep-best and --tensor-parallel losses decide when a model is put together");
  if (collective != options.strategy_settings.end() && collective->second.text() == "native")
    throw cannot(folder, "the collective native is MPI's own, which no platform describes");
  if (options.pretraining.epochs > 0) throw cannot(folder, "it began with pretraining, which is not timed");
  const nn::Graph network = nn::make_graph(options.model);
  if (network.reads_sequences() && !network.tokens())
    throw cannot(folder, "its sequences differ in length, and a timing run knows only one");
}

/// The run's options, to be timed: as many epochs as it had in the end.
SimulationArguments arguments_of(const std::string& folder, const std::string& time_as, const core::Json& manifest) {
  if (manifest.at("run").contains("rescaled")) throw cannot(folder, "its number of workers changed");
  SimulationArguments arguments;
  std::vector<std::string> words = words_of(folder);
  const bool keeps_best = std::erase(words, "--keep-best=true") > 0;  // which a timing run cannot
  arguments.read_to_time(std::move(words));
  if (!time_as.empty()) {
    arguments.training.options.model = nn::read_model(time_as);
    train::settle_model(arguments.training.options);
  }
  require_independent(folder, arguments, keeps_best);
  train::TrainingOptions& options = arguments.training.options;
  options.epochs = manifest.at("result").at("epochs").get<int>();
  options.schedule = {.initial_rate = 1};  // may ask for losses, and changes no times
  arguments.world.workers = manifest.at("run").at("workers").get<int>();
  return arguments;
}

/// The config.toml of the run as an emulated one on another platform, in another folder, that saves no state.
std::string config_on(const std::string& folder, const std::string& platform, const std::string& into, int workers) {
  std::string config;
  std::istringstream lines(system::read_text(folder + "/config.toml"));
  for (std::string line; std::getline(lines, line);) {
    const std::string name = line.substr(0, line.find('='));
    if (name != "platform" && name != "out" && name != "workers" && name != runs::saving_option) config += line + "\n";
  }
  return config + core::format("workers={}\nplatform={}\nout={}\n", workers, cli::as_toml(platform), cli::as_toml(into));
}

bool depends_on_platform(const std::string& name) {
  return name.ends_with("_s") || name.ends_with("_bytes") || name == "exposed" || name == "messages";
}

}  // namespace

Retiming::Retiming(const std::string& folder, const std::string& time_as)
    : folder_(folder), time_as_(time_as), manifest_(runs::read_manifest(folder)) {
  runs::read_finished_run(folder);
  try {
    if (manifest_.contains("platform")) platform_ = manifest_.at("platform").at("name").get<std::string>();
    std::istringstream lines(system::read_text(folder + "/metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) original_.push_back(core::parse_json(line));
    if (original_.empty() || !original_.back().contains("end")) throw cannot(folder, "its records are incomplete");
    for (const core::Json& record : original_)
      for (const char* const number : {"optimise_s", "aggregate_s", "validate_s", "data_s", "exposed", "samples"})
        record.at(number).get<double>();
    original_.back().at("training_s").get<double>();
    const SimulationArguments arguments = arguments_of(folder, time_as, manifest_);
    world_ = arguments.world;
    run_.emplace(arguments);
    if (manifest_.at("data").at("content_sha256").get<std::string>() != run_->data_sha256())
      throw cannot(folder, "its data file holds other data now");
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
  const sim::Platform used = worlds::with_options(platform, world_);
  if (used.nodes * used.devices_per_node < world_.workers && !world_.oversubscribe)
    throw cannot(folder_, core::format("'{}' has {} devices, too few for {} workers", core::printable(platform.name),
                                       used.nodes * used.devices_per_node, world_.workers));
  if (world_.io != "none" && !platform.storage)
    throw cannot(folder_, core::format("it reads from a file system (--io {}), and '{}' has none", world_.io,
                                       core::printable(platform.name)));
  Records timed;
  const train::Output output{.on_record = [&](const core::Json& record) { timed.push_back(record); }, .explains = false};
  const train::Result result = run_->train(platform, run_->known_rate(platform), 1, output);
  timed.push_back(runs::end_record(result));
  if (timed.size() != original_.size())
    throw cannot(folder_, core::format("it has {} records and would have {}", original_.size(), timed.size()));
  if (timed.back().at("samples") != original_.back().at("samples"))
    throw cannot(folder_, core::format("it trained {} samples and '{}' would train {}: choose a network with windows of the "
                                       "same length",
                                       original_.back().at("samples").get<std::uint64_t>(), core::printable(time_as_),
                                       timed.back().at("samples").get<std::uint64_t>()));
  Records records = original_;
  for (std::size_t i = 0; i < records.size(); ++i)
    for (const auto& [name, value] : timed[i].items())
      if (depends_on_platform(name)) records[i][name] = value;
  return records;
}

void Retiming::write(const std::string& into, bool overwrite, const sim::Platform& platform, const Records& records) const {
  core::Json manifest = manifest_;
  for (const char* const of_the_other : {"simulation", "finished", "mpi"}) manifest.erase(of_the_other);
  manifest["run"]["world"] = "simulation";
  manifest["platform"] = {
      {"name", platform.name}, {"file_sha256", platform.sha256}, {"nodes", worlds::with_options(platform, world_).nodes}};
  manifest["retimed"] = {{"run", folder_}, {"platform", platform_ ? core::Json(*platform_) : core::Json(nullptr)}};
  if (!time_as_.empty()) manifest["retimed"].update({{"time_as", time_as_}, {"parameters", parameters()}});
  manifest["result"] = records.back();
  using Existing = metrics::RunFolder::Existing;
  metrics::RunFolder folder(into, overwrite ? Existing::replace : Existing::refuse);
  folder.write("config.toml", config_on(folder_, platform.file, into, world_.workers));
  for (const core::Json& record : records) folder.record(record);
  folder.sync();
  folder.write("manifest.json", core::text_of(manifest, 2) + "\n");
}

}  // namespace paragrad::predict
