#include "app/pretraining_arguments.hpp"

#include "app/number_options.hpp"

namespace paragrad::app {

void add_pretraining_options(CLI::App& parser, train::PretrainingOptions& options) {
  constexpr const char* group = "Pretraining";
  rbm::RbmOptions& machine = options.machine;
  add_number(parser, "--pretrain-epochs", options.epochs, {.least = 0, .most = 1000000},
             "passes in which each hidden layer, from the first on, is trained as a restricted Boltzmann machine (0: none)")
      ->group(group);
  add_numbers(parser, "--pretrain-learning-rate", options.rates, above_zero,
              "per minibatch: one, or one for each hidden layer with commas")
      ->group(group);
  add_number(parser, "--pretrain-momentum", options.momentum, below_one, "per minibatch")->group(group);
  add_number(parser, "--pretrain-l2", options.l2, zero_or_more, "strength of the penalty l2/2 |w|^2 per sample")
      ->group(group);
  add_number(parser, "--pretrain-minibatch", options.minibatch, a_minibatch, "samples; shared as those of --minibatch are")
      ->group(group);
  add_number(parser, "--pretrain-weight-deviation", options.weight_deviation, zero_or_more, "of initial weights")
      ->group(group);
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
  add_number(parser, "--cd-steps", machine.cd_steps, {.least = 1, .most = 100000}, "k of contrastive divergence CD-k")
      ->group(group);
  parser.add_option("--persistent-chains", machine.persistent, "Gibbs steps go on from those of the update before (PCD)")
      ->group(group);
  parser.add_option("--sample-reconstructions", machine.sample_visible, "false: means stand for the visible states")
      ->group(group);
  add_number(parser, "--sparsity-target", machine.sparsity_target, a_share,
             "share of the samples for which a hidden unit is to be on")
      ->group(group);
  add_number(parser, "--sparsity-cost", machine.sparsity_cost, zero_or_more,
             "weight of the pull towards it on hidden biases (0: none)")
      ->group(group);
}

}  // namespace paragrad::app
