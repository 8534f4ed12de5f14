#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "backend/all_kernels.hpp"
#include "backend/device.hpp"
#include "core/fields.hpp"

namespace paragrad::backend {

namespace {

/// Addresses of the isolated device have a bit set that no process can map (bit 61 of a user address is zero); memory of the
/// device meta is above.
constexpr std::uintptr_t wall = std::uintptr_t{1} << 61;

bool is_behind_wall(const void* address) {
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  return number >= wall && number < wall << 1;
}

/// The real address; host addresses are unchanged.
template <class T>
T* anywhere(T* address) {
  return is_behind_wall(address) ? reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(address) & ~wall) : address;
}

/// Arguments of kernels must be isolated addresses.
template <class T>
T* real(T* address) {
  if (!is_behind_wall(address)) throw std::logic_error("a kernel of the isolated device was given host memory");
  return anywhere(address);
}

template <class T>
std::span<T> real(std::span<T> memory) {
  if (memory.empty()) return {};
  return {real(memory.data()), memory.size()};
}

// ---- the arguments of a kernel, made to refer to real memory ----

template <class T>
void translate(std::span<T>& memory) {
  memory = real(memory);
}
template <class T>
void translate(T*& address) {
  address = real(address);
}
void translate(Steps& steps) { steps = steps.kept(); }
template <class T>
void translate(T& argument);
template <class T, std::size_t n>
void translate(std::array<T, n>& arguments) {
  for (T& argument : arguments) translate(argument);
}
template <class T>
void translate(T& argument) {
  if constexpr (std::is_aggregate_v<T>) core::for_each_field(argument, [](auto& field) { translate(field); });
}

/// There is one queue: following it means to wait for all of it at once.
class IsolatedCopyStream final : public CopyStream {
 public:
  explicit IsolatedCopyStream(Device& device) : device_(device) {}
  void follow() override { device_.finish(); }

 private:
  void do_bring(std::size_t bytes, const std::byte* from, std::byte* to) override { std::memcpy(real(to), from, bytes); }

  Device& device_;
};

/// The device cpu with the restrictions of a GPU: the host cannot access its memory, and nothing is computed before the host
/// waits for it. A missing transfer faults, a missing wait yields zeros.
class IsolatedDevice final : public Device {
 public:
  std::string_view name() const override { return "isolated"; }

  core::Arena allocate(std::size_t count) const override {
    float* const memory = core::host_arena(count).let_go();
    if (memory == nullptr) return {};
    return {reinterpret_cast<float*>(reinterpret_cast<std::uintptr_t>(memory) | wall), count,
            [](float* data, std::size_t size) { core::release_host_memory(anywhere(data), size); }};
  }

  bool is_host() const override { return false; }
  bool is_isolated(const void* address) const override { return is_behind_wall(address); }

  std::unique_ptr<CopyStream> make_copy_stream() override { return std::make_unique<IsolatedCopyStream>(*this); }

  void finish() override {
    for (const auto& call : std::exchange(calls_, {})) call(*cpu_);
  }

 private:
  using Call = std::function<void(Device& cpu)>;

  void later(Call call) { calls_.push_back(std::move(call)); }

  void do_transfer(std::size_t bytes, const std::byte* from, std::byte* to) override {
    finish();
    std::memcpy(anywhere(to), anywhere(from), bytes);
  }

  void do_upload(std::size_t bytes, const std::byte* from, std::byte* to) override {
    later([content = std::vector<std::byte>(from, from + bytes), to](Device&) {
      std::memcpy(real(to), content.data(), content.size());
    });
  }

  void do_decode(const core::Encoding& encoding, std::size_t frame_dim, std::span<const std::byte> stored,
                 std::span<const std::uint32_t> windows, std::size_t width, float* features) override {
    later([=](Device& cpu) {
      cpu.decode(encoding, frame_dim, real(stored), real(windows), real(std::span(features, windows.size() * width)));
    });
  }

  void do_run(const KernelRef& ref) override {
    visit(ref, [&](auto kernel) {
      translate(kernel);
      later([kernel](Device& cpu) { cpu.run(kernel); });
    });
  }

  std::unique_ptr<Device> cpu_ = make_device("cpu");
  std::vector<Call> calls_;  // not yet executed
};

}  // namespace

std::unique_ptr<Device> make_isolated(std::string_view) { return std::make_unique<IsolatedDevice>(); }

}  // namespace paragrad::backend
