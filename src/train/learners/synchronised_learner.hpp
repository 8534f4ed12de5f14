#pragma once

#include "comm/worker.hpp"
#include "nn/graph.hpp"
#include "train/learners/learner.hpp"
#include "train/training_options.hpp"

namespace paragrad::train {

/// Learners for workers that share minibatches: batch normalisation takes the statistics of whole minibatches
/// (nn::synchronise_statistics). Each holds a replica, whose gradient it computes for its part of the samples; a worker
/// without samples takes part in the exchange of statistics.
///
/// workers: all of them, with this one; it, `options` and the graph must outlive the returned function and its learners.
MakeLearner synchronised_learners(comm::Worker& workers, const nn::Graph& graph, const TrainingOptions& options);

}  // namespace paragrad::train
