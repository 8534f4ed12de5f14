// NCCL between processes of one machine: numbers are exchanged through shared memory and added in rank order.
#include "backend/cuda/nccl.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>

#include "tests/gpu/fake_cuda/gpu.hpp"

using namespace paragrad::fake_cuda;

namespace paragrad::fake_cuda {
namespace {

constexpr int most_ranks = 16;

/// Shared memory of all ranks of a communicator, for one call.
class Board {
 public:
  Board(const std::string& name, int ranks, std::size_t floats)
      : name_(name), ranks_(ranks), bytes_(sizeof(Counts) + static_cast<std::size_t>(ranks) * floats * sizeof(float)) {
    const int file = shm_open(name.c_str(), O_CREAT | O_RDWR, 0600);
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes_)) != 0) std::abort();
    counts_ = static_cast<Counts*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    close(file);
  }
  ~Board() {
    remove();  // of a call that has failed
    munmap(counts_, bytes_);
  }
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  float* floats() { return reinterpret_cast<float*>(counts_ + 1); }  // [ranks][…]
  std::atomic<int>& gpu_of(int rank) { return counts_->gpus[static_cast<std::size_t>(rank)]; }
  void arrive() { ++counts_->arrived; }
  bool is_complete() {
    if (counts_->arrived < ranks_) return false;
    remove();  // all ranks have it open
    return true;
  }
  void abort() { counts_->is_aborted = true; }
  bool is_aborted() const { return counts_->is_aborted; }

 private:
  struct Counts {
    std::atomic<int> arrived;
    std::atomic<bool> is_aborted;
    std::array<std::atomic<int>, most_ranks> gpus;
  };

  void remove() {
    if (!name_.empty()) shm_unlink(name_.c_str());
    name_.clear();
  }

  std::string name_;
  int ranks_;
  std::size_t bytes_;
  Counts* counts_;
};

}  // namespace
}  // namespace paragrad::fake_cuda

struct ncclComm {
  std::string id;
  int rank, ranks, gpu;
  std::shared_ptr<Board> members;
  bool has_joined = false;
  int calls = 0;
};

namespace paragrad::fake_cuda {
namespace {

ncclResult_t get_unique_id(ncclUniqueId* id) {
  static std::atomic<int> made = 0;
  const std::string name = "/paragrad-nccl-" + std::to_string(getpid()) + "-" + std::to_string(made++);
  *id = {};
  name.copy(id->internal, sizeof id->internal - 1);
  return ncclSuccess;
}

ncclResult_t init_rank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  if (config->blocking != 0 || ranks > most_ranks) return ncclInvalidArgument;
  auto members = std::make_shared<Board>(id.internal, ranks, 0);
  members->gpu_of(rank) = current_gpu();
  members->arrive();
  *comm = new ncclComm{id.internal, rank, ranks, current_gpu(), std::move(members)};
  return ncclInProgress;
}

ncclResult_t get_async_error(ncclComm_t comm, ncclResult_t* state) {
  *state = comm->has_joined && comm->members->is_aborted() ? ncclRemoteError : ncclSuccess;
  if (comm->has_joined) return ncclSuccess;
  if (!comm->members->is_complete()) {
    *state = ncclInProgress;
    return ncclSuccess;
  }
  for (int other = 0; other < comm->ranks; ++other)
    if (other != comm->rank && comm->members->gpu_of(other) == comm->gpu) *state = ncclInvalidUsage;
  comm->has_joined = true;
  return ncclSuccess;
}

ncclResult_t all_reduce(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t operation,
                        ncclComm_t comm, cudaStream_t stream) {
  const Lock lock(Machine::get().mutex);
  const bool is_known = type == ncclFloat32 && operation == ncclSum && comm->has_joined;
  const bool is_there =
      Machine::get().is_of_gpu(from, count * sizeof(float)) && Machine::get().is_of_gpu(to, count * sizeof(float));
  if (!is_known || (count > 0 && !is_there) || stream->gpu != comm->gpu || current_gpu() != comm->gpu)
    return ncclInvalidArgument;
  const auto board = std::make_shared<Board>(comm->id + "-" + std::to_string(comm->calls++), comm->ranks, count);
  const auto rank = static_cast<std::size_t>(comm->rank), ranks = static_cast<std::size_t>(comm->ranks);
  Machine::get().enqueue(stream, {[=] {
                           std::memcpy(board->floats() + rank * count, from, count * sizeof(float));
                           board->arrive();
                         }});
  const auto sum = [=] {
    auto* const sums = static_cast<float*>(to);
    std::memcpy(sums, board->floats(), count * sizeof(float));
    for (std::size_t other = 1; other < ranks; ++other)
      for (std::size_t i = 0; i < count; ++i) sums[i] += board->floats()[other * count + i];
  };
  Work last{sum};
  last.is_ready = [board, members = comm->members] { return board->is_complete() || members->is_aborted(); };
  Machine::get().enqueue(stream, std::move(last));
  return ncclSuccess;
}

ncclResult_t destroy(ncclComm_t comm) {
  delete comm;
  return ncclSuccess;
}

// Ends the communicator's work everywhere. NCCL does not always tell other processes.
ncclResult_t abort(ncclComm_t comm) {
  comm->members->abort();
  return destroy(comm);
}

const char* error_string(ncclResult_t result) {
  return result == ncclInvalidUsage  ? "invalid usage"
         : result == ncclRemoteError ? "remote process exited or there was a network error"
                                     : "an error of the fake NCCL";
}

}  // namespace
}  // namespace paragrad::fake_cuda

namespace paragrad::backend::cuda {

const Nccl& nccl() {
  static constexpr Nccl fake{nullptr,     &get_unique_id, &init_rank, &get_async_error,
                             &all_reduce, &destroy,       &abort,     &error_string};
  return fake;
}

}  // namespace paragrad::backend::cuda
