#include "app/pretraining_arguments.hpp"

#include "app/number_options.hpp"

namespace paragrad::app {

void add_pretraining_options(CLI::App& parser, train::PretrainingOptions& options) {
  const Heading heading(parser, "Pretraining");
  rbm::RbmOptions& machine = options.machine;
  add_number(parser, "--pretrain-epochs", options.epochs, {.least = 0, .most = 1000000},
             "epochs in which each hidden layer in turn is trained as a restricted Boltzmann machine (0: no pretraining)");
  add_numbers(parser, "--pretrain-learning-rate", options.rates, core::above_zero,
              "learning rate per minibatch in pretraining: one, or one per hidden layer, separated by commas");
  add_number(parser, "--pretrain-momentum", options.momentum, core::below_one,
             "momentum coefficient per minibatch in pretraining");
  add_number(parser, "--pretrain-l2", options.l2, core::zero_or_more,
             "strength of the L2 penalty l2/2 |w|^2 per sample in pretraining");
  add_number(parser, "--pretrain-minibatch", options.minibatch, core::a_minibatch,
             "minibatch size in samples in pretraining; divided among workers as --minibatch is");
  add_number(parser, "--pretrain-weight-deviation", options.weight_deviation, core::zero_or_more,
             "standard deviation of the initial weights in pretraining");
  parser
      .add_option("--pretrain-activations", options.activations,
                  "inputs of the higher machines: states sampled in the layers below, or their probabilities (mean)")
      ->check(CLI::IsMember({"sampled", "mean"}));
  parser
      .add_option(
          "--visible-units", options.visible_units,
          "visible units of the first machine: binomial for features from 0 to 1, gaussian for mean 0 and variance 1")
      ->check(CLI::IsMember({"binomial", "gaussian"}));
  add_number(parser, "--cd-steps", machine.cd_steps, {.least = 1, .most = 100000},
             "Gibbs steps k of contrastive divergence (CD-k)");
  parser.add_option("--persistent-chains", machine.persistent,
                    "continue the Gibbs chains of the previous update (persistent contrastive divergence, PCD)");
  parser.add_option("--sample-reconstructions", machine.sample_visible,
                    "sample reconstructed visible states; false: use their means");
  add_number(parser, "--sparsity-target", machine.sparsity_target, core::a_share,
             "target fraction of samples for which a hidden unit is on");
  add_number(parser, "--sparsity-cost", machine.sparsity_cost, core::zero_or_more,
             "strength with which hidden biases are pulled towards the sparsity target (0: none)");
}

}  // namespace paragrad::app
