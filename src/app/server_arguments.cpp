#include "app/server_arguments.hpp"

#include "app/number_options.hpp"
#include "comm/wrappers/group_worker.hpp"
#include "comm/wrappers/shrinking_worker.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "strategies/parameter_server/link.hpp"

namespace paragrad::app {
namespace {

constexpr const char* group = "Parameter server";

bool has_servers(const train::TrainingOptions& options) {
  return strategies::make_strategy(options.strategy, options.strategy_options)->has_servers();
}

strategies::RunShape shape_of(const train::TrainingOptions& options, const train::TrainingData& source, int workers) {
  const strategies::ServerOptions& server = options.strategy_options.server;
  const auto text = [](auto value) { return core::format("{}", value); };
  return {{"strategy", options.strategy},
          {"workers", text(workers)},
          {"servers", text(server.servers)},
          {"epochs", text(options.epochs)},
          {"training samples", text(source.samples(data::Subset::train))},
          {"splits", text(source.partition->workers())},
          {"blocks", text(source.partition->blocks())},
          {"minibatch", text(options.minibatch)},
          {"work", server.queue ? "queue" : "own"},
          {"push-every", text(server.push_every)},
          {"fetch-every", text(server.fetch_every)},
          {"prefetch", text(server.prefetch)}};
}

std::string record_path(const TrainingArguments& arguments) {
  if (arguments.record == "none") return "";
  if (!arguments.record.empty()) return arguments.record;
  return arguments.out.empty() ? "" : arguments.out + "/order.txt";
}

}  // namespace

void add_server_options(CLI::App& parser, TrainingArguments& arguments) {
  strategies::ServerOptions& server = arguments.options.strategy_options.server;
  add_number(parser, "--servers", server.servers, {.least = 0, .most = 100000},
             "ranks behind the workers that hold the parameters (0: each worker's rank holds a part)")
      ->group(group);
  add_number(parser, "--push-every", server.push_every, a_minibatch,
             "minibatches whose gradients go together; easgd: its period")
      ->group(group);
  add_number(parser, "--fetch-every", server.fetch_every, a_minibatch, "minibatches between two fetches of the parameters")
      ->group(group);
  parser.add_option("--prefetch", server.prefetch, "the next parameters travel while a minibatch is computed")->group(group);
  parser
      .add_option("--work", arguments.work,
                  "queue: splits go to whoever is free next; own: each worker has its split of every block")
      ->check(CLI::IsMember({"queue", "own"}))
      ->group(group);
  add_number(parser, "--staleness-bound", server.staleness_bound, any_count,
             "bounded_staleness: updates ahead of the slowest worker")
      ->group(group);
  add_number(parser, "--lazy-threshold", server.lazy_threshold, zero_or_more,
             "lazy_sgd: an update is pushed once it exceeds this share of the parameters")
      ->group(group);
  add_number(parser, "--lazy-minibatches", server.lazy_minibatches, one_or_more,
             "lazy_sgd: largest number of minibatches whose updates are held back")
      ->group(group);
  add_number(parser, "--elastic-rate", server.elastic_rate, below_one, "easgd: alpha (0: 0.9 over the number of workers)")
      ->group(group);
  add_number(parser, "--backup-workers", server.backup_workers, {.least = 0, .most = 1000000},
             "backup_workers: number of slowest workers whose gradients each update leaves out")
      ->group(group);
  parser
      .add_option(
          "--server-transport", server.transport,
          "messages; windows: one-sided, where servers let no fetch wait; auto: windows if they work and are as fast")
      ->check(CLI::IsMember({"messages", "windows", "auto"}))
      ->group(group);
  add_number(parser, "--worker-timeout", server.worker_timeout_s, {.least = 0, .most = 1e9, .without_least = true},
             "seconds after which a worker that all others wait for is left out")
      ->group(group);
  parser
      .add_option("--record", arguments.record,
                  "file for the order in which servers served (none: not at all; default: order.txt in the run folder)")
      ->group(group);
  parser.add_option("--replay", arguments.replay, "simulate only: serve in the order of this file")->group(group);
}

void check_server_arguments(const TrainingArguments& arguments) {
  const train::TrainingOptions& options = arguments.options;
  const strategies::StrategyOptions& strategy = options.strategy_options;
  if (!has_servers(options)) {
    if (strategy.server.servers > 0)
      throw core::ConfigError(
          core::format("the strategy '{}' has no servers: leave out --servers, or choose async_sgd", options.strategy));
    if (!arguments.replay.empty())
      throw core::ConfigError(
          core::format("--replay repeats the order of asynchronous workers, and those of '{}' have no other than their own",
                       options.strategy));
    return;
  }
  const auto refuse = [&](bool given, const char* option, const char* why) {
    if (given)
      throw core::ConfigError(core::format("{} is not for '{}', whose {}: leave it out", option, options.strategy, why));
  };
  refuse(strategy.compression.name != "none", "--compression (or --gradient-bits)", "gradients go to servers as they are");
  refuse(strategy.buffered, "--buffered", "messages travel beside the computing with --prefetch");
  refuse(options.tensor_parallel > 1, "--tensor-parallel", "workers go their own ways, and those of one replica cannot");
  refuse(options.balance, "--balance", "workers take work when they are free");
  refuse(options.minibatch_search.enabled, "--auto-minibatch", "servers cannot go back to what they were before a try");
  refuse(options.epochs > 0 && options.parallel_start_epoch > options.epochs, "--parallel-start-epoch beyond the last epoch",
         "servers would have nothing to do");
  refuse(arguments.instruments.sync_stats > 0, "--sync-stats", "workers do not synchronise at the same time");
  refuse(!arguments.replay.empty() && arguments.resume, "--replay with --resume", "order is that of a whole run");
}

train::TrainingOptions with_servers(const TrainingArguments& arguments, const train::TrainingData& source, int workers) {
  train::TrainingOptions options = arguments.options;
  if (!has_servers(options)) return options;
  strategies::ServerOptions& server = options.strategy_options.server;
  server.shape = shape_of(options, source, workers);
  server.record = record_path(arguments);
  if (arguments.replay.empty()) return options;
  auto orders = std::make_shared<const strategies::Orders>(strategies::read_orders(arguments.replay));
  strategies::check_same_shape(arguments.replay, orders->shape, server.shape);
  server.replay = std::move(orders);
  return options;
}

int workers_of(const train::TrainingOptions& options, int ranks) {
  const int servers = options.strategy_options.server.servers;
  if (servers >= ranks)
    throw core::ConfigError(
        core::format("{} servers of {} ranks leave no worker: start more ranks, or give fewer --servers", servers, ranks));
  return ranks - servers;
}

comm::MpiSession::Deaths deaths_of(const train::TrainingOptions& options) {
  using enum comm::MpiSession::Deaths;
  try {
    return has_servers(options) ? may_be_survived : end_all;
  } catch (const core::ConfigError&) {  // which all ranks agree upon later
    return end_all;
  }
}

std::vector<LostWorker> run_role(comm::Worker& all_ranks, int workers, const train::TrainingOptions& options,
                                 const train::Output& output, const std::function<void(comm::Worker&)>& train) {
  std::vector<LostWorker> lost;
  if (!has_servers(options)) {
    train(all_ranks);
    return lost;
  }
  if (all_ranks.rank() >= workers) {
    train::serve(all_ranks, workers, options, output);
    return lost;
  }
  comm::GroupWorker group(all_ranks, 0, 1, workers);
  comm::ShrinkingWorker worker(group);
  try {
    train(worker);
    for (const int rank : worker.left_out()) {
      lost.push_back({rank, all_ranks.comm().is_gone(rank)});
      all_ranks.comm().take_for_gone(rank);
    }
  } catch (const strategies::LeftOut& error) {  // the others go on
    print_error(error.what());
    all_ranks.tell_loss();
  } catch (const strategies::ServerLost&) {
    if (worker.rank() == 0) throw;  // leads, and ends the run
    all_ranks.tell_loss();
  }
  return lost;
}

void print_lost(const std::vector<LostWorker>& lost) {
  for (const LostWorker& worker : lost)
    fmt::print("training complete without worker {}, which {}\n", worker.rank,
               worker.died ? "was killed" : "did not answer any more");
}

void print_cost_of_states(const TrainingArguments& arguments) {
  if (arguments.checkpoint_every > 0 && has_servers(arguments.options))
    fmt::print(
        "saving checkpoints synchronised the workers, which changed the order of updates: the weights differ from those of "
        "a run "
        "without --checkpoint-every\n");
}

}  // namespace paragrad::app
