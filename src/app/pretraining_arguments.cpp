#include "app/pretraining_arguments.hpp"

#include "core/format.hpp"

namespace paragrad::app {

void add_pretraining_options(CLI::App& parser, train::PretrainingOptions& options) {
  constexpr const char* group = "Pretraining";
  rbm::Options& machine = options.machine;
  parser
      .add_option(
          "--pretrain-sweeps", options.sweeps,
          "passes in which each hidden layer, from the first on, is trained as a restricted Boltzmann machine (0: none)")
      ->check(CLI::Range(0, 1000000))
      ->group(group);
  parser
      .add_option("--pretrain-learning-rate", options.rates, "per minibatch: one, or one for each hidden layer with commas")
      ->delimiter(',')
      ->default_str(core::format("{}", fmt::join(options.rates, ",")))  // in a form that can be read back
      ->group(group);
  parser.add_option("--pretrain-momentum", options.momentum, "per minibatch")->group(group);
  parser.add_option("--pretrain-l2", options.l2, "strength of the penalty l2/2 |w|^2 per sample")
      ->check(CLI::NonNegativeNumber)
      ->group(group);
  parser.add_option("--pretrain-minibatch", options.minibatch, "samples; shared as those of --minibatch are")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 30))
      ->group(group);
  parser.add_option("--pretrain-weight-deviation", options.weight_deviation, "of initial weights")->group(group);
  parser
      .add_option("--pretrain-activations", options.activations,
                  "sampled: a layer learns from states that those below it draw; mean: from their probabilities")
      ->check(CLI::IsMember({"sampled", "mean"}))
      ->group(group);
  parser
      .add_option("--visible-units", options.visible_units,
                  "of the first machine: binomial for features from 0 to 1, gaussian for mean 0 and variance 1")
      ->check(CLI::IsMember({"binomial", "gaussian"}))
      ->group(group);
  parser.add_option("--cd-steps", machine.cd_steps, "k of contrastive divergence CD-k")
      ->check(CLI::Range(1, 100000))
      ->group(group);
  parser.add_option("--persistent-chains", machine.persistent, "Gibbs steps go on from those of the update before (PCD)")
      ->group(group);
  parser.add_option("--sample-reconstructions", machine.sample_visible, "false: means stand for the visible states")
      ->group(group);
  parser
      .add_option("--sparsity-target", machine.sparsity_target, "share of the samples for which a hidden unit is to be on")
      ->group(group);
  parser.add_option("--sparsity-cost", machine.sparsity_cost, "weight of the pull towards it on hidden biases (0: none)")
      ->group(group);
}

}  // namespace paragrad::app
