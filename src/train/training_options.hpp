#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "optim/schedule.hpp"
#include "strategies/strategy.hpp"
#include "train/minibatch_search.hpp"
#include "train/pretraining_options.hpp"

namespace paragrad::train {

/// Everything that decides what a training computes. The same in both worlds.
struct TrainingOptions {
  std::string data;                                ///< HDF5 file
  std::array<std::size_t, 3> imaginary_samples{};  ///< without a file: training, validation, test; timing runs only
  std::string model;                               ///< "784-512-256-10:sigmoid"
  std::string loss = "cross_entropy";              ///< or squared_error; or ctc, whose "samples" (rates, scores) are tokens
  std::string context;           ///< frames seen with each, "5+5", instead of those that the data file names; empty: those
  std::string chunks = "whole";  ///< of recurrent models, whose samples are these: see data::Chunking
  std::string strategy = "sgd";
  strategies::StrategyOptions strategy_options;

  optim::OptimiserOptions optimiser;
  double momentum = 0.9;               ///< per minibatch
  double momentum_time_constant = 0;   ///< in samples, instead of momentum; 0: none
  bool unit_gain = false;              ///< v = μv + (1-μ)g instead of v = μv + g
  std::string rate_per = "minibatch";  ///< the learning rate's unit: "minibatch" (of the configured size) or "sample"
  optim::ScheduleOptions schedule;
  double l2 = 0;  ///< λ of λ/2·|w|² per sample

  int tensor_parallel = 1;     ///< workers that hold one replica together, see TensorParallelLearner
  std::size_t minibatch = 64;  ///< samples; of all workers together where they share minibatches. 0: all of a block
  MinibatchSearchOptions minibatch_search;
  int epochs = 10;              ///< at most; 0: pretraining only
  double target_error = -1;     ///< ends with the first epoch whose validation error is no larger; below 0: none
  int validations = 1;          ///< in each epoch of all workers, spread over its blocks, the last at its end
  bool keep_best = false;       ///< end with the model whose validation error is the least
  std::size_t splits = 0;       ///< per block (N of the partition N×M); 0: one per worker
  std::size_t blocks = 30;      ///< M
  std::size_t sync_period = 0;  ///< samples per worker between two synchronisations; not 0: M follows from it
  bool balance = false;         ///< shares of the data by the measured speed of the workers, see Balance
  std::uint64_t seed = 1;       ///< initial weights, partition, order of blocks

  std::string init;                ///< checkpoint to start from
  PretrainingOptions pretraining;  ///< instead of it

  /// Epochs before this one are trained as by one worker (CNTK's parallelizationStartEpoch): worker 0 does, and the others
  /// have what they would have if all did the same.
  int parallel_start_epoch = 1;

  std::string io = "none";       ///< of the simulator: what reading costs, see Io
  std::size_t sample_bytes = 0;  ///< that are read per sample; 0: as the data set stores them, or four per input

  std::size_t max_blocks = 0;  ///< of each epoch, the first that it comes to; 0: all
  std::size_t max_steps = 0;   ///< minibatches of each block; 0: all. For timing runs: a part often tells enough
};

/// How many replicas so many workers hold. Throws ConfigError unless they come out even.
int replicas(const TrainingOptions& options, int workers);

/// The run's strategy; servers that it may have apply gradients by the run's rule.
std::unique_ptr<strategies::Strategy> make_strategy(const TrainingOptions& options);

/// none: data are there. blocking: a split is read when it is wanted. prefetch: while the split before is processed, "next
/// split will be loaded to memory when current split is being processed" (Chen and Huo, ICASSP 2016).
enum class Io { none, blocking, prefetch };

/// Throws ConfigError.
Io parse_io(std::string_view name);

}  // namespace paragrad::train
