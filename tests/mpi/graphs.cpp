// Under mpiexec -n 4: networks that the notation cannot describe end in the weights of as many emulated workers, bit for
// bit, by gradients and by block momentum, whole and in two parts. Exits with 1 and says what differs.
#include <cstdio>

#include "comm/mpi/mpi_session.hpp"
#include "comm/mpi/mpi_worker.hpp"
#include "core/format.hpp"
#include "tests/nn/networks.hpp"
#include "tests/train/support.hpp"

using namespace paragrad;

namespace {

train::TrainingData data_for(const test::SmallTask& task, const std::string& network, int workers) {
  train::TrainingData source = train::open_training_data(task.options, workers);
  source.network = std::make_shared<const nn::Graph>(test::network(network, 8, 6));
  return source;
}

std::string simulated(const test::SmallTask& task, const train::TrainingData& source, int workers) {
  std::string hash;
  sim::run(sim::free_platform(workers), workers, {}, [&](comm::Worker& worker) {
    const train::Result result = train::train(worker, task.options, source, {});
    if (worker.rank() == 0) hash = result.parameters_sha256;
  });
  return hash;
}

}  // namespace

int main() {
  comm::MpiSession session;
  try {
    const auto device = backend::make_device("cpu");
    comm::MpiCommunicator comm(*device, 30);
    test::SmallTask task(300);  // the same on every rank
    for (const char* network :
         {"residual", "residual_gelu", "shared", "two_outputs", "dropout", "batch_norm", "images", "normalising"})
      for (const char* strategy : {"data_parallel", "bmuf"})
        for (const int parts : {1, 2}) {
          if (parts > 1 && !test::can_be_split(network)) continue;
          task.options.strategy = strategy;
          task.options.tensor_parallel = parts;
          const train::TrainingData source = data_for(task, network, comm.size());
          comm::MpiWorker worker(comm);
          const std::string hash = train::train(worker, task.options, source, {}).parameters_sha256;
          if (comm.rank() != 0) continue;
          const std::string expected = simulated(task, source, comm.size());
          const std::string what = core::format("{}, {}, {} parts: {}", network, strategy, parts, hash);
          if (hash.empty() || hash != expected) throw std::runtime_error(what + " under MPI, " + expected + " simulated");
          std::printf("%s\n", what.c_str());
        }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "worker %d: %s\n", session.rank(), error.what());
    session.abort(1);
  }
}
