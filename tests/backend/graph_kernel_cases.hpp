#pragma once

#include "backend/kernels/activate.hpp"
#include "backend/kernels/activation_gradient.hpp"
#include "backend/kernels/add_columns.hpp"
#include "backend/kernels/batch_norm.hpp"
#include "backend/kernels/dropout.hpp"
#include "backend/kernels/sum.hpp"
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
  add("dropout", [=](Device& device, Desk& desk) {
    const core::RandomStream random(5, core::Purpose::dropout, 2);
    const auto chosen = desk.rows(rows);
    const auto x = desk.in(n);
    device.run(Dropout{random, chosen, columns, 3, 0.4, x, 0, desk.out(n)});
    device.run(Dropout{random, chosen, columns, 0, 0.4, x, 1, desk.in(n)});
  });
  for (const bool training : {false, true})
    add(training ? "batch_norm" : "batch_norm with running statistics", [=](Device& device, Desk& desk) {
      const ChannelShape shape{rows, columns, 3};
      const auto x = desk.in(shape.size()), parameters = desk.in(2 * columns), running = desk.positive(2 * columns);
      const auto used = desk.out(2 * columns);
      device.run(BatchNormForward{shape, training, 1e-3f, 0.1f, Activation::sigmoid, x, parameters, running, used,
                                  desk.out(shape.size())});
      const auto dy = desk.in(shape.size());
      device.run(BatchNormBackward{shape, x, parameters, used, dy, 1, desk.in(2 * columns), 0, desk.out(shape.size())});
      device.run(BatchNormBackward{shape, x, parameters, used, dy, 0, desk.out(2 * columns), 1, desk.in(shape.size())});
    });
}

}  // namespace paragrad::backend::testing
