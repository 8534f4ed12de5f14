#include "comm/mpi/mpi_communicator.hpp"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "comm/mpi/backoff.hpp"
#include "comm/mpi/cancellation.hpp"
#include "comm/mpi/device_sum.hpp"
#include "comm/mpi/mpi_call.hpp"
#include "comm/mpi/mpi_node.hpp"
#include "comm/mpi/mpi_window.hpp"
#include "comm/mpi/peers.hpp"
#include "comm/mpi/staging.hpp"
#include "comm/operations.hpp"
#include "core/format.hpp"

namespace paragrad::comm {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// MPI counts are int. A longer message is one element of a type made for its size.
class Extent {
 public:
  explicit Extent(std::size_t bytes) {
    if (bytes <= static_cast<std::size_t>(std::numeric_limits<int>::max())) {
      count_ = static_cast<int>(bytes);
      return;
    }
    constexpr std::size_t block_bytes = std::size_t{1} << 30;
    MPI_Datatype block = MPI_BYTE;
    MPI_Type_contiguous(static_cast<int>(block_bytes), MPI_BYTE, &block);
    const int counts[] = {static_cast<int>(bytes / block_bytes), static_cast<int>(bytes % block_bytes)};
    const MPI_Aint offsets[] = {0, static_cast<MPI_Aint>(bytes - bytes % block_bytes)};
    const MPI_Datatype types[] = {block, MPI_BYTE};
    MPI_Type_create_struct(2, counts, offsets, types, &type_);
    MPI_Type_commit(&type_);
    MPI_Type_free(&block);
    count_ = 1;
  }
  ~Extent() {
    if (type_ != MPI_BYTE) MPI_Type_free(&type_);  // MPI keeps it until the transfers that use it have ended
  }
  Extent(const Extent&) = delete;
  Extent& operator=(const Extent&) = delete;

  int count() const { return count_; }
  MPI_Datatype type() const { return type_; }

 private:
  int count_ = 0;
  MPI_Datatype type_ = MPI_BYTE;
};

/// Whether messages at that address must be staged in host memory. A CUDA-aware MPI reads them in place.
bool is_out_of_reach(const backend::Device& device, const void* address) {
#ifdef MPIX_GPU_SUPPORT_CUDA  // MPICH from 4.0 on can be asked
  if (device.is_cuda() && MPIX_Query_cuda_support() == 1) return false;
#endif
  return device.is_isolated(address);
}

/// A pending transfer; everything but MPI's handle is for error messages.
struct Transfer {
  MPI_Request handle = MPI_REQUEST_NULL;
  std::uint32_t generation = 0;  // how often this slot was used: detects a request that was already waited for
  bool active = false;
  bool sending = false;
  int peer = 0;
  int tag = 0;
  std::size_t bytes = 0;
  core::Arena staged{};              // buffer for MPI if it cannot reach the message itself
  std::byte* destination = nullptr;  // of what was received there

  std::string text() const {
    const std::string who = peer == any_source ? "any worker" : core::format("worker {}", peer);
    return core::format("{} {} ({}{} bytes, tag {})", sending ? "send to" : "receive from", who, sending ? "" : "up to ",
                        bytes, tag);
  }
};

}  // namespace

struct MpiCommunicator::State {
  MPI_Comm comm = MPI_COMM_NULL;
  bool owns_comm = true;
  int rank = 0;
  int size = 1;
  double stall_s = 0;
  Patience patience;
  Competition competition;  // for the cores, in the waits of this communicator's thread
  int cores = 1;
  int exceptions_at_start = std::uncaught_exceptions();
  Clock::time_point start;
  std::vector<Transfer> transfers;
  std::vector<std::uint32_t> free_slots;
  std::shared_ptr<Peers> peers;
  std::shared_ptr<Cancellation> cancellation = std::make_shared<Cancellation>();
  Staging staging;
  std::optional<DeviceSum> device_sum;  // from its first use on

  void check(int code, const char* doing) const {
    if (code != MPI_SUCCESS) throw_mpi_failure(rank, doing, code);
  }

  void connect() {
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
    check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }

  void refuse_if_gone(int peer, const Transfer& transfer) const {
    if (peer != any_source && peers->was_seen_gone(peer)) throw_gone(transfer);
  }

  /// MPI reported a failed transfer. Some transports notice that a process has ended, others do not.
  [[noreturn]] void throw_failed(const Transfer& transfer, int code) const {
    if (transfer.peer != any_source && peers->is_gone(transfer.peer)) throw_gone(transfer);
    throw_mpi_failure(rank, transfer.text(), code);
  }

  [[noreturn]] void throw_gone(const Transfer& transfer) const {
    throw PeerGone(transfer.peer, core::format("worker {}: {}: that worker's process has ended", rank, transfer.text()));
  }

  Request keep(Transfer transfer) {
    if (free_slots.empty()) {
      free_slots.push_back(static_cast<std::uint32_t>(transfers.size()));
      transfers.emplace_back();
    }
    const std::uint32_t slot = free_slots.back();
    free_slots.pop_back();
    transfer.generation = transfers[slot].generation + 1;
    transfer.active = true;
    transfers[slot] = std::move(transfer);
    return {std::uint64_t{transfers[slot].generation} << 32 | slot};
  }

  Transfer& find(Request request) {
    const auto slot = static_cast<std::uint32_t>(request.id);
    if (slot >= transfers.size() || !transfers[slot].active || transfers[slot].generation != request.id >> 32) {
      throw std::logic_error("a request was waited for twice, or belongs to another communicator");
    }
    return transfers[slot];
  }

  void release(Transfer& transfer) {
    transfer.active = false;
    if (transfer.staged.size() > 0) staging.give_back(std::move(transfer.staged));
    free_slots.push_back(static_cast<std::uint32_t>(&transfer - transfers.data()));
  }

  /// Polls until the transfer has ended or the limit has passed. In MPICH each poll makes progress on all transfers of the
  /// process.
  bool finish(Transfer& transfer, double limit_s, MPI_Status& status) {
    int done = 0;
    const auto poll = [&] {
      const int code = MPI_Test(&transfer.handle, &done, &status);
      if (code != MPI_SUCCESS) throw_failed(transfer, code);
    };
    const bool has_limit = limit_s < stall_s;
    const int polls = has_limit ? 0 : competition.left_of(patience).polls;
    for (int i = 0; i < polls && !done; ++i) poll();
    if (done) return true;
    constexpr double look_every_s = 0.1;
    Backoff backoff(competition, patience);
    double look_at_s = look_every_s;
    for (poll(); !done; poll()) {
      if (cancellation->requested())
        throw Failure(core::format("worker {} cancels its {}{}", rank, transfer.text(), cancellation->reason()));
      const double waited_s = backoff.waited_s();
      if (waited_s >= limit_s) return false;
      if (!has_limit && waited_s > look_at_s && transfer.peer != any_source) {
        look_at_s = waited_s + look_every_s;
        const bool gone = peers->is_gone(transfer.peer);
        poll();  // a message it sent earlier may have arrived meanwhile
        if (done) return true;
        if (gone) throw_gone(transfer);
      }
      if (waited_s > stall_s) {
        throw Failure(core::format("worker {} has waited {:.0f} s for {}", rank, waited_s, transfer.text()));
      }
      backoff.pause();
    }
    return true;
  }

  /// The message's memory as MPI can reach it.
  std::byte* stage(const backend::Device& device, Transfer& transfer) {
    transfer.staged = staging.take(device, transfer.bytes);
    return reinterpret_cast<std::byte*>(transfer.staged.span().data());
  }

  std::optional<Received> wait_for(backend::Device& device, Request request, double limit_s) {
    Transfer& transfer = find(request);
    MPI_Status status;
    if (!finish(transfer, limit_s, status)) return std::nullopt;
    Received received{transfer.peer, transfer.bytes};
    if (!transfer.sending) {
      MPI_Count bytes = 0;
      check(MPI_Get_elements_x(&status, MPI_BYTE, &bytes), "MPI_Get_elements_x");
      received = {status.MPI_SOURCE, static_cast<std::size_t>(bytes)};
      if (transfer.destination != nullptr)
        device.transfer(std::as_bytes(transfer.staged.span()).first(received.bytes),
                        std::span(transfer.destination, received.bytes));
    }
    release(transfer);
    return received;
  }
};

MpiCommunicator::MpiCommunicator(backend::Device& device, double stall_s)
    : Communicator(device, 0, 1), state_(std::make_unique<State>()) {
  state_->connect();
  set_position(state_->rank, state_->size);
  const MpiNode node = explore_node(state_->comm);
  set_workers_per_node(node.workers_per_node);
  state_->peers = node.peers;
  state_->patience = node.patience;
  state_->cores = node.cores;
  set_membership(*state_->peers);
  state_->stall_s = stall_s;
  state_->start = Clock::now();
}

MpiCommunicator::MpiCommunicator(const MpiCommunicator& main, backend::Device& device)
    : Communicator(device, main.rank(), main.size(), main.traffic_meter()), state_(std::make_unique<State>()) {
  state_->connect();
  state_->peers = main.state_->peers;
  set_membership(*state_->peers);
  set_workers_per_node(main.workers_per_node());
  state_->stall_s = main.state_->stall_s;
  state_->patience = main.state_->patience;
  state_->cores = main.state_->cores;
  state_->start = main.state_->start;
}

MpiCommunicator::MpiCommunicator(const MpiCommunicator& other, backend::Device& device, SameChannel how)
    : Communicator(device, other.rank(), other.size(),
                   how.own_traffic ? std::make_shared<TrafficMeter>() : other.traffic_meter()),
      state_(std::make_unique<State>()) {
  const State& theirs = *other.state_;
  state_->comm = theirs.comm;
  state_->owns_comm = false;
  state_->rank = theirs.rank;
  state_->size = theirs.size;
  state_->stall_s = theirs.stall_s;
  state_->patience = theirs.patience;
  state_->cores = theirs.cores;
  state_->start = theirs.start;
  state_->cancellation = theirs.cancellation;
  state_->peers = theirs.peers;
  set_membership(*state_->peers);
  set_workers_per_node(other.workers_per_node());
}

MpiCommunicator::~MpiCommunicator() {
  if (!state_->owns_comm) return;
  // Collective: while an exception unwinds, the other workers do not take part, and the session is about to abort anyway.
  if (state_->peers != nullptr && state_->peers->somebody_was_seen_gone()) return;
  if (std::uncaught_exceptions() == state_->exceptions_at_start) MPI_Comm_free(&state_->comm);
}

double MpiCommunicator::now_s() { return seconds_since(state_->start); }

Request MpiCommunicator::start_send(int to, int tag, std::span<const std::byte> data) {
  traffic_meter()->sent(data.size());
  Transfer transfer{.sending = true, .peer = to, .tag = tag, .bytes = data.size()};
  state_->refuse_if_gone(to, transfer);
  if (is_out_of_reach(device(), data.data())) {
    const std::span<std::byte> staged(state_->stage(device(), transfer), data.size());
    device().transfer(data, staged);
    data = staged;
  }
  const Extent extent(data.size());
  const int code = MPI_Isend(data.data(), extent.count(), extent.type(), to, tag, state_->comm, &transfer.handle);
  if (code != MPI_SUCCESS) state_->throw_failed(transfer, code);
  return state_->keep(std::move(transfer));
}

Request MpiCommunicator::start_receive(int from, int tag, std::span<std::byte> data) {
  Transfer transfer{.sending = false, .peer = from, .tag = tag, .bytes = data.size()};
  if (is_out_of_reach(device(), data.data())) {
    transfer.destination = data.data();
    data = {state_->stage(device(), transfer), data.size()};
  }
  const Extent extent(data.size());
  const int source = from == any_source ? MPI_ANY_SOURCE : from;
  const int code = MPI_Irecv(data.data(), extent.count(), extent.type(), source, tag, state_->comm, &transfer.handle);
  if (code != MPI_SUCCESS) state_->throw_failed(transfer, code);
  return state_->keep(std::move(transfer));
}

Received MpiCommunicator::wait(Request request) { return *wait_for(request, std::numeric_limits<double>::infinity()); }

std::optional<Received> MpiCommunicator::wait_for(Request request, double limit_s) {
  const bool receives = !state_->find(request).sending;
  const auto received = state_->wait_for(device(), request, limit_s);
  if (receives && received) traffic_meter()->received(received->bytes);
  return received;
}

void MpiCommunicator::end_left_out() {
  constexpr double grace_s = 2;
  Backoff backoff(state_->competition);
  while (state_->peers->somebody_lives_on() && backoff.waited_s() < grace_s) backoff.pause();
  state_->peers->kill_left_out();
}

bool MpiCommunicator::somebody_is_gone() { return state_->peers->somebody_is_gone(); }

void MpiCommunicator::when_expendable(std::function<void(bool)> action) {
  state_->peers->when_expendable(std::move(action));
}

std::unique_ptr<Window> MpiCommunicator::open_window(std::size_t floats, std::size_t counters) {
  expect_reachable_windows(device());
  const MpiWindow::Context place{.comm = state_->comm,
                                 .rank = state_->rank,
                                 .size = state_->size,
                                 .stall_s = state_->stall_s,
                                 .patience = state_->patience,
                                 .cancellation = state_->cancellation,
                                 .peers = state_->peers,
                                 .traffic_meter = traffic_meter()};
  return std::make_unique<MpiWindow>(place, floats, counters);
}

int MpiCommunicator::cores() const { return state_->cores; }

bool MpiCommunicator::allows_threads() const {
  int provided = 0;
  state_->check(MPI_Query_thread(&provided), "MPI_Query_thread");
  return provided == MPI_THREAD_MULTIPLE;
}

void MpiCommunicator::abandon(const std::string& reason) { state_->cancellation->request(reason); }

void MpiCommunicator::library_routine(Library library, Operation operation, std::span<const float>, std::span<float> data) {
  if (operation != Operation::allreduce)
    throw core::ConfigError(
        core::format("between ranks, collective 'nccl' serves allreduce alone: choose another for {}", name_of(operation)));
  if (data.empty()) {
    if (library == Library::device) device().make_allreduce();  // throws if there is none
    return;
  }
  traffic_meter()->called_library();
  if (library == Library::transport) return mpi_allreduce(data);
  if (!state_->device_sum)
    state_->device_sum.emplace(*this, DeviceSum::Limits{state_->stall_s, state_->cancellation, state_->peers});
  (*state_->device_sum)(data);
}

void MpiCommunicator::mpi_allreduce(std::span<float> data) {
  constexpr std::size_t most = std::size_t{1} << 30;  // counts are int
  if (is_out_of_reach(device(), data.data())) {
    core::Arena staged = state_->staging.take(device(), data.size_bytes());
    const std::span<float> host = staged.span().first(data.size());
    device().transfer(std::span<const float>(data), host);
    mpi_allreduce(host);
    device().transfer(std::span<const float>(host), data);
    return state_->staging.give_back(std::move(staged));
  }
  while (!data.empty()) {
    const auto part = data.first(std::min(data.size(), most));
    state_->check(MPI_Allreduce(MPI_IN_PLACE, part.data(), static_cast<int>(part.size()), MPI_FLOAT, MPI_SUM, state_->comm),
                  "MPI_Allreduce");
    data = data.subspan(part.size());
  }
}

}  // namespace paragrad::comm
