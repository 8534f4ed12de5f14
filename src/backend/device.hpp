#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/copy_stream.hpp"
#include "backend/device_allreduce.hpp"
#include "backend/kernel_queue.hpp"
#include "backend/move.hpp"
#include "core/arena.hpp"
#include "core/encoding.hpp"

namespace paragrad::backend {

/// Memory, and dense mathematics on flat float32 arrays in it: run(kernel). Matrices are row-major without padding; a batch
/// is [batch][features].
///
/// Memory. All spans and pointers of a kernel are device memory; the lengths of sequences (Steps) are the host's. is_host()
/// tells whether the host can access a device's memory; transfer() copies between the two.
///
/// Order. A device executes calls in order, possibly asynchronously: the host may read results only after finish() or
/// through transfer(), and the memory used by a call must stay valid until then. Results stay on the device: sums are added
/// to a location in its memory.
///
/// The work of a kernel follows from its arguments, so every device, including the one without arithmetic (meta), counts the
/// same flops and bytes.
///
/// One object per worker; calls on one object must not overlap. Given the same inputs, a device returns the same bits on
/// every call, from any thread.
class Device : public KernelQueue {
 public:
  virtual std::string_view name() const = 0;
  /// Allocates zeros; see device_array.hpp for other types. May be called from any thread, concurrently with other calls.
  virtual core::Arena allocate(std::size_t count) const = 0;

  /// Whether the host can access this device's memory directly.
  virtual bool is_host() const { return true; }

  /// Whether an address is memory of a device of this kind that the host cannot access.
  virtual bool is_isolated(const void* /*address*/) const { return false; }

  /// Whether that memory is CUDA memory, which some communication libraries can access.
  virtual bool is_cuda() const { return false; }

  /// Vendor, model and memory of a device other than the host's CPU: "NVIDIA H200, 151 GB".
  virtual std::string hardware() const { return ""; }

  /// Host memory with the fastest transfer() (pinned, for a GPU); content undefined.
  virtual core::Arena allocate_on_host(std::size_t count) const { return core::host_arena(count); }

  /// to = from, each in memory of a device of this kind or of the host; runs after all earlier calls and is complete on
  /// return. Not counted as work. Memory without content (meta) is neither read nor written.
  template <class T>
  void transfer(std::span<const T> from, std::span<T> to) {
    transfer_bytes(std::as_bytes(from), std::as_writable_bytes(to));
  }

  /// to = from (host memory), in call order like a kernel. `from` is read before the call returns. Not counted either.
  template <class T>
  void upload(std::span<const T> from, std::span<T> to) {
    upload_bytes(std::as_bytes(from), std::as_writable_bytes(to));
  }

  /// features[i][width] = the decoded numbers of `stored`[frames][frame_dim] from frame windows[i] on; a window may span
  /// several frames. In call order. Not counted: for timing, a worker's samples are already on the device.
  void decode(const core::Encoding& encoding, std::size_t frame_dim, std::span<const std::byte> stored,
              std::span<const std::uint32_t> windows, std::span<float> features);

  /// Runs the kernels Copy and Add for moves that do not depend on each other; a GPU needs one launch for
  /// Move::most_at_once.
  virtual void move(std::span<const Move> moves);

  /// A copy stream into this device's memory for use by another thread, valid while the device lives. Throws logic_error if
  /// the memory is the host's, where none is needed.
  virtual std::unique_ptr<CopyStream> make_copy_stream();

  /// Sums arrays over the devices of several processes without going through their hosts. Throws ConfigError if the device
  /// does not support it.
  virtual std::unique_ptr<DeviceAllreduce> make_allreduce();

  /// Starts any deferred calls, for example at the end of a minibatch, which the next one probably repeats. A device may
  /// defer calls until here.
  virtual void submit() {}

  /// Returns when all earlier calls are complete.
  virtual void finish() {}

  bool computes() const override { return true; }

  double squared_norm(std::span<const float> x) override;

 private:
  void transfer_bytes(std::span<const std::byte> from, std::span<std::byte> to);
  void upload_bytes(std::span<const std::byte> from, std::span<std::byte> to);

  virtual void do_transfer(std::size_t bytes, const std::byte* from, std::byte* to);  // default: both are host memory
  virtual void do_upload(std::size_t bytes, const std::byte* from, std::byte* to) { do_transfer(bytes, from, to); }
  virtual void do_decode(const core::Encoding&, std::size_t frame_dim, std::span<const std::byte> stored,
                         std::span<const std::uint32_t> windows, std::size_t width,
                         float* features);  // default: host memory

  core::Arena number_;  // the result of squared_norm()
};

/// Throws ConfigError for an unknown name and for a device that this build or machine does not support.
std::unique_ptr<Device> make_device(std::string_view name);

/// Device::computes() of that device, which this machine need not have. Throws ConfigError for an unknown name.
bool device_computes(std::string_view name);

}  // namespace paragrad::backend
