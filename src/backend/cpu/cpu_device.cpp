#include "backend/backend_info.hpp"
#include "backend/cpu/bodies.hpp"
#include "backend/cpu/flush_denormals.hpp"
#include "backend/device.hpp"
#include "core/format.hpp"

namespace paragrad::backend {

namespace {

/// One processor core. Denormal numbers count as zero; for all others the loops that stream through arrays give the
/// reference's bits.
class CpuDevice final : public Device {
 public:
  std::string_view name() const override { return "cpu"; }
  core::Arena allocate(std::size_t count) const override { return core::host_arena(count); }

 private:
  void do_run(const KernelRef& ref) override {
    const cpu::FlushDenormals flush;
    visit(ref, [&](const auto& kernel) {
      if constexpr (requires { cpu::run(workspace_, kernel); })
        cpu::run(workspace_, kernel);
      else
        run_reference(kernel);
    });
  }
  void do_call(const HostCall& call) override {
    const cpu::FlushDenormals flush;
    call.function();
  }

  cpu::Workspace workspace_;
};

}  // namespace

std::unique_ptr<Device> make_cpu(std::string_view) { return std::make_unique<CpuDevice>(); }

std::string blas_description() {
  return core::format("{}; own kernels {}", cpu::openblas_description(), cpu::instruction_set());
}

}  // namespace paragrad::backend
