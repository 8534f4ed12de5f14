#include "sim/calibration/kernel_rates.hpp"

#include <algorithm>
#include <limits>

#include "backend/device_array.hpp"
#include "core/philox.hpp"
#include "sim/calibration/timing.hpp"

namespace paragrad::sim::calibration {
namespace {

using backend::Activation;
using backend::Device;
using backend::Kernel;

/// A call of one kernel at one size, on arrays of its own.
using Call = std::function<void(Device&)>;

/// Parameter arrays: each request gets the range after the previous one, cycling through as much memory as a model with its
/// gradient and momentum takes, or through a few such arrays if they are larger.
class Parameters {
 public:
  static constexpr std::size_t model_floats = 2'000'000;
  static constexpr std::size_t arrays = 4;

  Parameters(Device& device, std::size_t largest) : arena_(device.allocate(std::max(arrays * largest, model_floats))) {
    device.fill(1e-3f, arena_.span());
  }

  std::span<float> next(std::size_t count) {
    if (at_ + count > std::max(arrays * count, model_floats)) at_ = 0;
    at_ += count;
    return arena_.span().subspan(at_ - count, count);
  }

 private:
  core::Arena arena_;
  std::size_t at_ = 0;
};

/// Memory for all calls, one after the other.
struct Bench {
  /// activation: elements of the largest; gradient: of the largest stream.
  Bench(Device& device, std::size_t largest_parameters, std::size_t activation, std::size_t gradient_elements)
      : parameters(device, largest_parameters),
        activations(device.allocate(3 * activation)),
        gradient(device.allocate(gradient_elements)),
        labels(device, activation),
        rows(device, activation),
        sum(device, 1) {}

  Parameters parameters;
  core::Arena activations;  // three arrays
  core::Arena gradient;     // random numbers, where a kernel's time depends on them
  backend::DeviceArray<std::int32_t> labels;
  backend::DeviceArray<std::uint32_t> rows;
  backend::DeviceArray<backend::LossSum> sum;

  std::span<float> activation(std::size_t which, std::size_t count) {
    return activations.span().subspan(which * (activations.size() / 3), count);
  }
};

constexpr float rate = 1e-6f;
constexpr float momentum = 0.9f;

/// A projected layer of one direction, whose products are of the given size: 16 sequences of equal length, or fewer.
Call lstm_call(Bench& bench, Kernel kernel, std::size_t frames, std::size_t outputs, std::size_t columns) {
  const backend::LstmShape shape{.cells = std::max<std::size_t>(1, columns / 5), .outputs = outputs, .projected = true};
  const std::size_t sequences = std::min<std::size_t>(frames, 16), used = frames / sequences * sequences;
  const std::vector<std::uint32_t> active(used / sequences, static_cast<std::uint32_t>(sequences));
  const auto of_frames = [&](std::size_t from, std::size_t width) {
    return bench.activations.span().subspan(used * from, used * width);
  };
  const std::size_t gates = shape.gate_width(), cells = shape.cell_width();
  const backend::LstmMemory memory{of_frames(0, gates), of_frames(gates, cells), of_frames(gates + cells, cells)};
  const auto y = of_frames(gates + 2 * cells, outputs);  // and in the place of its gradient
  const auto weights = [&bench, shape]() -> backend::LstmGradients {
    const auto recurrent = bench.parameters.next(shape.recurrent_size());
    return {recurrent, {}, bench.parameters.next(shape.projection_size())};
  };
  return [=](Device& device) {
    const backend::LstmGradients all = weights();
    const backend::LstmWeights read{all.recurrent, all.peepholes, all.projection};
    if (kernel == Kernel::lstm_forward) device.lstm_forward(shape, active, read, memory, y);
    if (kernel == Kernel::lstm_backward) device.lstm_backward(shape, active, read, memory, y);
    if (kernel == Kernel::lstm_gradient) device.lstm_gradient(shape, active, y, memory, y, momentum, all);
  };
}

Call product_call(Bench& bench, Kernel kernel, std::size_t batch, std::size_t in, std::size_t out) {
  const auto x = bench.activation(0, batch * in), y = bench.activation(1, batch * out), dx = bench.activation(2, batch * in);
  const auto weights = [&bench, in, out] { return bench.parameters.next(in * out); };
  switch (kernel) {
    case Kernel::affine_forward:
      return [=, &bench](Device& device) {
        device.affine_forward(batch, in, out, x, weights(), bench.parameters.next(out), Activation::relu, y);
      };
    case Kernel::affine_backward_input:
      return [=, &bench](Device& device) {
        device.affine_backward_input(batch, in, out, y, weights(), x, Activation::relu, dx);
      };
    case Kernel::affine_backward_weights:
      return
          [=, &bench](Device& device) { device.affine_backward_weights(batch, in, out, 0, in, x, y, momentum, weights()); };
    case Kernel::affine_descend:
      return [=, &bench](Device& device) {
        const auto d = weights(), w = weights();
        device.affine_descend(batch, in, out, x, y, momentum, rate, 0, d, w);
      };
    case Kernel::affine_reverse:
      return [=, &bench](Device& device) {
        device.affine_reverse(batch, out, in, x, weights(), bench.parameters.next(out), Activation::relu, y);
      };
    case Kernel::lstm_forward:
    case Kernel::lstm_backward:
    case Kernel::lstm_gradient:
      return lstm_call(bench, kernel, batch, in, out);
    default:
      throw std::logic_error("no matrix product of training");
  }
}

/// Gradients of 1 bit in columns of about 512. Packed they are what is sent, or has just arrived.
Call quantising_call(Bench& bench, Kernel kernel, std::size_t count) {
  const backend::Quantiser quantiser;
  const std::size_t columns = std::max<std::size_t>(1, (count + 256) / 512), rows = count / columns;
  const std::size_t packed_bytes = quantiser.packed_bytes(rows, columns);
  const auto packed = std::as_writable_bytes(bench.activation(0, packed_bytes / sizeof(float)));
  const auto moving = [&bench, elements = columns * rows] { return bench.parameters.next(elements); };
  if (kernel == Kernel::quantise)
    return [=, gradient = bench.gradient.span().first(columns * rows)](Device& device) {
      device.quantise(quantiser, rows, columns, gradient, moving(), packed);
    };
  return [=](Device& device) { device.dequantise(quantiser, rows, columns, packed, 0, moving()); };
}

/// The largest hundredth of a gradient. Packed it is what is sent, or has just arrived.
Call selecting_call(Device& device, Bench& bench, Kernel kernel, std::size_t count) {
  const std::size_t keep = count / 100;
  const auto packed = std::as_writable_bytes(bench.activation(0, 2 * keep));
  const auto gradient = bench.gradient.span().first(count);
  if (kernel == Kernel::select_largest)
    return [=, &bench](Device& on) { on.select_largest(keep, gradient, bench.parameters.next(count), packed); };
  device.select_largest(keep, gradient, {}, packed);
  return [=, &bench](Device& on) { on.scatter_add(packed, 0, bench.parameters.next(count)); };
}

/// Rows of about 512 units; which rows makes no difference to the time.
Call sampling_call(Bench& bench, Kernel kernel, std::size_t count) {
  const std::size_t batch = std::max<std::size_t>(1, (count + 256) / 512), units = count / batch;
  const auto p = bench.activation(0, batch * units), states = bench.activation(1, batch * units);
  const std::span<const std::uint32_t> rows = bench.rows.span().first(batch);
  const core::RandomStream random(1, core::Purpose::generator);
  if (kernel == Kernel::sample_bernoulli)
    return [=](Device& device) { device.sample_bernoulli(random, rows, units, p, states); };
  return [=](Device& device) { device.sample_normal(random, rows, units, p, states); };
}

/// Sequences of 64 frames with one label each.
Call ctc_call(Device& device, Bench& bench, std::size_t frames, std::size_t classes) {
  const std::size_t steps = std::min<std::size_t>(frames, 64), sequences = frames / steps;
  std::vector<std::int32_t> said(steps * sequences, -1);
  std::fill_n(said.begin(), sequences, 0);
  const auto labels = std::make_shared<backend::DeviceArray<std::int32_t>>(device, said.size());
  device.transfer(std::span<const std::int32_t>(said), labels->span());
  return [logits = bench.activation(0, steps * sequences * classes), labels, classes, sum = bench.sum.data(),
          active = std::vector(steps, static_cast<std::uint32_t>(sequences))](Device& on) {
    on.ctc(classes, active, labels->span(), logits, sum);
  };
}

/// Arrays of the stream's length; those of parameters move on with each call. `device` prepares what they hold.
Call streaming_call(Device& device, Bench& bench, Kernel kernel, std::size_t count) {
  constexpr std::size_t classes = 10;
  const std::size_t rows = std::max<std::size_t>(1, count / classes);
  const auto y = [&] { return bench.activation(0, count); };
  const auto dz = [&] { return bench.activation(1, count); };
  const auto moving = [&bench, count] { return bench.parameters.next(count); };
  const std::span<const std::int32_t> labels = bench.labels.span();
  backend::LossSum* const sum = bench.sum.data();
  switch (kernel) {
    case Kernel::bias_gradient: {
      const std::size_t wide = std::min<std::size_t>(count, 512), batch = count / wide;
      return [=, dz = dz().first(batch * wide), bias = bench.activation(0, wide)](Device& device) {
        device.bias_gradient(batch, wide, dz, momentum, bias);
      };
    }
    case Kernel::activation_backward:
      return [=, y = y(), dz = dz()](Device& device) { device.activation_backward(Activation::sigmoid, y, dz); };
    case Kernel::softmax_cross_entropy:
      return [=, y = y().first(rows * classes)](Device& device) {
        device.softmax_cross_entropy(rows, classes, labels.first(rows), y, sum);
      };
    case Kernel::squared_error:
      return [=, y = y().first(rows * classes)](Device& device) {
        device.squared_error(rows, classes, labels.first(rows), y, sum);
      };
    case Kernel::ctc:
      return ctc_call(device, bench, rows, classes);
    case Kernel::fill:
      return [=](Device& device) { device.fill(1e-3f, moving()); };
    case Kernel::copy:
      return [=](Device& device) {
        const auto from = moving();
        device.copy(from, moving());
      };
    case Kernel::copy_columns: {
      const std::size_t wide = std::min<std::size_t>(count, 512), batch = count / wide;
      return [=](Device& device) {
        const auto from = moving().first(batch * wide);
        device.copy_columns(batch, wide, wide, from, wide, moving().first(batch * wide));
      };
    }
    case Kernel::scale:
      return [=](Device& device) { device.scale(1, moving()); };
    case Kernel::add:  // what a reduction adds has just arrived
      return [=, arrived = y()](Device& device) { device.add(arrived, moving()); };
    case Kernel::clamp:
      return [=](Device& device) { device.clamp(1e-3f, moving()); };
    case Kernel::limit_row_norms: {
      const std::size_t wide = std::min<std::size_t>(count, 512), columns = count / wide;
      return [=](Device& device) { device.limit_row_norms(wide, columns, 1, moving().first(wide * columns)); };
    }
    case Kernel::descend:
      return [=](Device& device) {
        const auto d = moving();
        device.descend(rate, 0, d, moving());
      };
    case Kernel::momentum_update:
      return [=](Device& device) {
        const auto g = moving(), v = moving();
        device.momentum_update(rate, momentum, false, 0, g, v, moving());
      };
    case Kernel::adam_update:
      return [=](Device& device) {
        const auto g = moving(), m = moving(), v = moving();
        device.adam_update({.rate = rate, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8}, g, m, v, moving());
      };
    case Kernel::block_filter:
      return [=](Device& device) {
        const auto average = moving(), w = moving();
        device.block_filter(momentum, 1, momentum, momentum, average, w, moving());
      };
    case Kernel::look_ahead:
      return [=](Device& device) {
        const auto w = moving(), delta = moving();
        device.look_ahead(momentum, w, delta, moving());
      };
    case Kernel::moment_filter:
      return [=](Device& device) {
        const auto moment = moving();
        device.moment_filter(0.9, 0.8, true, moment, moving());
      };
    case Kernel::quantise:
    case Kernel::dequantise:
      return quantising_call(bench, kernel, count);
    case Kernel::select_largest:
    case Kernel::scatter_add:
      return selecting_call(device, bench, kernel, count);
    case Kernel::orthonormalise: {
      constexpr std::size_t rank = 4;
      const std::size_t length = std::max<std::size_t>(1, count / rank);
      return [=, &bench](Device& on) { on.orthonormalise(length, rank, bench.parameters.next(length * rank)); };
    }
    case Kernel::squared_norm:
      return [=](Device& on) { on.add_squared_norm(1, moving(), &sum->loss); };
    case Kernel::squared_distance:
      return [=, y = y(), dz = dz()](Device& on) { on.add_squared_distance(1, y, dz, &sum->loss); };
    case Kernel::dot:
      return [=, y = y(), dz = dz()](Device& on) { on.add_dot(1, y, dz, &sum->loss); };
    case Kernel::softplus_sum:
      return [=, y = y()](Device& on) { on.add_softplus_sum(1, y, &sum->loss); };
    case Kernel::sample_bernoulli:
    case Kernel::sample_normal:
      return sampling_call(bench, kernel, count);
    default:
      throw std::logic_error("no kernel that streams");
  }
}

/// A table with the sizes that will be measured, and no time yet.
KernelTable blank(Kernel kernel, const KernelGrid& grid) {
  const bool product = backend::kernel_kind(kernel) == backend::KernelKind::gemm;
  KernelTable table{std::string(backend::kernel_name(kernel)), {{grid.bytes, {1}, {1}}}, {}};
  if (product) table.sizes = {grid.batch, grid.width, grid.width};
  const std::size_t points = table.sizes[0].size() * table.sizes[1].size() * table.sizes[2].size();
  table.time_s.assign(points, std::numeric_limits<double>::infinity());
  return table;
}

/// Bytes that the meter counts per element of a kernel that streams.
std::uint64_t bytes_per_element(Kernel kernel) {
  constexpr std::size_t count = 5120;  // whole rows of every kernel: of 10 classes, of 512 columns
  const auto meta = backend::make_device("meta");
  Bench bench(*meta, count, count, count);
  const Call call = streaming_call(*meta, bench, kernel, count);
  const std::uint64_t before = meta->meter().of(backend::KernelKind::streaming).bytes;
  call(*meta);
  return (meta->meter().of(backend::KernelKind::streaming).bytes - before) / count;
}

class Measurement {
 public:
  Measurement(comm::Worker& worker, const KernelGrid& grid) : worker_(worker), grid_(grid) {
    const double largest_product = grid.batch.back() * grid.width.back();
    const double largest_stream = grid.bytes.back() / sizeof(float);
    const auto activation = static_cast<std::size_t>(std::max(largest_product, largest_stream));
    const auto largest = static_cast<std::size_t>(std::max(grid.width.back() * grid.width.back(), largest_stream));
    Device& device = worker.device();
    bench_ = std::make_unique<Bench>(device, largest, activation, static_cast<std::size_t>(largest_stream));
    device.fill(0.5f, bench_->activations.span());
    if (!device.computes()) return;
    const core::RandomStream random(1, core::Purpose::generator);
    std::vector<float> drawn(bench_->gradient.size());
    for (std::size_t i = 0; i < drawn.size(); ++i) drawn[i] = static_cast<float>(2 * random.uniform(i) - 1);
    device.transfer(std::span<const float>(drawn), bench_->gradient.span());
  }

  /// One pass over all points of a table, keeping the least.
  void measure(Kernel kernel, KernelTable& table) {
    if (backend::kernel_kind(kernel) == backend::KernelKind::gemm) return measure_products(kernel, table);
    const std::uint64_t width = bytes_per_element(kernel);
    for (std::size_t i = 0; i < table.sizes[0].size(); ++i) {
      const auto elements = std::max<std::size_t>(1, static_cast<std::size_t>(table.sizes[0][i]) / width);
      take(table.time_s[i], streaming_call(worker_.device(), *bench_, kernel, elements));
    }
  }

 private:
  void measure_products(Kernel kernel, KernelTable& table) {
    std::size_t point = 0;
    for (const double batch : table.sizes[0])
      for (const double in : table.sizes[1])
        for (const double out : table.sizes[2])
          take(table.time_s[point++], product_call(*bench_, kernel, static_cast<std::size_t>(batch),
                                                   static_cast<std::size_t>(in), static_cast<std::size_t>(out)));
  }

  void take(double& least_s, const Call& call) {
    const auto calls = [&](int count) {
      worker_.run_kernels([&](Device& device) {
        for (int done = 0; done < count; ++done) call(device);
      });
    };
    least_s = std::min(least_s, mean_call_s(worker_.comm(), grid_.burst_s, calls));
  }

  comm::Worker& worker_;
  const KernelGrid& grid_;
  std::unique_ptr<Bench> bench_;
};

/// Noise may let a larger call seem faster.
void make_monotone(KernelTable& table) {
  const std::array<std::size_t, 3> strides{table.sizes[1].size() * table.sizes[2].size(), table.sizes[2].size(), 1};
  for (std::size_t i = 0; i < table.time_s.size(); ++i)
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (i / strides[axis] % table.sizes[axis].size() > 0)
        table.time_s[i] = std::max(table.time_s[i], table.time_s[i - strides[axis]]);
}

bool measured(Kernel kernel) { return kernel != Kernel::gemm; }  // the layers do not use it

}  // namespace

KernelGrid KernelGrid::of(const backend::Device& device) {
  KernelGrid grid;
  if (device.is_cuda()) {
    grid.batch = {1, 8, 64, 256, 1024, 4096};
    grid.width = {10, 64, 256, 1024, 4096, 16384};
    grid.bytes = {1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 4e8};
  }
  return grid;
}

std::vector<KernelTable> measure_kernels(comm::Worker& worker, const KernelGrid& grid,
                                         const std::function<void(int, int)>& progress) {
  std::vector<KernelTable> tables;
  for (std::size_t k = 0; k < backend::kernel_count; ++k) tables.push_back(blank(static_cast<Kernel>(k), grid));
  Measurement measurement(worker, grid);
  for (int pass = 0; pass < grid.passes; ++pass) {
    progress(pass, grid.passes);
    for (std::size_t k = 0; k < backend::kernel_count; ++k)
      if (measured(static_cast<Kernel>(k))) measurement.measure(static_cast<Kernel>(k), tables[k]);
  }
  tables.erase(tables.begin() + static_cast<std::ptrdiff_t>(Kernel::gemm));
  for (KernelTable& table : tables) {
    comm::sum_in_rank_order(worker.comm(), table.time_s);
    for (double& time_s : table.time_s) time_s /= worker.size();
    make_monotone(table);
  }
  return tables;
}

}  // namespace paragrad::sim::calibration
