#pragma once

#include <string_view>

#include "core/options.hpp"

namespace paragrad::rbm {

/// binomial: states 0 and 1, P(v = 1|h) = sigm(c + W h); data in [0, 1] serve as probabilities. gaussian: real numbers with
/// variance 1 around c + W h, for data of mean 0 and variance 1.
enum class VisibleUnits { binomial, gaussian };

/// "binomial" or "gaussian". Throws ConfigError.
VisibleUnits parse_visible_units(std::string_view name);

struct RbmOptions {
  VisibleUnits visible = VisibleUnits::binomial;
  int cd_steps = 1;            ///< k: Gibbs steps between the data and the negative phase
  bool persistent = false;     ///< steps continue from the previous end of the chains, not from the data (PCD)
  bool sample_visible = true;  ///< v1 is sampled; false: its mean is used
  double sparsity_target = 0;  ///< fraction of the samples for which a hidden unit should be on
  double sparsity_cost = 0;    ///< cost·(mean probability - target) is added to the gradient of each hidden bias; 0: none

  /// All but `visible`.
  void describe(core::OptionList& list);
};

/// Throws ConfigError naming the invalid option.
void check(const RbmOptions& options);

/// The input of a machine from the machines below: states sampled layer by layer, as in Algorithm 2, or means.
enum class Activations { sampled, mean };

/// "sampled" or "mean". Throws ConfigError.
Activations parse_activations(std::string_view name);

}  // namespace paragrad::rbm
