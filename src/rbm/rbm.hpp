#pragma once

#include <cstdint>
#include <span>

#include "backend/device.hpp"
#include "backend/device_array.hpp"
#include "backend/loss_sum.hpp"
#include "core/arena.hpp"
#include "core/state_view.hpp"
#include "nn/gradient_sink.hpp"
#include "rbm/random_draws.hpp"
#include "rbm/rbm_options.hpp"
#include "rbm/shape.hpp"

namespace paragrad::rbm {

/// A restricted Boltzmann machine trained by contrastive divergence. Owns the states of its units but no parameters.
///
/// Algorithm 1 of T. Ma's slides (Y. Bengio et al., NIPS 2006), summed over a minibatch:
///
///   Q(h0|v0) = sigm(b + v0·W), h0 ~ Q(h0|v0)         states, not probabilities, in the positive phase
///   P(v1|h0) = sigm(c + h0·Wᵀ), v1 ~ P(v1|h0)
///   Q(h1|v1) = sigm(b + v1·W)                        probabilities in the negative phase
///   -gW = v0ᵀ·h0 - v1ᵀ·Q(h1|v1),  -gb = Σ h0 - Q(h1|v1),  -gc = Σ v0 - v1
///
/// so that parameters -= rate·g increases the likelihood. (The slide subtracts where it should add: with its own conditional
/// probabilities the likelihood increases along +(v0 h0 - v1 h1).) CD-k repeats the down and up steps k times, sampling the
/// hidden states in between; PCD continues from the last hidden states of its chains, initially 0 (T. Tieleman, ICML 2008).
///
/// Cost per sample of CD-1: five products of 2·visible·hidden flops, three of which read the weights; PCD needs one more for
/// the reconstruction error. Memory: (2·visible + 3·hidden)·max_batch floats.
class Rbm {
 public:
  /// first_chain: index of this worker's first persistent chain, which keys its random numbers.
  Rbm(backend::Device& device, Shape shape, const RbmOptions& options, std::size_t max_batch, std::uint32_t first_chain = 0);

  const Shape& shape() const { return shape_; }
  std::size_t max_batch() const { return max_batch_; }

  /// Both phases for v0[rows][visible], which must stay valid until gradient(). rows: keys of the random numbers.
  /// into->loss += Σ (v0 - P(v1|h0))², the reconstruction error. `rows` and `into` are device memory, here and below.
  void contrast(backend::KernelQueue& queue, std::span<const float> parameters, std::span<const float> v0,
                std::span<const std::uint32_t> rows, const Draws& draws, backend::LossSum* into);

  /// Called after each contrast() whose kernels were executed: the persistent chains then draw other numbers.
  void advance_chains() { updates_ += 1; }

  /// The gradient g of the last contrast(), into sink.into [parameter_count()], from its end to its beginning; with a
  /// descent the parameters are updated too. `ready` receives the finished ranges.
  void gradient(backend::KernelQueue& queue, const nn::GradientSink& sink, const nn::GradientReady& ready);

  /// into->loss += Σ |v - its mean-field reconstruction|² over v[samples][visible], at most max_batch samples. Draws no
  /// random numbers.
  void reconstruction_error(backend::KernelQueue& queue, std::span<const float> parameters, std::span<const float> v,
                            backend::LossSum* into);

  /// into->free_energy += Σ F(v), where P(v) ∝ exp(-F(v)): F(v) = -c·v - Σ softplus(b + v·W); with Gaussian units ½|v - c|²
  /// for -c·v.
  void free_energy(backend::KernelQueue& queue, std::span<const float> parameters, std::span<const float> v,
                   backend::LossSum* into);

  /// Adds the persistent chains.
  void describe_state(core::StateView& state);

 private:
  std::span<float> visible(core::Arena& arena, std::size_t samples) { return arena.span().first(samples * shape_.visible); }
  std::span<float> hidden(core::Arena& arena, std::size_t samples) { return arena.span().first(samples * shape_.hidden); }
  std::size_t samples_of(std::span<const float> v) const;

  void go_up(backend::KernelQueue& queue, std::span<const float> parameters, std::span<const float> v, std::span<float> q);
  void go_down(backend::KernelQueue& queue, std::span<const float> parameters, std::span<const float> h, std::span<float> p);
  void draw_visible(backend::KernelQueue& queue, const core::RandomStream& random, std::span<const std::uint32_t> rows);
  void walk(backend::KernelQueue& queue, std::span<const float> parameters, std::span<const std::uint32_t> rows,
            const Draws& draws, bool chains);
  void add_sparsity(backend::KernelQueue& queue, std::span<float> positive_bias);

  Shape shape_;
  RbmOptions options_;
  std::size_t max_batch_;
  std::span<const float> v0_;
  std::size_t samples_ = 0;   // of the current contrast
  core::Arena h0_;            // [max_batch][hidden] drawn from the data
  core::Arena h_;             // [max_batch][hidden] states of later steps, or the persistent chains
  core::Arena q_;             // [max_batch][hidden] probabilities
  core::Arena p_, v_;         // [max_batch][visible] means and states; one arena if means are used as states
  core::Arena activity_;      // [hidden] Σ Q(h0|v0), if it is needed
  core::Arena ones_;          // [hidden]
  core::Arena visible_sums_;  // [visible]
  backend::DeviceArray<std::uint32_t> chain_numbers_;
  double updates_ = 0;  // keys the random numbers of persistent chains
};

}  // namespace paragrad::rbm
