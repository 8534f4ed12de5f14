#include "runs/server_arguments.hpp"

#include "comm/wrappers/group_worker.hpp"
#include "comm/wrappers/shrinking_worker.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "strategies/parameter_server/link.hpp"

namespace paragrad::runs {
namespace {

using train::has_servers;

strategies::PushOptions server_options(const train::TrainingOptions& options) {
  return core::read_options<strategies::PushOptions>(options.strategy_settings);
}

strategies::RunShape shape_of(const train::TrainingOptions& options, const train::TrainingData& source, int workers) {
  const strategies::PushOptions server = server_options(options);
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

train::TrainingOptions with_servers(const TrainingArguments& arguments, const train::TrainingData& source, int workers) {
  train::TrainingOptions options = arguments.options;
  if (!has_servers(options)) return options;
  strategies::ServerContext& server = options.servers;
  server.shape = shape_of(options, source, workers);
  server.record = record_path(arguments);
  if (arguments.replay.empty()) return options;
  auto orders = std::make_shared<const strategies::Orders>(strategies::read_orders(arguments.replay));
  strategies::check_same_shape(arguments.replay, orders->shape, server.shape);
  server.replay = std::move(orders);
  return options;
}

int servers_of(const train::TrainingOptions& options) { return has_servers(options) ? server_options(options).servers : 0; }

double worker_timeout_s(const train::TrainingOptions& options) { return server_options(options).worker_timeout_s; }

int workers_of(const train::TrainingOptions& options, int ranks) {
  const int servers = servers_of(options);
  if (servers >= ranks)
    throw core::ConfigError(
        core::format("{} servers of {} ranks leave no worker: start more ranks, or give fewer --servers", servers, ranks));
  return ranks - servers;
}

comm::MpiSession::Deaths deaths_of(const train::TrainingOptions& options) {
  using enum comm::MpiSession::Deaths;
  try {
    return has_servers(options) ? may_be_survived : end_all;
  } catch (const core::ConfigError&) {  // all ranks report it together later
    return end_all;
  }
}

namespace {

/// A worker's part next to servers. Apart from run_role, so that it takes no room on the stacks of other runs.
[[gnu::noinline]] std::vector<LostWorker> run_next_to_servers(comm::Worker& all_ranks, int workers,
                                                              const std::function<void(comm::Worker&)>& train) {
  std::vector<LostWorker> lost;
  comm::GroupWorker group(all_ranks, 0, 1, workers);
  comm::ShrinkingWorker worker(group);
  try {
    train(worker);
    for (const int rank : worker.left_out()) {
      lost.push_back({rank, all_ranks.membership().is_gone(rank)});
      all_ranks.membership().take_for_gone(rank);
    }
  } catch (const strategies::LeftOut& error) {  // the others continue
    cli::print_error(error.what());
    all_ranks.membership().tell_loss();
  } catch (const strategies::ServerLost&) {
    if (worker.rank() == 0) throw;  // the leader ends the run
    all_ranks.membership().tell_loss();
  }
  return lost;
}

}  // namespace

std::vector<LostWorker> run_role(comm::Worker& all_ranks, int workers, const train::TrainingOptions& options,
                                 const train::Output& output, const std::function<void(comm::Worker&)>& train) {
  if (has_servers(options) && all_ranks.rank() < workers) return run_next_to_servers(all_ranks, workers, train);
  if (has_servers(options))
    train::serve(all_ranks, workers, options, output);
  else
    train(all_ranks);
  return {};
}

void print_lost(const std::vector<LostWorker>& lost) {
  for (const LostWorker& worker : lost)
    fmt::print("training complete without worker {}, which {}\n", worker.rank,
               worker.died ? "was killed" : "stopped responding");
}

void print_cost_of_states(const TrainingArguments& arguments) {
  if (arguments.checkpoint_every > 0 && has_servers(arguments.options))
    fmt::print(
        "saving checkpoints synchronised the workers, which changed the order of updates: the weights differ from those of "
        "a run without --checkpoint-every\n");
}

}  // namespace paragrad::runs
