#include "backend/all_kernels.hpp"
#include "backend/device.hpp"

namespace paragrad::backend {

namespace {

/// The formulas as plain loops, the oracle for the other devices.
class ReferenceDevice final : public Device {
 public:
  std::string_view name() const override { return "reference"; }
  core::Arena allocate(std::size_t count) const override { return core::host_arena(count); }

 private:
  void do_run(const KernelRef& ref) override {
    visit(ref, [](const auto& kernel) { run_reference(kernel); });
  }
  void do_call(const HostCall& call) override { call.function(); }
};

}  // namespace

std::unique_ptr<Device> make_reference(std::string_view) { return std::make_unique<ReferenceDevice>(); }

}  // namespace paragrad::backend
