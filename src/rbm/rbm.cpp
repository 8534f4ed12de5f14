#include "rbm/rbm.hpp"

#include <numeric>
#include <stdexcept>
#include <vector>

#include "backend/kernels/affine.hpp"
#include "backend/kernels/bias_gradient.hpp"
#include "backend/kernels/dot.hpp"
#include "backend/kernels/fill.hpp"
#include "backend/kernels/look_ahead.hpp"
#include "backend/kernels/sampling.hpp"
#include "backend/kernels/softplus_sum.hpp"
#include "backend/kernels/squared_distance.hpp"
#include "backend/kernels/squared_norm.hpp"
#include "nn/ops/affine.hpp"

namespace paragrad::rbm {

using backend::Activation;
using core::Purpose;

Rbm::Rbm(backend::Device& device, Shape shape, const RbmOptions& options, std::size_t max_batch, std::uint32_t first_chain)
    : shape_(shape),
      options_(options),
      max_batch_(max_batch),
      h0_(device.allocate(max_batch * shape.hidden)),
      q_(device.allocate(max_batch * shape.hidden)),
      p_(device.allocate(max_batch * shape.visible)),
      visible_sums_(device.allocate(shape.visible)) {
  check(options);
  if (options.cd_steps > 1 || options.persistent) h_ = device.allocate(max_batch * shape.hidden);
  if (options.sample_visible) v_ = device.allocate(max_batch * shape.visible);
  if (options.sparsity_cost > 0) {
    activity_ = device.allocate(shape.hidden);
    ones_ = device.allocate(shape.hidden);
    device.run(backend::Fill{1, ones_.span()});
  }
  if (options.persistent) {
    std::vector<std::uint32_t> numbers(max_batch);
    std::iota(numbers.begin(), numbers.end(), first_chain);
    chain_numbers_ = backend::DeviceArray<std::uint32_t>(device, max_batch);
    device.transfer(std::span<const std::uint32_t>(numbers), chain_numbers_.span());
  }
}

std::size_t Rbm::samples_of(std::span<const float> v) const {
  const std::size_t samples = v.size() / shape_.visible;
  if (v.size() != samples * shape_.visible) throw std::logic_error("samples that do not fit the visible units");
  if (samples > max_batch_) throw std::logic_error("a minibatch is larger than the machine was made for");
  return samples;
}

void Rbm::go_up(backend::KernelQueue& queue, std::span<const float> parameters, std::span<const float> v,
                std::span<float> q) {
  queue.run(backend::AffineForward{q.size() / shape_.hidden, shape_.visible, shape_.hidden, v,
                                   shape_.weights().of(parameters), shape_.hidden_bias().of(parameters), Activation::sigmoid,
                                   q});
}

void Rbm::go_down(backend::KernelQueue& queue, std::span<const float> parameters, std::span<const float> h,
                  std::span<float> p) {
  const bool gaussian = options_.visible == VisibleUnits::gaussian;
  queue.run(backend::AffineReverse{h.size() / shape_.hidden, shape_.visible, shape_.hidden, h,
                                   shape_.weights().of(parameters), shape_.visible_bias().of(parameters),
                                   gaussian ? Activation::identity : Activation::sigmoid, p});
}

void Rbm::draw_visible(backend::KernelQueue& queue, const core::RandomStream& random, std::span<const std::uint32_t> rows) {
  const auto p = visible(p_, rows.size()), v = visible(v_, rows.size());
  if (options_.visible == VisibleUnits::gaussian)
    queue.run(backend::SampleNormal{random, rows, shape_.visible, p, v});
  else
    queue.run(backend::SampleBernoulli{random, rows, shape_.visible, p, v});
}

void Rbm::contrast(backend::KernelQueue& queue, std::span<const float> parameters, std::span<const float> v0,
                   std::span<const std::uint32_t> rows, const Draws& draws, backend::LossSum* into) {
  samples_ = samples_of(v0);
  if (rows.size() != samples_) throw std::logic_error("as many rows are wanted as there are samples");
  v0_ = v0;
  const auto q = hidden(q_, samples_), h0 = hidden(h0_, samples_);
  const auto drawn = static_cast<std::uint32_t>(options_.persistent ? 1 : options_.cd_steps);  // times, with walk()'s
  go_up(queue, parameters, v0, q);
  if (options_.sparsity_cost > 0) queue.run(backend::BiasGradient{samples_, shape_.hidden, q, 0, activity_.span()});
  queue.run(backend::SampleBernoulli{draws.stream(Purpose::hidden_states, 0, drawn), rows, shape_.hidden, q, h0});
  go_down(queue, parameters, h0, visible(p_, samples_));
  queue.run(backend::SquaredDistance{1, v0, visible(p_, samples_), &into->loss});
  if (options_.persistent) {
    Draws of_chains = draws;
    of_chains.epoch = static_cast<std::uint32_t>(updates_);
    go_down(queue, parameters, hidden(h_, samples_), visible(p_, samples_));
    walk(queue, parameters, std::span<const std::uint32_t>(chain_numbers_.span()).first(samples_), of_chains, true);
  } else {
    walk(queue, parameters, rows, draws, false);
  }
}

/// From P(v|h) in p_ to the states (or means) and probabilities of the negative phase.
void Rbm::walk(backend::KernelQueue& queue, std::span<const float> parameters, std::span<const std::uint32_t> rows,
               const Draws& draws, bool chains) {
  const Purpose of_visible = chains ? Purpose::visible_chains : Purpose::visible_states;
  const Purpose of_hidden = chains ? Purpose::hidden_chains : Purpose::hidden_states;
  const auto steps = static_cast<std::uint32_t>(options_.cd_steps);
  const auto q = hidden(q_, samples_), p = visible(p_, samples_);
  for (std::uint32_t step = 0; step < steps; ++step) {
    if (step > 0) go_down(queue, parameters, hidden(h_, samples_), p);
    if (options_.sample_visible) draw_visible(queue, draws.stream(of_visible, step, steps), rows);
    go_up(queue, parameters, options_.sample_visible ? visible(v_, samples_) : p, q);
    if (step + 1 < steps || chains)  // the data's own hidden states were step 0
      queue.run(backend::SampleBernoulli{draws.stream(of_hidden, chains ? step : step + 1, steps), rows, shape_.hidden, q,
                                         hidden(h_, samples_)});
  }
}

// Both phases share one gradient arena: into = -keep·into + positive, then into = negative - into.
void Rbm::gradient(backend::KernelQueue& queue, const nn::GradientSink& sink, const nn::GradientReady& ready) {
  const core::Range of_visible = shape_.visible_bias();
  const auto v = visible(options_.sample_visible ? v_ : p_, samples_);
  queue.run(backend::BiasGradient{samples_, shape_.visible, v0_, -sink.keep, of_visible.of(sink.into)});
  queue.run(backend::BiasGradient{samples_, shape_.visible, v, -1, of_visible.of(sink.into)});
  nn::descend(queue, sink.part(of_visible));
  ready(of_visible);

  const core::Range of_weights = shape_.weights(), of_hidden = shape_.hidden_bias();
  nn::GradientSink weights = sink.part(of_weights), bias = sink.part(of_hidden);
  const auto not_yet = [](core::Range) {};
  nn::AffineGradient{samples_,
                     shape_.visible,
                     shape_.hidden,
                     v0_,
                     hidden(h0_, samples_),
                     {weights.into, -sink.keep},
                     {bias.into, -sink.keep}}
      .run(queue, not_yet, not_yet);
  if (options_.sparsity_cost > 0) add_sparsity(queue, bias.into);
  weights.keep = bias.keep = -1;
  nn::AffineGradient{samples_, shape_.visible, shape_.hidden, v, hidden(q_, samples_), weights, bias}.run(
      queue, ready, [&](core::Range) { ready(of_hidden); });
}

/// positive_bias -= cost·Σ (Q(h0|v0) - target)
void Rbm::add_sparsity(backend::KernelQueue& queue, std::span<float> positive_bias) {
  const double wanted = options_.sparsity_target * static_cast<double>(samples_);
  const auto cost = static_cast<float>(options_.sparsity_cost);
  queue.run(backend::LookAhead{-cost, positive_bias, activity_.span(), positive_bias});
  queue.run(backend::LookAhead{cost * static_cast<float>(wanted), positive_bias, ones_.span(), positive_bias});
}

void Rbm::reconstruction_error(backend::KernelQueue& queue, std::span<const float> parameters, std::span<const float> v,
                               backend::LossSum* into) {
  const std::size_t samples = samples_of(v);
  go_up(queue, parameters, v, hidden(q_, samples));
  go_down(queue, parameters, hidden(q_, samples), visible(p_, samples));
  queue.run(backend::SquaredDistance{1, v, visible(p_, samples), &into->loss});
}

void Rbm::free_energy(backend::KernelQueue& queue, std::span<const float> parameters, std::span<const float> v,
                      backend::LossSum* into) {
  const std::size_t samples = samples_of(v);
  const auto z = hidden(q_, samples);
  const auto w = shape_.weights().of(parameters), b = shape_.hidden_bias().of(parameters);
  const auto c = shape_.visible_bias().of(parameters);
  queue.run(backend::AffineForward{samples, shape_.visible, shape_.hidden, v, w, b, Activation::identity, z});
  queue.run(backend::BiasGradient{samples, shape_.visible, v, 0, visible_sums_.span()});
  queue.run(backend::SoftplusSum{-1, z, &into->free_energy});
  queue.run(backend::Dot{-1, c, visible_sums_.span(), &into->free_energy});
  if (options_.visible == VisibleUnits::binomial) return;
  queue.run(backend::SquaredNorm{0.5, v, &into->free_energy});
  queue.run(backend::SquaredNorm{0.5 * static_cast<double>(samples), c, &into->free_energy});
}

void Rbm::describe_state(core::StateView& state) {
  if (!options_.persistent) return;
  state.add("chains", h_.span(), core::Rescale::own);
  state.add("updates", updates_, core::Rescale::equal);
}

}  // namespace paragrad::rbm
