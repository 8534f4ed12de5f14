#pragma once

#include <string_view>

namespace paragrad::rbm {

/// binomial: states 0 and 1, P(v = 1|h) = sigm(c + W h); data in [0, 1] serve as probabilities. gaussian: real numbers with
/// variance 1 around c + W h, for data of mean 0 and variance 1.
enum class VisibleUnits { binomial, gaussian };

/// "binomial" or "gaussian". Throws ConfigError.
VisibleUnits parse_visible_units(std::string_view name);

struct RbmOptions {
  VisibleUnits visible = VisibleUnits::binomial;
  int cd_steps = 1;            ///< k: Gibbs steps between the data and what they are compared with
  bool persistent = false;     ///< these steps go on from where they ended before, not from the data (PCD)
  bool sample_visible = true;  ///< v1 is drawn; false: its mean stands for it
  double sparsity_target = 0;  ///< share of the samples for which a hidden unit should be on
  double sparsity_cost = 0;    ///< times (its mean probability - target) goes to the gradient of its bias; 0: none
};

/// Throws ConfigError that names the option.
void check(const RbmOptions& options);

/// What a machine sees of those below it: states that they draw one after the other, as Algorithm 2 has it, or means.
enum class Activations { sampled, mean };

/// "sampled" or "mean". Throws ConfigError.
Activations parse_activations(std::string_view name);

}  // namespace paragrad::rbm
