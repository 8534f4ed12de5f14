#include "runs/training_report.hpp"

#include <cmath>
#include <utility>

#include "core/format.hpp"
#include "core/json.hpp"
#include "core/printable.hpp"
#include "core/sha256.hpp"
#include "core/units.hpp"
#include "nn/loss.hpp"
#include "runs/environment.hpp"
#include "runs/foreign_sources.hpp"
#include "runs/server_arguments.hpp"

namespace paragrad::runs {
namespace {

/// The part of the epochs that a timing run covers.
std::string extent(const train::TrainingOptions& options) {
  std::string part = core::format("epochs {}", options.epochs);
  if (options.max_blocks > 0) part += core::format(", only the first {} blocks of each", options.max_blocks);
  if (options.max_steps > 0) part += core::format(", only the first {} minibatches of each block", options.max_steps);
  return part;
}

void print_traffic(const train::Result& result) {
  const auto bytes = [](double count) { return core::format_quantity(count, core::Unit::bytes); };
  const train::TrafficSummary& traffic = result.traffic;
  if (!traffic.is_known)
    fmt::print("bytes sent: unknown, as a library's collective sent them\n");
  else if (traffic.messages > 0)
    fmt::print(
        "each worker sent {} in {:.0f} messages and received {} (mean); {:.1f} % of training was exposed communication\n",
        bytes(traffic.sent_bytes), traffic.messages, bytes(traffic.received_bytes), 100 * result.times.exposed());
}

void print_busiest(const core::Json& link) {
  fmt::print("busiest link: {}, in use for {:.1f} % of the time\n", link.at("name").get<std::string>(),
             100 * link.at("share").get<double>());
}

double loss_without_learning(const train::TrainingOptions& options, const train::TrainingData& source) {
  const double of_row =
      nn::make_loss(options.loss, options.loss_settings)->without_learning(source.info.classes, source.target_variance);
  return source.mean_weights[0] * of_row;
}

/// A training that diverged may end with a finite loss.
void print_divergence(const train::TrainingOptions& options, double loss, const train::TrainingData& source) {
  const double without_learning = loss_without_learning(options, source);
  if (options.epochs > 0 && loss > without_learning)
    fmt::print(
        "the training loss of the last epoch, {:.4g}, is above {:.4g}, the loss of a model with {}: the training "
        "diverged or was too short (a lower --learning-rate or more --epochs may help)\n",
        loss, without_learning,
        source.info.widths.targets > 0 ? "the targets' means as its outputs"
                                       : core::format("the same output for all {} classes", source.info.classes));
}

/// With these digits after the point, or "-" for the score of an empty subset.
std::string rounded(double value, int digits, const char* unit = "") {
  return std::isfinite(value) ? core::format("{:.{}f}{}", value, digits, unit) : "-";
}

/// JSON has no NaN: the score of an empty subset is null.
core::Json number(double value) { return std::isfinite(value) ? core::Json(value) : core::Json(nullptr); }

}  // namespace

core::Json manifest(const TrainingArguments& arguments, const train::TrainingData& source, const std::string& world,
                    int workers) {
  const data::DatasetInfo& data = source.info;
  core::Json record = environment(arguments.device);
  record.update({
      {"data",
       {{"path", data.path},
        {"name", data.name},
        {"content_sha256", data.content_sha256},
        {"features", core::name_of(data.encoding.type)},
        {"feature_scale", data.encoding.scale},
        {"feature_offset", data.encoding.offset},
        {"samples", {{"train", data.samples[0]}, {"valid", data.samples[1]}, {"test", data.samples[2]}}}}},
      {"run",
       {{"world", world},
        {"workers", workers},
        {"servers", servers_of(arguments.options)},
        {"strategy", arguments.options.strategy},
        {"strategy_options",
         core::values_of(strategies::strategy_entry(arguments.options.strategy).info, arguments.options.strategy_settings)},
        {"splits", source.partition->workers()},
        {"blocks", source.partition->blocks()},
        {"epochs", arguments.options.epochs},
        {"pretrain_epochs", arguments.options.pretraining.epochs},
        {"seed", arguments.options.seed},
        {"device", arguments.device},
        {"timing_only", source.dataset == nullptr},
        {"max_blocks", arguments.options.max_blocks},
        {"max_steps", arguments.options.max_steps}}},
  });
  if (source.dataset != nullptr)
    record["run"]["loss_without_learning"] = number(loss_without_learning(arguments.options, source));
  if (source.spread) record["run"]["partition"] = data::to_json(source.partition->kind(), *source.spread);
  if (!arguments.options.init.empty()) record["run"]["init_sha256"] = core::sha256_of_file(arguments.options.init);
  if (!arguments.replay.empty()) record["run"]["replay_sha256"] = core::sha256_of_file(arguments.replay);
  record.update(foreign_sources());
  return record;
}

core::Json end_record(const train::Result& result) {
  core::Json record = {
      {"end", true},
      {"parameters_sha256", result.timing_only ? core::Json(nullptr) : core::Json(result.parameters_sha256)},
      {"samples", result.samples},
      {"epochs", result.epochs},
      {"train_loss", number(result.train.loss)},
      {"train_error", number(result.train.error)},
      {"valid_loss", number(result.valid.loss)},
      {"valid_error", number(result.valid.error)},
      {"test_loss", number(result.test.loss)},
      {"test_error", number(result.test.error)},
      {"training_s", result.training_s},
      {"optimise_s", result.times.optimise_s},
      {"aggregate_s", result.times.aggregate_s},
      {"validate_s", result.times.validate_s},
      {"data_s", result.times.data_s},
      {"exposed", result.times.exposed()}};
  result.traffic.add_to(record);
  if (result.pretraining_samples > 0) {
    record["pretraining_s"] = result.pretraining_s;
    record["pretraining_samples"] = result.pretraining_samples;
  }
  for (const auto& [name, value] : result.strategy) record["strategy"][name] = number(value);
  return record;
}

void finish_manifest(core::Json& manifest, const train::Result& result, double wall_s) {
  manifest["finished"] = {
      {"wall_s", wall_s}, {"data_wait_s", result.data_wait_s}, {"peak_memory_bytes", peak_memory_bytes()}};
  manifest["result"] = end_record(result);
}

void print_result(const TrainingArguments& arguments, const train::Result& result, const train::TrainingData& source,
                  const core::Json& world) {
  const bool simulated = !world.is_null();
  if (result.timing_only)
    fmt::print("timing only: nothing was computed; {}\n", extent(arguments.options));
  else
    fmt::print("test error {}, loss {}; validation error {}\n",
               rounded(100 * result.test.error, 2, source.info.widths.targets > 0 ? " % of the targets' variance" : " %"),
               rounded(result.test.loss, 4), rounded(100 * result.valid.error, 2, " %"));
  if (!result.timing_only) print_divergence(arguments.options, result.train.loss, source);
  const auto time = [](double seconds) { return core::format_quantity(seconds, core::Unit::time); };
  if (result.pretraining_samples > 0)
    fmt::print("pretraining {}; {:.0f} samples/s\n", time(result.pretraining_s),
               static_cast<double>(result.pretraining_samples) / result.pretraining_s);
  if (arguments.options.epochs > 0)
    fmt::print("{} time {}: optimise {}, aggregate {}, validate {}; {:.0f} samples/s\n",
               simulated ? "simulated" : "wall-clock", time(result.training_s), time(result.times.optimise_s),
               time(result.times.aggregate_s), time(result.times.validate_s),
               static_cast<double>(result.samples) / result.training_s);
  if (arguments.options.epochs > 0) print_traffic(result);
  if (simulated && world.contains("busiest_link")) print_busiest(world.at("busiest_link"));
  const double data_s = simulated ? result.times.data_s : result.data_wait_s;
  if (!simulated || data_s > 0) fmt::print("waited {} for data\n", time(data_s));
  if (!arguments.out.empty()) fmt::print("run folder {}\n", core::printable(arguments.out));
  if (!result.timing_only) fmt::print("weights sha256 {}\n", result.parameters_sha256);
}

}  // namespace paragrad::runs
