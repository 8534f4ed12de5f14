#pragma once

#include "backend/kernels/activate.hpp"
#include "backend/kernels/activation_gradient.hpp"
#include "backend/kernels/add_columns.hpp"
#include "backend/kernels/affine.hpp"
#include "backend/kernels/attention.hpp"
#include "backend/kernels/augment.hpp"
#include "backend/kernels/batch_norm.hpp"
#include "backend/kernels/concatenate.hpp"
#include "backend/kernels/convolution.hpp"
#include "backend/kernels/descend.hpp"
#include "backend/kernels/dropout.hpp"
#include "backend/kernels/embedding.hpp"
#include "backend/kernels/group_norm.hpp"
#include "backend/kernels/lrn.hpp"
#include "backend/kernels/multiply.hpp"
#include "backend/kernels/pool.hpp"
#include "backend/kernels/positions.hpp"
#include "backend/kernels/rotate.hpp"
#include "backend/kernels/row_norm.hpp"
#include "backend/kernels/sum.hpp"
#include "backend/kernels/sync_batch_norm.hpp"
#include "core/format.hpp"
#include "tests/backend/desk.hpp"

namespace paragrad::backend::testing {

/// Kernels of operations between layers, on [rows][columns].
inline void add_graph_kernels(std::vector<Case>& cases, std::size_t rows, std::size_t columns) {
  const std::size_t n = rows * columns;
  const auto add = [&](const std::string& name, std::function<void(Device&, Desk&)> run) {
    cases.push_back({core::format("{} {}x{}", name, rows, columns), std::move(run)});
  };
  for (const std::string_view name : activation_names()) {
    const Activation f = find_activation(name).value();
    add("activate " + std::string(name), [=](Device& device, Desk& desk) {
      const auto z = desk.in(n, 3), dy = desk.in(n);
      device.run(Activate{f, z, desk.out(n)});
      device.run(ActivationGradient{f, z, dy, 0, desk.out(n)});
      device.run(ActivationGradient{f, z, dy, 1, desk.in(n)});
    });
  }
  add("sum", [=](Device& device, Desk& desk) {
    const auto a = desk.in(n), b = desk.in(n);
    device.run(Sum{Activation::tanh, a, b, desk.out(n)});
    device.run(SumBackward{a, 0, desk.out(n), 1, desk.in(n)});
  });
  add("add_columns", [=](Device& device, Desk& desk) {
    const auto from = desk.in((rows - 1) * (columns + 2) + columns);
    device.run(AddColumns{rows, columns, columns + 2, from, columns + 5, desk.in((rows - 1) * (columns + 5) + columns)});
  });
  add("concatenate", [=](Device& device, Desk& desk) {
    const SideBySide shape{rows, 3, {{columns, 1, 2 * columns}}};
    const auto a = desk.in(n), b = desk.in(rows), c = desk.in(2 * n);
    device.run(Concatenate{shape, {{a, b, c}}, desk.out(shape.rows * shape.width())});
    device.run(ConcatenateBackward{shape,
                                   desk.in(shape.rows * shape.width()),
                                   {{0, 0, 1}},
                                   {{Activation::identity, Activation::identity, Activation::tanh}},
                                   {{{}, {}, c}},
                                   {{desk.out(n), {}, desk.in(2 * n)}}});
  });
  add("dropout", [=](Device& device, Desk& desk) {
    const core::RandomStream random(5, core::Purpose::dropout, 2);
    const auto chosen = desk.rows(rows);
    const auto x = desk.in(n);
    device.run(Dropout{random, chosen, columns, 3, 0.4, x, 0, desk.out(n)});
    device.run(Dropout{random, chosen, columns, 0, 0.4, x, 1, desk.in(n)});
  });
  for (const bool training : {false, true})
    add(training ? "batch_norm" : "batch_norm with running statistics", [=](Device& device, Desk& desk) {
      const ChannelShape shape{3 * rows, columns};
      const auto x = desk.in(shape.size()), parameters = desk.in(2 * columns), running = desk.positive(2 * columns);
      const auto used = desk.out(2 * columns);
      for (const Activation f : {Activation::identity, Activation::tanh, Activation::relu, Activation::sigmoid})
        device.run(BatchNormForward{shape, training, 1e-3f, 0.1f, f, x, parameters, running, used, desk.out(shape.size())});
      const auto dy = desk.in(shape.size());
      device.run(BatchNormBackward{shape, x, parameters, used, dy, 1, desk.in(2 * columns), 0, desk.out(shape.size())});
      device.run(BatchNormBackward{shape, x, parameters, used, dy, 0, desk.out(2 * columns), 1, desk.in(shape.size())});
    });
  for (const std::size_t groups : {std::size_t{1}, std::size_t{2}, columns})
    if (columns % groups == 0)
      add(core::format("group_norm {}", groups), [=](Device& device, Desk& desk) {
        const GroupShape shape{rows, 5, columns, groups};
        const auto x = desk.in(shape.size()), parameters = desk.in(2 * columns);
        const auto used = desk.out(2 * rows * groups);
        device.run(GroupNormForward{shape, 1e-3f, Activation::sigmoid, x, parameters, used, desk.out(shape.size())});
        const auto dy = desk.in(shape.size());
        device.run(GroupNormBackward{shape, x, parameters, used, dy, 0, desk.out(shape.size())});
        device.run(GroupNormBackward{shape, x, parameters, used, dy, 1, desk.in(shape.size())});
        device.run(GroupNormGradient{shape, x, used, dy, 0, desk.out(2 * columns)});
        device.run(GroupNormGradient{shape, x, used, dy, 1, desk.in(2 * columns)});
      });
  for (const std::size_t size : {1, 2, 5, 40})
    add(core::format("lrn {}", size), [=](Device& device, Desk& desk) {
      const LrnShape shape{rows, columns, size};
      const auto x = desk.in(n, 3);
      const auto d = desk.out(n), y = desk.out(n);
      device.run(LrnForward{shape, 0.5f, 0.75f, 1, x, d, y});
      const auto dy = desk.in(n);
      device.run(LrnBackward{shape, 0.5f, 0.75f, x, d, y, dy, 0, desk.out(n)});
      device.run(LrnBackward{shape, 0.5f, 0.75f, x, d, y, dy, 1, desk.in(n)});
    });
  for (const Augmentation& augmentation : {Augmentation{1, false, 0}, Augmentation{0, true, 2}, Augmentation{4, true, 3}})
    add(core::format("augment by {}, {}, {}", augmentation.pad, augmentation.flip, augmentation.cutout),
        [=](Device& device, Desk& desk) {
          const core::RandomStream random(3, core::Purpose::augmentation, 7);
          const auto numbers = desk.rows(rows);
          device.run(Augment{random, numbers, 5, 4, 3, augmentation, desk.in(rows * 60), desk.out(rows * 60)});
        });
  for (const bool centred : {true, false})
    for (const bool shifted : {true, false})
      add(core::format("row_norm {} {}", centred, shifted), [=](Device& device, Desk& desk) {
        const RowNormShape shape{rows, columns, centred, shifted};
        const auto x = desk.in(n, 3), parameters = desk.in(shape.parameters()), used = desk.out(2 * rows);
        device.run(RowNormForward{shape, 1e-2f, x, parameters, used, desk.out(n)});
        const auto dy = desk.in(n);
        device.run(RowNormBackward{shape, x, parameters, used, dy, 0, desk.out(n)});
        device.run(RowNormBackward{shape, x, parameters, used, dy, 1, desk.in(n)});
        device.run(RowNormGradient{shape, x, used, dy, 0, desk.out(shape.parameters())});
        device.run(RowNormGradient{shape, x, used, dy, 1, desk.in(shape.parameters())});
      });
  add("embedding", [=](Device& device, Desk& desk) {
    constexpr std::size_t vocabulary = 5;
    std::vector<std::int32_t> said;
    for (std::size_t row = 0; row < rows; ++row) said.push_back(static_cast<std::int32_t>((7 * row + row / 3) % vocabulary));
    const auto tokens = desk.labels(said);
    device.run(EmbeddingForward{columns, tokens, desk.in(vocabulary * columns), desk.out(n)});
    const auto dy = desk.in(n);
    for (const float keep : {0.f, 0.5f, 1.f})
      device.run(EmbeddingGradient{columns, tokens, dy, keep,
                                   keep == 0 ? desk.out(vocabulary * columns) : desk.in(vocabulary * columns)});
  });
  add("place_rows", [=](Device& device, Desk& desk) {
    std::vector<std::int32_t> places;
    for (std::size_t row = 0; row < rows; ++row) places.push_back(static_cast<std::int32_t>(2 * (rows - row)));
    device.run(PlaceRows{columns, desk.labels(places), desk.in(n), desk.in((2 * rows + 1) * columns)});
  });
  for (const std::size_t sequences : {std::size_t{1}, rows})
    add(core::format("positions in {}", sequences), [=](Device& device, Desk& desk) {
      const WindowRows windows{sequences, rows / sequences};
      const std::size_t table = (windows.steps + 2) * columns;
      device.run(AddPositions{windows, columns, desk.in(n), desk.in(table), desk.out(n)});
      const auto dy = desk.in(n);
      device.run(PositionsGradient{windows, columns, dy, 0, desk.out(table)});
      device.run(PositionsGradient{windows, columns, dy, 1, desk.in(table)});
    });
  for (const std::size_t sequences : {std::size_t{1}, rows})
    add(core::format("attention in {}", sequences), [=](Device& device, Desk& desk) {
      const AttentionShape shape{{sequences, rows / sequences}, 1, columns};
      const auto x = desk.in(3 * n), sums = desk.out(rows), y = desk.out(n);
      device.run(AttentionForward{shape, x, sums, y});
      const auto dy = desk.in(n);
      device.run(AttentionBackward{shape, x, sums, y, dy, 0, desk.out(3 * n)});
      device.run(AttentionBackward{shape, x, sums, y, dy, 1, desk.in(3 * n)});
    });
  for (const std::size_t sequences : {std::size_t{1}, rows})
    add(core::format("rotate in {}", sequences), [=](Device& device, Desk& desk) {
      const WindowRows windows{sequences, rows / sequences};
      const auto x = desk.in(6 * n);
      device.run(Rotate{windows, 1, 2 * columns, 100, false, x, 0, desk.out(6 * n)});
      device.run(Rotate{windows, 1, 2 * columns, 100, true, x, 1, desk.in(6 * n)});
    });
  add("multiply", [=](Device& device, Desk& desk) {
    const auto a = desk.in(n), b = desk.in(n);
    device.run(Multiply{a, b, 0, desk.out(n)});
    device.run(Multiply{a, b, 0.5f, desk.in(n)});
  });
  add("affine without bias", [=](Device& device, Desk& desk) {
    const auto x = desk.in(n), w = desk.in(3 * columns);
    for (const Activation f : {Activation::identity, Activation::tanh}) {
      device.run(AffineForward{rows, columns, 3, x, w, {}, f, desk.out(3 * rows)});
      device.run(AffineReverse{rows, 3, columns, x, w, {}, f, desk.out(3 * rows)});
    }
  });
  add("batch_norm of two workers", [=](Device& device, Desk& desk) {
    const ChannelShape shape{3 * rows, columns};
    const std::size_t size = statistics_size(columns);
    const auto x = desk.in(shape.size()), parameters = desk.in(2 * columns), used = desk.in(2 * columns);
    const auto all = desk.positive(2 * size), together = desk.out(2 * columns);
    device.run(BatchMoments{shape, x, desk.out(size)});
    device.run(CombineMoments{2, columns, 0.1f, all, desk.positive(2 * columns), together});
    const auto dy = desk.in(shape.size());
    device.run(BatchNormSums{shape, x, used, dy, 1, desk.in(2 * columns), desk.out(size)});
    device.run(BatchNormSums{shape, x, used, dy, 0, desk.out(2 * columns), desk.out(size)});
    device.run(SyncBatchNormBackward{shape, 2, x, parameters, used, all, dy, 0, desk.out(shape.size())});
    device.run(SyncBatchNormBackward{shape, 2, x, parameters, used, all, dy, 1, desk.in(shape.size())});
  });
}

/// Convolutions and poolings of small images: with margins on one side or both, strides, dilation, groups, odd sizes.
inline void add_image_kernels(std::vector<Case>& cases) {
  struct Side {
    std::size_t image, window, steps, stride = 1, dilation = 1, before = 0;
    WindowSteps window_steps() const { return {image, window, steps, stride, dilation, before}; }
  };
  struct Shape {
    const char* name;
    std::size_t rows, channels, outputs, groups;
    Side down, across;
  };
  const std::vector<Shape> shapes{
      {"1x1", 3, 5, 18, 1, {4, 1, 4}, {7, 1, 7}},
      {"1x1 of stride 2", 2, 20, 33, 1, {7, 1, 4, 2}, {5, 1, 3, 2}},
      {"3x3", 2, 16, 16, 1, {9, 3, 9, 1, 1, 1}, {32, 3, 32, 1, 1, 1}},
      {"3x3 on tiles", 9, 16, 32, 1, {8, 3, 8, 1, 1, 1}, {9, 3, 9, 1, 1, 1}},
      {"3x3 on tiles, a margin on one side", 8, 48, 16, 1, {10, 3, 8}, {7, 3, 8, 1, 1, 2}},
      {"3x3 on tiles, of several batches", 13, 16, 16, 1, {12, 3, 12, 1, 1, 1}, {13, 3, 12, 1, 1, 0}},
      {"3x3 without a margin", 2, 3, 6, 1, {8, 3, 6}, {9, 3, 7}},
      {"3x3 of stride 2", 3, 7, 40, 1, {9, 3, 5, 2, 1, 1}, {8, 3, 4, 2, 1, 1}},
      {"3x3 of stride 2, a margin at the end", 2, 4, 5, 1, {8, 3, 4, 2}, {8, 3, 4, 2}},
      {"7x7 of stride 2", 1, 3, 64, 1, {21, 7, 11, 2, 1, 3}, {17, 7, 9, 2, 1, 3}},
      {"2x5, stride 3x1", 2, 6, 35, 1, {11, 2, 4, 3, 1, 0}, {10, 5, 8, 1, 1, 1}},
      {"3x3, dilation 2", 2, 8, 9, 1, {9, 3, 9, 1, 2, 2}, {11, 3, 11, 1, 2, 2}},
      {"3x3, dilation 3, stride 2", 2, 4, 17, 1, {13, 3, 5, 2, 3, 1}, {14, 3, 5, 2, 3, 1}},
      {"groups", 2, 6, 9, 3, {6, 3, 6, 1, 1, 1}, {5, 3, 5, 1, 1, 1}},
      {"two large groups", 3, 18, 22, 2, {6, 3, 6, 1, 1, 1}, {5, 3, 3, 2, 1, 1}},
      {"two large groups, 1x1", 3, 18, 22, 2, {6, 1, 6}, {5, 1, 5}},
      {"depthwise", 2, 19, 19, 19, {6, 3, 3, 2, 1, 1}, {5, 3, 3, 2, 1, 1}},
      {"whole image", 4, 10, 12, 1, {5, 5, 1}, {3, 3, 1}},
      {"one place", 1, 1, 1, 1, {1, 1, 1}, {1, 1, 1}},
      {"stride beyond the window", 2, 3, 4, 1, {10, 2, 3, 4}, {9, 1, 3, 4}},
  };
  cases.push_back({"convolution and pool of images that are not aligned", [](Device& device, Desk& desk) {
                     const ConvolutionShape shape{2, 8, 12, {9, 3, 9, 1, 1, 1}, {7, 3, 7, 1, 1, 1}};
                     const std::size_t in = 2 * shape.image(), out = 2 * shape.positions() * shape.outputs;
                     desk.in(1);
                     const auto x = desk.in(in);
                     desk.in(3);  // what follows is aligned
                     const auto dy = desk.in(out), w = desk.in(shape.filters());
                     device.run(ConvolutionBackwardInput{shape, dy, w, 1, Activation::tanh, x, desk.in(in)});
                     device.run(ConvolutionBackwardWeights{shape, x, dy, 0, desk.out(shape.filters())});
                     const PoolShape pool{2, 8, {9, 3, 4, 2}, {7, 3, 3, 2}};
                     const std::size_t pooled = 2 * pool.outputs();
                     const auto chosen = desk.out(pooled);
                     device.run(MaxPool{pool, x, desk.out(pooled), chosen});
                     device.run(MaxPoolBackward{pool, desk.in(pooled), chosen, 1, Activation::tanh, x, desk.in(in)});
                     device.run(Sum{Activation::tanh, x, desk.in(in), desk.out(in)});
                     device.run(Descend{0.1f, 0, desk.in(in), x});
                   }});
  for (const Shape& of : shapes) {
    const ConvolutionShape shape{of.rows,  of.channels, of.outputs, of.down.window_steps(), of.across.window_steps(),
                                 of.groups};
    const std::size_t in = shape.rows * shape.image(), out = shape.rows * shape.positions() * shape.outputs;
    const std::string name = of.name;
    cases.push_back({"convolution " + name, [=](Device& device, Desk& desk) {
                       const auto x = desk.in(in), w = desk.in(shape.filters()), bias = desk.in(shape.outputs);
                       const auto dy = desk.in(out);
                       device.run(ConvolutionForward{shape, x, w, {}, Activation::identity, desk.out(out)});
                       device.run(ConvolutionForward{shape, x, w, bias, Activation::relu, desk.out(out)});
                       device.run(ConvolutionBackwardInput{shape, dy, w, 0, Activation::identity, {}, desk.out(in)});
                       device.run(ConvolutionBackwardInput{shape, dy, w, 1, Activation::tanh, x, desk.in(in)});
                       device.run(ConvolutionBackwardWeights{shape, x, dy, 0, desk.out(shape.filters())});
                       device.run(ConvolutionBackwardWeights{shape, x, dy, 0.5f, desk.in(shape.filters() + shape.outputs)});
                     }});
    if (of.groups > 1) continue;
    const PoolShape pool{of.rows, of.channels, shape.down, shape.across};
    const std::size_t pooled = pool.rows * pool.outputs();
    cases.push_back({"pool " + name, [=](Device& device, Desk& desk) {
                       const auto x = desk.in(in), dy = desk.in(pooled);
                       const auto chosen = desk.out(pooled);
                       device.run(MaxPool{pool, x, desk.out(pooled), chosen});
                       device.run(MaxPoolBackward{pool, dy, chosen, 0, Activation::identity, {}, desk.out(in)});
                       device.run(MaxPoolBackward{pool, dy, chosen, 1, Activation::tanh, x, desk.in(in)});
                       device.run(MeanPool{pool, x, desk.out(pooled)});
                       device.run(MeanPoolBackward{pool, dy, 0, Activation::sigmoid, x, desk.out(in)});
                       device.run(MeanPoolBackward{pool, dy, 1, Activation::identity, {}, desk.in(in)});
                     }});
  }
}

}  // namespace paragrad::backend::testing
