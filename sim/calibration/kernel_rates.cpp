#include "sim/calibration/kernel_rates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/all_kernels.hpp"
#include "backend/device.hpp"
#include "backend/example_memory.hpp"
#include "sim/calibration/timing.hpp"

namespace paragrad::sim::calibration {
namespace {

using backend::Device;
using backend::ExampleMemory;
using backend::KernelId;

/// Calls of one kernel at one size.
using Call = std::function<void(backend::KernelQueue&)>;

/// The memory that all calls share, one after the other.
std::unique_ptr<ExampleMemory> memory_for(Device& device, const KernelGrid& grid) {
  const double largest_product = grid.batch.back() * grid.width.back();
  const double largest_stream = grid.bytes.back() / sizeof(float);
  const double attention = backend::AttentionExample::floats * grid.heads.back() * grid.head.back() * grid.context.back();
  return std::make_unique<ExampleMemory>(
      device, static_cast<std::size_t>(std::max(grid.width.back() * grid.width.back(), largest_stream)),
      static_cast<std::size_t>(std::ceil(std::max({largest_product, largest_stream, attention / 3}))),
      static_cast<std::size_t>(largest_stream));
}

/// size: one number for a kernel that streams, else three (backend::ExampleSizes).
template <class Kernel, class... Size>
Call example_call(ExampleMemory& memory, Size... size) {
  if constexpr (requires { Kernel::example(memory, size...); })
    return [example = Kernel::example(memory, size...)](backend::KernelQueue& queue) { queue.run(example()); };
  else
    throw std::logic_error("a kernel has no example of this kind");
}

/// use.operator()<Kernel>() for the kernel of this number.
template <class Use>
auto for_type_of(KernelId kernel, const Use& use) {
  using namespace backend;
  switch (kernel) {
#define KERNEL(name, Type, kind, cpu) \
  case KernelId::name:                \
    return use.template operator()<Type>();
#include "backend/kernels.def"
#undef KERNEL
    case KernelId::count:
      break;
  }
  throw std::logic_error("no kernel has this number");
}

template <class... Size>
Call call_of(KernelId kernel, ExampleMemory& memory, Size... size) {
  return for_type_of(kernel, [&]<class Kernel>() { return example_call<Kernel>(memory, size...); });
}

/// Kernels that training does not use have no example.
bool is_measured(KernelId kernel) {
  return for_type_of(kernel, []<class Kernel>() {
    return requires { &Kernel::example; };
  });
}

backend::ExampleSizes sizes_of(KernelId kernel) {
  return for_type_of(kernel, [&]<class Kernel>() {
    using backend::ExampleSizes;
    if constexpr (requires { Kernel::example_sizes; })
      return Kernel::example_sizes;
    else
      return backend::kernel_kind(kernel) == backend::KernelKind::gemm ? ExampleSizes::product : ExampleSizes::stream;
  });
}

/// Those that will be measured.
std::array<std::vector<double>, 3> sizes_of(KernelId kernel, const KernelGrid& grid) {
  switch (sizes_of(kernel)) {
    case backend::ExampleSizes::stream:
      return {grid.bytes, {1}, {1}};
    case backend::ExampleSizes::product:
      return {grid.batch, grid.width, grid.width};
    case backend::ExampleSizes::heads_width_pairs: {
      std::vector<double> pairs;
      for (const double rows : grid.context) pairs.push_back(rows * (rows + 1) / 2);
      return {grid.heads, grid.head, pairs};
    }
  }
  throw std::logic_error("no such sizes");
}

/// A table with no time yet.
KernelTable blank(KernelId kernel, const KernelGrid& grid) {
  KernelTable table{std::string(backend::kernel_name(kernel)), sizes_of(kernel, grid), {}};
  const std::size_t points = table.sizes[0].size() * table.sizes[1].size() * table.sizes[2].size();
  table.time_s.assign(points, std::numeric_limits<double>::infinity());
  return table;
}

/// Bytes that the meter counts per element of a kernel that streams.
std::uint64_t bytes_per_element(KernelId kernel) {
  constexpr std::size_t count = 5120;  // whole rows of every kernel: of 10 classes, of 512 columns
  const auto meta = backend::make_device("meta");
  ExampleMemory memory(*meta, count, count, count);
  const Call call = call_of(kernel, memory, count);
  const auto streamed = [&] { return static_cast<std::uint64_t>(meta->meter().of(backend::KernelKind::streaming).bytes); };
  const std::uint64_t before = streamed();
  call(*meta);
  return (streamed() - before) / count;
}

class Measurement {
 public:
  Measurement(comm::Worker& worker, const KernelGrid& grid)
      : worker_(worker), grid_(grid), memory_(memory_for(worker.device(), grid)) {}

  /// One pass over all points of a table, keeping the least.
  void measure(KernelId kernel, KernelTable& table) {
    if (sizes_of(kernel) != backend::ExampleSizes::stream) return measure_in_three(kernel, table);
    const std::uint64_t width = bytes_per_element(kernel);
    for (std::size_t i = 0; i < table.sizes[0].size(); ++i) {
      const auto elements = std::max<std::size_t>(1, static_cast<std::size_t>(table.sizes[0][i]) / width);
      take(table.time_s[i], call_of(kernel, *memory_, elements));
    }
  }

 private:
  void measure_in_three(KernelId kernel, KernelTable& table) {
    std::size_t point = 0;
    for (const double first : table.sizes[0])
      for (const double second : table.sizes[1])
        for (const double third : table.sizes[2])
          take(table.time_s[point++], call_of(kernel, *memory_, static_cast<std::size_t>(first),
                                              static_cast<std::size_t>(second), static_cast<std::size_t>(third)));
  }

  void take(double& least_s, const Call& call) {
    const auto calls = [&](int count) {
      worker_.run_kernels([&](backend::KernelQueue& queue) {
        for (int done = 0; done < count; ++done) call(queue);
      });
    };
    least_s = std::min(least_s, mean_call_s(worker_.comm(), grid_.burst_s, calls));
  }

  comm::Worker& worker_;
  const KernelGrid& grid_;
  std::unique_ptr<ExampleMemory> memory_;
};

/// Noise may let a larger call seem faster.
void make_monotone(KernelTable& table) {
  const std::array<std::size_t, 3> strides{table.sizes[1].size() * table.sizes[2].size(), table.sizes[2].size(), 1};
  for (std::size_t i = 0; i < table.time_s.size(); ++i)
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (i / strides[axis] % table.sizes[axis].size() > 0)
        table.time_s[i] = std::max(table.time_s[i], table.time_s[i - strides[axis]]);
}

}  // namespace

KernelGrid KernelGrid::of(const backend::Device& device) {
  KernelGrid grid;
  if (device.is_cuda()) {
    grid.batch = {1, 8, 64, 256, 1024, 4096};
    grid.width = {10, 64, 256, 1024, 4096, 16384};
    grid.bytes = {1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 4e8};
    grid.heads = {1, 16, 128, 512};
  }
  return grid;
}

std::vector<KernelTable> measure_kernels(comm::Worker& worker, const KernelGrid& grid,
                                         const std::function<void(int, int)>& progress) {
  std::vector<KernelTable> tables;
  for (std::size_t k = 0; k < backend::kernel_count; ++k) tables.push_back(blank(static_cast<KernelId>(k), grid));
  Measurement measurement(worker, grid);
  for (int pass = 0; pass < grid.passes; ++pass) {
    progress(pass, grid.passes);
    for (std::size_t k = 0; k < backend::kernel_count; ++k)
      if (is_measured(static_cast<KernelId>(k))) measurement.measure(static_cast<KernelId>(k), tables[k]);
  }
  for (std::size_t k = backend::kernel_count; k-- > 0;)
    if (!is_measured(static_cast<KernelId>(k))) tables.erase(tables.begin() + static_cast<std::ptrdiff_t>(k));
  for (KernelTable& table : tables) {
    comm::sum_in_rank_order(worker.comm(), table.time_s);
    for (double& time_s : table.time_s) time_s /= worker.size();
    make_monotone(table);
  }
  return tables;
}

}  // namespace paragrad::sim::calibration
