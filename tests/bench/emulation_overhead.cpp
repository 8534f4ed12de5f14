// What emulation costs: the wall-clock time of N emulated workers against one real worker that processes the same samples
// with the same model, and what a second host thread gains. Ratios of runs taken in turn; targets in the printed table.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>

#include "comm/real_worker.hpp"
#include "comm/solo_communicator.hpp"
#include "core/format.hpp"
#include "data/generate.hpp"
#include "sim/simulation.hpp"
#include "train/train.hpp"

namespace {

using namespace paragrad;

constexpr int workers = 16;
constexpr int rounds = 4;

train::TrainingOptions task(const std::string& data, const std::string& strategy) {
  train::TrainingOptions options;
  options.data = data;
  options.model = "784-512-256-10:sigmoid";
  options.strategy = strategy;
  options.minibatch = strategy == "data_parallel" ? 16 * 64 : 64;
  options.splits = workers;
  options.blocks = 2;  // 20 minibatches per split; the paper's 22.5 min of speech are 132 of 1,024 frames
  options.epochs = 3;
  options.schedule.initial_rate = 0.01;
  return options;
}

double seconds(const std::function<void()>& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void train_alone(const train::TrainingOptions& options) {
  const auto device = backend::make_device("cpu");
  comm::SoloCommunicator communicator(*device);
  comm::RealWorker worker(communicator);
  train::train(worker, options, train::open_training_data(options, 1), {});
}

void train_emulated(const train::TrainingOptions& options, int host_threads) {
  sim::Platform platform = sim::free_platform(workers);
  platform.device = {4e12, 3e11, 1, 1, 8e-6};
  platform.leaf = {{1e-5, 4e9}, 1};
  const train::TrainingData source = train::open_training_data(options, workers);
  sim::run(platform, workers, {host_threads, "cpu", "fifo"},
           [&](comm::Worker& worker) { train::train(worker, options, source, {}); });
}

void measure(const std::string& data, const std::string& strategy, const char* one_thread, const char* two_threads) {
  train::TrainingOptions single = task(data, "sgd");
  single.minibatch = 64;
  const train::TrainingOptions many = task(data, strategy);
  double alone = 1e9, one = 1e9, two = 1e9;
  for (int round = 0; round < rounds; ++round) {
    alone = std::min(alone, seconds([&] { train_alone(single); }));
    one = std::min(one, seconds([&] { train_emulated(many, 1); }));
    two = std::min(two, seconds([&] { train_emulated(many, 2); }));
  }
  fmt::print("{:<16} 16 emulated / single worker: {:.3f} ({})   one / two host threads: {:.2f} ({})\n", strategy,
             one / alone, one_thread, one / two, two_threads);
}

}  // namespace

int main() {
  const auto folder = std::filesystem::temp_directory_path() / "paragrad-bench-emulation";
  std::filesystem::create_directories(folder);
  data::GenerateOptions generate;
  generate.out = (folder / "frames.h5").string();
  generate.samples = workers * 2 * 20 * 64;
  generate.valid = generate.test = 16;
  generate.dim = 784;
  generate.classes = 10;
  data::generate(generate);
  fmt::print("emulation of 16 workers, 784-512-256-10, {} samples an epoch, 3 epochs, best of {} runs each\n",
             generate.samples, rounds);
  measure(generate.out, "bmuf", "target: at most 1.10", "target: at least 1.70");
  measure(generate.out, "model_averaging", "same", "same");
  measure(generate.out, "data_parallel", "no target: exchanges 16 gradients every 1,024 samples", "no target");
  std::filesystem::remove_all(folder);
  return 0;
}
