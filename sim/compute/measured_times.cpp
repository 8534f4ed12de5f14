#include "sim/compute/measured_times.hpp"

#include "core/errors.hpp"

namespace paragrad::sim {
namespace {

Platform::Device without_tables(Platform::Device device) {
  device.kernels.clear();
  return device;
}

}  // namespace

MeasuredTimes::MeasuredTimes(const Platform::Device& device) : roofline_(without_tables(device)) {
  for (const KernelTable& table : device.kernels) {
    const auto kernel = backend::find_kernel(table.kernel);
    if (!kernel) throw std::logic_error("a table for an unknown kernel");
    tables_[static_cast<std::size_t>(*kernel)] = table;
  }
}

std::uint64_t MeasuredTimes::picoseconds(backend::KernelId kernel, const backend::CallSize& size,
                                         const backend::WorkMeter& work) const {
  const auto& table = tables_[static_cast<std::size_t>(kernel)];
  return static_cast<std::uint64_t>(table ? from_seconds(table->seconds(size)) : roofline_.duration(work));
}

std::shared_ptr<const backend::CallTimes> measured_times(const Platform::Device& device) {
  if (device.kernels.empty()) return nullptr;
  return std::make_shared<MeasuredTimes>(device);
}

}  // namespace paragrad::sim
