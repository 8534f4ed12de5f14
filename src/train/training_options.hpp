#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/augmentation.hpp"
#include "optim/schedule.hpp"
#include "rbm/rbm_options.hpp"
#include "strategies/strategy.hpp"
#include "train/minibatch_search.hpp"

namespace paragrad::train {

/// Options for pretraining a network's hidden layers as restricted Boltzmann machines (Algorithm 2 of Ma's slides).
struct PretrainingOptions {
  int epochs = 0;                  ///< per layer; 0: no pretraining
  std::vector<double> rates{0.1};  ///< learning rate per minibatch: one for all layers, or one per layer
  double momentum = 0.9;
  double l2 = 0.0002;
  std::size_t minibatch = 100;
  double weight_deviation = 0.01;          ///< standard deviation of initial weights; 0 as in the slides
  std::string activations = "sampled";     ///< of the layers below: see rbm::Activations
  std::string visible_units = "binomial";  ///< of the first machine; those of the others are binomial
  rbm::RbmOptions machine;                 ///< its visible units are set by visible_units

  /// optimiser: of the run.
  void describe(core::OptionList& list, const std::string& optimiser);
};

/// Everything that determines what a training computes. The same under MPI and in the simulator.
struct TrainingOptions {
  std::string data;                    ///< HDF5 file
  std::string model;                   ///< "784-512-256-10:sigmoid"
  std::string loss = "cross_entropy";  ///< of nn/losses/catalogue.def
  core::Settings loss_settings;        ///< its options, in training
  std::string context;           ///< frames of context per sample, "5+5", overriding the data file's; empty: the data file's
  std::string chunks = "whole";  ///< the samples of recurrent models: see data::Chunking
  std::string windows = "disjoint";    ///< the samples of models of texts: see data::Windows
  backend::Augmentation augmentation;  ///< of images, in training
  std::string strategy = "sgd";
  core::Settings strategy_settings;   ///< its options
  strategies::ServerContext servers;  ///< what its servers are given, if it has any

  optim::OptimiserOptions optimiser;
  double momentum = 0.9;               ///< per minibatch
  double momentum_time_constant = 0;   ///< in samples, instead of momentum; 0: none
  bool unit_gain = false;              ///< v = μv + (1-μ)g instead of v = μv + g
  std::string rate_per = "minibatch";  ///< the learning rate's unit: "minibatch" (of the configured size) or "sample"
  double rate_per_sample = 0;          ///< instead of schedule.initial_rate and rate_per; 0: these hold, see settle_rate()
  optim::ScheduleOptions schedule;
  bool takes_customary_rate = false;  ///< schedule.initial_rate is the optimiser's customary one, as none was given
  double l2 = 0;  ///< λ of λ/2·|w|² per sample, over the parameters that optim::OptimiserOptions::l2_on names

  int tensor_parallel = 1;       ///< workers per replica, see TensorParallelLearner
  bool sync_batch_norm = false;  ///< batch normalisation with the statistics of whole minibatches, see synchronised_learners
  std::size_t minibatch = 64;    ///< samples, over all workers if they share minibatches; 0: the whole block
  std::size_t micro_batch = 0;   ///< most samples that a worker computes on at once; 0: its whole part of the minibatch
  MinibatchSearchOptions minibatch_search;
  int epochs = 10;                   ///< maximum; 0: pretraining only
  int validations = 1;               ///< per epoch, spread over its blocks, the last at its end
  double ema_decay = 0;              ///< of the mean of the model over blocks, see ModelMean; 0: none
  bool keep_best = false;            ///< end with the model of the lowest validation error
  std::size_t splits = 0;            ///< per block (N of the partition N×M); 0: one per worker
  std::size_t blocks = 30;           ///< M
  std::size_t sync_period = 0;       ///< samples per worker between two synchronisations; if not 0, it determines M
  std::string partition = "random";  ///< how samples are divided among workers, see data/partitioning.hpp
  bool shuffle = false;              ///< a new order of the samples in every epoch, see PlanOptions
  bool balance = false;              ///< divide the data by the measured speeds of the workers, see Balance
  std::uint64_t seed = 1;            ///< initial weights, partition, order of blocks and samples

  core::Settings loop_settings;  ///< options of the observers of the loop

  std::string init;                ///< checkpoint to start from
  PretrainingOptions pretraining;  ///< makes the initial model instead of init

  /// Epochs before this one are trained by worker 0 alone (CNTK's parallelizationStartEpoch); afterwards the other workers
  /// have the state they would have if all had done the same.
  int parallel_start_epoch = 1;

  bool computes = true;        ///< false: a timing run, on a device that only counts
  std::size_t max_blocks = 0;  ///< only the first blocks of each epoch; 0: all
  std::size_t max_steps = 0;   ///< only the first minibatches of each block; 0: all. For timing runs, where a part is enough

  /// All but `servers`, `computes` and `max_steps`.
  void describe(core::OptionList& list);

  /// Of these, what a model needs to read samples, and what it is scored with.
  void describe_samples(core::OptionList& list);
  core::DescribedOption describe_loss(core::OptionList& list);
};

// Why an option has no effect.
inline constexpr const char* network_only = "applies to the training of the network, but `epochs` 0 only pretrains";
inline constexpr const char* not_timed = "has no effect in a timing run";
inline constexpr const char* unscored = "needs the validation error, which a timing run does not compute: leave it out";

/// Gives a model of the family gpt the vocabulary of the data, unless it names one.
void settle_model(TrainingOptions& options);

/// The schedule's rate and number of epochs from the other options.
void settle_rate(TrainingOptions& options);

/// The number of replicas that `workers` workers hold. Throws ConfigError unless tensor_parallel divides it.
int replicas(const TrainingOptions& options, int workers);

/// The run's strategy; its servers, if any, apply gradients with the run's optimiser.
std::unique_ptr<strategies::Strategy> make_strategy(const TrainingOptions& options);

/// What the workers of the run's strategy divide among themselves.
strategies::Share share_of(const TrainingOptions& options);

/// Runs the servers of the run's strategy, see strategies::ServedStrategy::serve.
void serve_with(const TrainingOptions& options, comm::Worker& all_ranks, int workers);

/// Whether the strategy has servers, or shares minibatches among the workers. Throws ConfigError for an unknown name.
inline bool has_servers(const TrainingOptions& options) { return strategies::strategy_entry(options.strategy).has_servers; }
inline bool shares_minibatches(const TrainingOptions& options) {
  return strategies::strategy_entry(options.strategy).share == strategies::Share::minibatch;
}

}  // namespace paragrad::train
