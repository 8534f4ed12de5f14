// NCCL between processes of one machine: numbers are exchanged through shared memory and added in rank order.
#include "backend/cuda/nccl.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
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
  ~Board() { munmap(counts_, bytes_); }
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  float* floats() { return reinterpret_cast<float*>(counts_ + 1); }  // [ranks][…]
  std::atomic<int>& gpu_of(int rank) { return counts_->gpus[static_cast<std::size_t>(rank)]; }
  void arrive() { ++counts_->arrived; }
  bool is_complete() const {
    if (counts_->arrived < ranks_) return false;
    shm_unlink(name_.c_str());  // no longer needed, as all ranks have it open
    return true;
  }

 private:
  struct Counts {
    std::atomic<int> arrived;
    std::array<std::atomic<int>, most_ranks> gpus;
  };

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
  std::unique_ptr<Board> joining;
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
  auto joining = std::make_unique<Board>(id.internal, ranks, 0);
  joining->gpu_of(rank) = current_gpu();
  joining->arrive();
  *comm = new ncclComm{id.internal, rank, ranks, current_gpu(), std::move(joining)};
  return ncclInProgress;
}

ncclResult_t get_async_error(ncclComm_t comm, ncclResult_t* state) {
  *state = ncclSuccess;
  if (comm->joining == nullptr) return ncclSuccess;
  if (!comm->joining->is_complete()) {
    *state = ncclInProgress;
    return ncclSuccess;
  }
  for (int other = 0; other < comm->ranks; ++other)
    if (other != comm->rank && comm->joining->gpu_of(other) == comm->gpu) *state = ncclInvalidUsage;
  comm->joining.reset();
  return ncclSuccess;
}

ncclResult_t all_reduce(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t operation,
                        ncclComm_t comm, cudaStream_t stream) {
  const Lock lock(Machine::get().mutex);
  const bool is_known = type == ncclFloat32 && operation == ncclSum && comm->joining == nullptr;
  const bool is_there =
      Machine::get().is_of_gpu(from, count * sizeof(float)) && Machine::get().is_of_gpu(to, count * sizeof(float));
  if (!is_known || (count > 0 && !is_there) || stream->gpu != comm->gpu || current_gpu() != comm->gpu)
    return ncclInvalidArgument;
  const std::string name = comm->id + "-" + std::to_string(comm->calls++);
  Machine::get().enqueue(stream, {[=, rank = static_cast<std::size_t>(comm->rank), ranks = comm->ranks] {
                           Board board(name, ranks, count);
                           std::memcpy(board.floats() + rank * count, from, count * sizeof(float));
                           board.arrive();
                           while (!board.is_complete()) sched_yield();
                           auto* const sums = static_cast<float*>(to);
                           std::memcpy(sums, board.floats(), count * sizeof(float));
                           for (std::size_t other = 1; other < static_cast<std::size_t>(ranks); ++other)
                             for (std::size_t i = 0; i < count; ++i) sums[i] += board.floats()[other * count + i];
                         }});
  return ncclSuccess;
}

ncclResult_t destroy(ncclComm_t comm) {
  delete comm;
  return ncclSuccess;
}

const char* error_string(ncclResult_t result) {
  return result == ncclInvalidUsage ? "invalid usage" : "an error of the fake NCCL";
}

}  // namespace
}  // namespace paragrad::fake_cuda

namespace paragrad::backend::cuda {

const Nccl& nccl() {
  static constexpr Nccl fake{nullptr,     &get_unique_id, &init_rank, &get_async_error,
                             &all_reduce, &destroy,       &destroy,   &error_string};
  return fake;
}

}  // namespace paragrad::backend::cuda
