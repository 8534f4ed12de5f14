#include "strategies/parameter_server/server_strategy.hpp"

#include <algorithm>
#include <utility>

#include "comm/allreduce.hpp"
#include "comm/compression/gradient_sum.hpp"
#include "comm/window_self_test.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "strategies/parameter_server/local_link.hpp"
#include "strategies/parameter_server/message_link.hpp"
#include "strategies/parameter_server/window_link.hpp"
#include "strategies/parameter_server/window_service.hpp"

namespace paragrad::strategies {

ServerStrategy::ServerStrategy(const ServerOptions& options, const ServerContext& context)
    : ServedStrategy(options.queue ? Share::epoch : Share::block), options_(options), context_(context) {}
ServerStrategy::~ServerStrategy() = default;

Remarks ServerStrategy::explain(const Extent& extent) const {
  const std::size_t count = shards(extent.workers);
  Remarks remarks;
  remarks.numbers = {{"servers", static_cast<double>(options_.servers)}, {"shards", static_cast<double>(count)}};
  if (extent.workers == 1 && options_.servers == 0) return remarks;
  remarks.lines = {core::format("parameters in {} shard{}, {}", count, count == 1 ? "" : "s",
                                options_.servers > 0 ? "on dedicated ranks" : "on the workers' ranks")};
  return remarks;
}

const std::vector<Event>* ServerStrategy::given_order(std::size_t server) const {
  return context_.replay ? &context_.replay->servers.at(server) : nullptr;
}

std::unique_ptr<Server> ServerStrategy::make_server(int workers, std::size_t index) const {
  return std::make_unique<Server>(workers, make_policy(workers), rule(), given_order(index), !context_.record.empty());
}

void ServerStrategy::start(comm::Worker& worker, Replica& replica) {
  check(worker.size());
  if (link_ == nullptr) connect(worker, replica);
  if (worker.rank() == 0)
    talk(worker, [&](comm::Communicator& comm) { link_->start(comm, replica.layout, replica.parameters); });
  comm::barrier(worker.comm());                                      // no request reaches a server before its shard exists
  if (worker.rank() != 0) worker.membership().set_expendable(true);  // worker 0 leads
  versions_.assign(shards_.size(), 0);
  done_ = 0;
}

void ServerStrategy::connect(comm::Worker& worker, Replica& replica) {
  const std::size_t count = shards(worker.size());
  if (replica.optimiser.needs_all() && count > 1)
    throw core::ConfigError(
        core::format("optimiser '{}' needs whole matrices, but {} servers would hold parts of them: give `servers` 1 or "
                     "another `optimiser`",
                     optim::describe(context_.rule), count));
  const bool shared = options_.servers == 0, alone = shared && worker.size() == 1;
  if (shared && !alone && !worker.all_ranks().serves_beside())
    throw core::ConfigError(
        "this MPI lets only one thread per rank communicate, so a worker's rank cannot serve as well: give the servers "
        "their own ranks (`servers`)");
  shards_ = cut_into_shards(replica.layout, replica.parameters.size(), count);
  const auto mine = static_cast<std::size_t>(worker.rank());
  if (shared && mine < count) server_ = make_server(worker.size(), mine);
  if (alone) {
    link_ = std::make_unique<LocalLink>(*server_);
    return;
  }
  const int first = shared ? 0 : worker.size();
  if (choose_windows(worker.all_ranks())) {
    if (!shared && mine == 0) tell_sizes(worker.all_ranks().comm(), first);
    open_window(worker.all_ranks(), worker.size(), server_ ? shards_[mine].size() : 0);
    link_ = std::make_unique<WindowLink>(worker.rank(), worker.size(), first, shards_, options_.worker_timeout_s, *window_);
  } else {
    link_ = std::make_unique<MessageLink>(worker.rank(), first, shards_, options_.worker_timeout_s);
  }
  if (server_ == nullptr) return;
  make_service(mine, shards_[mine].size());
  worker.all_ranks().serve([this](comm::Communicator& comm) { service_->run(comm); });
}

void ServerStrategy::serve(comm::Worker& all_ranks, int workers) {
  check(workers);
  const auto mine = static_cast<std::size_t>(all_ranks.rank() - workers);
  server_ = make_server(workers, mine);
  std::uint64_t parameters = 0;
  if (choose_windows(all_ranks)) {
    all_ranks.comm().receive(0, content_tag, writable_bytes_of(parameters));
    open_window(all_ranks, workers, parameters);
  }
  make_service(mine, parameters);
  const comm::TaskGuard guard(all_ranks);
  all_ranks.membership().set_expendable(true);
  all_ranks.launch([this](comm::Communicator& comm) { service_->run(comm); });  // the workers use the channel of tasks
  all_ranks.join();
  close_window(server_->all_lost().empty());
  if (!server_->all_lost().empty()) all_ranks.membership().tell_loss();
}

// The same on all ranks. An order may be recorded over either transport, and is replayed over messages.
bool ServerStrategy::choose_windows(comm::Worker& all_ranks) {
  if (options_.transport == Transport::messages || context_.replay) return false;
  comm::WindowVerdict verdict;
  if (holds_fetches())
    verdict.text = "the servers of this strategy make fetches wait, which one-sided windows cannot do";
  else if (!all_ranks.device().computes())
    verdict.text = "a run without arithmetic has no data in its windows";
  else if (!all_ranks.device().is_host())
    verdict.text = "one-sided windows need host-accessible memory";
  else
    verdict = comm::self_test_windows(all_ranks);
  const bool wanted = options_.transport == Transport::windows;
  if (wanted && !verdict.usable)
    throw core::ConfigError(core::format("{}: choose `server-transport` messages", verdict.text));
  const bool chosen = verdict.usable && (wanted || verdict.get_share >= 1);
  transport_ = core::format("{}: {}", chosen ? "windows" : "messages", verdict.text);
  return chosen;
}

// Servers need to know how much memory to open.
void ServerStrategy::tell_sizes(comm::Communicator& comm, int first_server) const {
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    const std::uint64_t parameters = shards_[i].size();
    comm.send(first_server + static_cast<int>(i), content_tag, bytes_of(parameters));
  }
}

void ServerStrategy::open_window(comm::Worker& all_ranks, int workers, std::size_t parameters) {
  const WindowLayout layout(parameters, workers);
  window_ = all_ranks.comm().open_window(server_ ? layout.floats() : 0,
                                         WindowLayout::counters(static_cast<std::size_t>(workers), shards(workers)));
  if (server_ != nullptr) server_->keep_parameters_in(window_->memory().subspan(layout.parameters_at(), parameters));
}

// Collectively, or not at all.
void ServerStrategy::close_window(bool all_there) {
  if (all_there)
    window_.reset();
  else
    window_.release();
}

void ServerStrategy::make_service(std::size_t index, std::size_t parameters) {
  if (window_ != nullptr)
    service_ = std::make_unique<WindowService>(*server_, options_.worker_timeout_s, *window_,
                                               WindowLayout(parameters, server_->workers()), index);
  else
    service_ = std::make_unique<Service>(*server_, options_.worker_timeout_s);
}

// Tasks communicate with servers only.
void ServerStrategy::launch(comm::Worker& worker, const comm::Worker::Task& talk) {
  worker.all_ranks().launch([talk](comm::Communicator& comm) {
    try {
      talk(comm);
    } catch (const comm::PeerGone& gone) {
      if (gone.peer() == 0) throw;  // leads
      throw ServerLost(gone.what());
    }
  });
}

std::size_t ServerStrategy::take(comm::Worker& worker) {
  std::uint64_t split = 0;
  talk(worker, [&](comm::Communicator& comm) { split = link_->take(comm, done_); });
  return split;
}

void ServerStrategy::synchronise(comm::Worker&, Replica&, std::size_t) { ++done_; }

void ServerStrategy::meet(comm::Worker& worker, std::span<float> parameters) {
  std::vector<int> lost;
  talk(worker, [&](comm::Communicator& comm) { lost = link_->meet(comm, versions_, parameters); });
  leave_out(worker, lost);
  done_ = 0;
}

// True if no further worker was lost.
bool ServerStrategy::leave_out(comm::Worker& worker, const std::vector<int>& lost) {
  for (const int rank : lost) worker.membership().leave_out(rank);
  const bool all_there = lost.size() <= lost_;
  lost_ = std::max(lost_, lost.size());
  return all_there;
}

bool ServerStrategy::add_up(comm::Worker& worker, std::span<double> values) {
  std::vector<int> lost;
  talk(worker, [&](comm::Communicator& comm) { lost = link_->sum(comm, values); });
  return leave_out(worker, lost);
}

Remarks ServerStrategy::report(comm::Worker& worker) {
  Statistics statistics;
  Orders orders{context_.shape, {}};
  if (window_ != nullptr) {
    talk(worker, [&](comm::Communicator& comm) { link_->hand_in(comm); });
    double nothing = 0;
    add_up(worker, {&nothing, 1});  // all have
  }
  talk(worker, [&](comm::Communicator& comm) {
    if (worker.rank() == 0) statistics = link_->report(comm, orders.servers);
    link_->leave(comm);
  });
  if (service_ != nullptr) worker.all_ranks().join_service();
  close_window(lost_ == 0);
  if (worker.rank() != 0) return {};
  if (!context_.record.empty()) write_orders(context_.record, orders);
  Remarks remarks = remarks_of(statistics);
  if (!transport_.empty()) remarks.lines.insert(remarks.lines.begin(), transport_);
  return remarks;
}

void ServerStrategy::describe_state(core::StateView& state) {
  for (const auto& [index, copy] : copies_) {
    core::StateView part;
    copy->describe_state(part);
    state.add(core::format("shard{}", index), std::move(part));
  }
  for (std::size_t i = 0; i < kept_versions_.size(); ++i)
    state.add(core::format("version{}", i), kept_versions_[i], core::Rescale::own);
}

void ServerStrategy::hand_over(comm::Worker& worker, Replica& replica) {
  core::StateView whole;
  replica.optimiser.describe_state(whole);
  if (whole.arrays.empty() && whole.numbers.empty()) return;
  collect_state(worker, replica);
  for (const auto& [index, copy] : copies_) copy->take_over(whole, shards_[index], worker.device());
  spread_state(worker, replica);
}

// Worker k keeps the state of shards k, k + N, …
void ServerStrategy::collect_state(comm::Worker& worker, Replica& replica) {
  copies_.clear();
  const auto workers = static_cast<std::size_t>(worker.size());
  for (std::size_t i = static_cast<std::size_t>(worker.rank()); i < shards_.size(); i += workers)
    copies_.emplace_back(i, std::make_unique<Shard>(worker.device(), rule(),
                                                    comm::columns_within(replica.layout, shards_[i]), shards_[i].size()));
  kept_versions_.assign(versions_.begin(), versions_.end());
  talk(worker, [&](comm::Communicator& comm) {
    for (const auto& [index, copy] : copies_) link_->get_state(comm, index, *copy);
  });
}

void ServerStrategy::spread_state(comm::Worker& worker, Replica&) {
  talk(worker, [&](comm::Communicator& comm) {
    for (const auto& [index, copy] : copies_) link_->set_state(comm, index, *copy);
  });
  for (std::size_t i = 0; i < versions_.size(); ++i) versions_[i] = static_cast<std::uint64_t>(kept_versions_[i]);
  comm::barrier(worker.comm());  // no request reaches a server before its shard is restored
}

}  // namespace paragrad::strategies
