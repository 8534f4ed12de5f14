// mpiexec -n 2 bench_shared_ranks: what it costs that ranks share workers. The wall-clock time of 8 workers on the ranks
// against that of a worker per rank, which process the same samples in minibatches of the same size. The median ratio of
// runs taken in turn.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "comm/allreduce.hpp"
#include "comm/mpi/mpi_communicator.hpp"
#include "comm/mpi/mpi_session.hpp"
#include "comm/mpi/mpi_worker.hpp"
#include "core/format.hpp"
#include "data/generate.hpp"
#include "hosting/hosting.hpp"
#include "train/train.hpp"

namespace {

using namespace paragrad;

constexpr int workers = 8;
constexpr int rounds = 15;
constexpr int minibatch = 64;
constexpr int minibatches_per_split = 20;
constexpr int blocks = 2;

train::TrainingOptions task(const std::string& data, const std::string& strategy) {
  train::TrainingOptions options;
  options.data = data;
  options.model = "784-512-256-10:sigmoid";
  options.strategy = strategy;
  options.minibatch = minibatch;
  options.blocks = blocks;
  options.epochs = 3;
  options.schedule.initial_rate = 0.01;
  return options;
}

double seconds(comm::Communicator& ranks, const std::function<void()>& run) {
  comm::barrier(ranks);
  const double begin = ranks.now_s();
  run();
  comm::barrier(ranks);
  return ranks.now_s() - begin;
}

void train_on_ranks(comm::MpiCommunicator& ranks, const train::TrainingOptions& options) {
  comm::MpiWorker worker(ranks);
  train::train(worker, options, train::open_training_data(options, ranks.size()), {});
}

void train_shared(comm::MpiCommunicator& ranks, const train::TrainingOptions& options) {
  comm::MpiCommunicator messages(ranks, ranks.device());
  const train::TrainingData source = train::open_training_data(options, workers);
  hosting::run(workers, {.threads = 1, .processes = &messages},
               [&](comm::Worker& worker) { train::train(worker, options, source, {}); });
}

void measure(comm::MpiCommunicator& ranks) {
  const auto data = (std::filesystem::temp_directory_path() / "paragrad-bench-shared-ranks.h5").string();
  if (ranks.rank() == 0) {
    data::GenerateOptions generate;
    generate.out = data;
    generate.samples = workers * blocks * minibatches_per_split * minibatch;
    generate.valid = generate.test = 16;
    generate.dim = 784;
    generate.classes = 10;
    data::generate(generate);
  }
  comm::barrier(ranks);
  for (const char* strategy : {"bmuf", "model_averaging"}) {
    const train::TrainingOptions options = task(data, strategy);
    std::vector<double> ratios;
    for (int round = 0; round < rounds; ++round) {
      const double each = seconds(ranks, [&] { train_on_ranks(ranks, options); });
      ratios.push_back(each / seconds(ranks, [&] { train_shared(ranks, options); }));
    }
    std::ranges::nth_element(ratios, ratios.begin() + rounds / 2);
    if (ranks.rank() == 0)
      fmt::print("{:<16} {} workers on {} ranks, samples/s relative to a worker per rank: {:.3f} (target: at least 0.95)\n",
                 strategy, workers, ranks.size(), ratios[rounds / 2]);
  }
  comm::barrier(ranks);
  if (ranks.rank() == 0) std::filesystem::remove(data);
}

}  // namespace

int main() {
  comm::MpiSession session;
  try {
    const auto device = backend::make_device("cpu");
    comm::MpiCommunicator ranks(*device);
    measure(ranks);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_shared_ranks: {}\n", error.what());
    session.abort(1);
  }
}
