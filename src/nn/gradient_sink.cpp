#include "nn/gradient_sink.hpp"

#include "backend/kernels/activation_backward.hpp"
#include "backend/kernels/add.hpp"
#include "backend/kernels/copy.hpp"
#include "backend/kernels/descend.hpp"

namespace paragrad::nn {

void descend(backend::KernelQueue& queue, const GradientSink& sink) {
  if (!sink.descent) return;
  queue.run(backend::Descend{sink.descent->rate, sink.descent->decay, sink.into, sink.descent->parameters});
}

void add_gradient(backend::KernelQueue& queue, const InputSink& sink, std::span<const float> gradient) {
  if (!sink.wanted()) return;
  if (sink.keep == 0)
    queue.run(backend::Copy{gradient, sink.into});
  else
    queue.run(backend::Add{gradient, sink.into});
  apply_slope(queue, sink);
}

void apply_slope(backend::KernelQueue& queue, const InputSink& sink) {
  if (sink.f != backend::Activation::identity) queue.run(backend::ActivationBackward{sink.f, sink.y, sink.into});
}

}  // namespace paragrad::nn
