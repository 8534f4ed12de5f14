#include "backend/cuda/nccl_allreduce.hpp"

#include <stdexcept>

#include "backend/cuda/gpu.hpp"
#include "backend/cuda/handles.hpp"
#include "backend/cuda/nccl.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::backend::cuda {
namespace {

/// Uses non-blocking NCCL communicators: pending operations are polled, so that a waiting process notices when others are
/// gone.
class NcclAllreduce final : public DeviceAllreduce {
 public:
  NcclAllreduce(int gpu, cudaStream_t stream, Device& device) : gpu_(gpu), stream_(stream), device_(device) {
    nccl();  // throws if NCCL is missing
  }
  NcclAllreduce(const NcclAllreduce&) = delete;
  NcclAllreduce& operator=(const NcclAllreduce&) = delete;

  ~NcclAllreduce() override {
    if (comm_ == nullptr) return;
    static_cast<void>(phase_ == Phase::idle ? nccl().destroy(comm_) : nccl().abort(comm_));
  }

  std::string invite() override {
    ncclUniqueId id;
    check(nccl().get_unique_id(&id));
    return {id.internal, sizeof id.internal};
  }

  void join(const std::string& invitation, int rank, int size) override {
    use_gpu(gpu_);
    ncclUniqueId id;
    if (invitation.size() != sizeof id.internal) throw std::logic_error("NCCL's invitations have another size");
    invitation.copy(id.internal, sizeof id.internal);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    begin(Phase::joining, nccl().init_rank(&comm_, size, id, rank, &config));
  }

  void start(std::span<float> data) override {
    device_.submit();
    begin(Phase::starting, nccl().all_reduce(data.data(), data.data(), data.size(), ncclFloat32, ncclSum, comm_, stream_));
  }

  bool is_done() override {
    if (phase_ == Phase::joining || phase_ == Phase::starting) {
      if (is_in_progress()) return false;
      if (phase_ == Phase::starting) {
        use_gpu(gpu_);
        cuda::check(cudaEventRecord(end_.get(), stream_), "a sum over GPUs");
      }
      phase_ = phase_ == Phase::joining ? Phase::idle : Phase::running;
    }
    if (phase_ == Phase::running) {
      const cudaError_t state = cudaEventQuery(end_.get());
      if (state == cudaErrorNotReady) {
        is_in_progress();  // throws what keeps it from ever being ready
        return false;
      }
      cuda::check(state, "a sum over GPUs");
      phase_ = Phase::idle;
    }
    return true;
  }

 private:
  enum class Phase { idle, joining, starting, running };

  void begin(Phase phase, ncclResult_t result) {
    phase_ = phase;
    if (result != ncclInProgress) check(result);
  }

  /// Throws for errors of the communicator: also those of other processes, and of calls that seemed to succeed.
  bool is_in_progress() const {
    ncclResult_t state = ncclSuccess;
    check(nccl().get_async_error(comm_, &state));
    if (state != ncclInProgress) check(state);
    return state == ncclInProgress;
  }

  void check(ncclResult_t result) const {
    if (result == ncclSuccess) return;
    const char* const text = nccl().error_string(result);
    if (phase_ == Phase::joining && result == ncclInvalidUsage)
      throw core::ConfigError(core::format(
          "NCCL cannot connect these GPUs ({}): give each rank its own GPU, or choose a collective other than nccl", text));
    throw std::runtime_error(core::format("NCCL failed: {}", text));
  }

  int gpu_;
  cudaStream_t stream_;
  Device& device_;
  Event end_ = make_event();
  ncclComm_t comm_ = nullptr;
  Phase phase_ = Phase::idle;
};

}  // namespace

std::unique_ptr<DeviceAllreduce> make_nccl_allreduce(int gpu, cudaStream_t stream, Device& device) {
  return std::make_unique<NcclAllreduce>(use_gpu(gpu), stream, device);
}

}  // namespace paragrad::backend::cuda
