// What many workers in one process cost: the wall-clock time of N emulated workers, and of N workers in real time, against
// one worker that processes the same samples with the same model; and what a second thread gains, next to what the machine
// allows: two processes that have nothing to do with each other. Ratios of runs taken in turn; targets in the printed table.
//
//   bench_emulation [model]

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "comm/real_worker.hpp"
#include "comm/solo_communicator.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "core/philox.hpp"
#include "data/generate.hpp"
#include "data/text_import.hpp"
#include "hosting/hosting.hpp"
#include "sim/simulation.hpp"
#include "train/train.hpp"

namespace {

using namespace paragrad;

constexpr int workers = 16;
constexpr int rounds = 4;

struct Net {
  std::string model;
  std::size_t inputs, minibatch;  // of a worker; of a text, inputs is the context
  int epochs;
  std::size_t minibatches_per_split = 20;  // the paper's 22.5 min of speech are 132 of 1,024 frames

  bool is_text() const { return model.starts_with("gpt"); }
};

constexpr int blocks = 2;

train::TrainingOptions task(const Net& net, const std::string& data, const std::string& strategy) {
  train::TrainingOptions options;
  options.data = data;
  options.model = net.model;
  options.strategy = strategy;
  options.minibatch = strategy == "data_parallel" ? workers * net.minibatch : net.minibatch;
  options.splits = workers;
  options.blocks = blocks;
  options.epochs = net.epochs;
  options.schedule.initial_rate = net.is_text() ? 1e-3 : 0.01;
  if (net.is_text()) options.optimiser.name = "adamw";
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

void train_hosted(const train::TrainingOptions& options, int threads) {
  const train::TrainingData source = train::open_training_data(options, workers);
  hosting::run(workers, {.threads = threads}, [&](comm::Worker& worker) { train::train(worker, options, source, {}); });
}

struct Case {
  std::string strategy, target_of_one, target_of_threads, target_of_processes = "no target";
};

/// What the machine allows: two processes at once, each with a single worker on its core.
void train_two_alone(const train::TrainingOptions& options) {
  const pid_t other = ::fork();
  train_alone(options);
  if (other == 0) ::_exit(0);
  if (other < 0 || ::waitpid(other, nullptr, 0) != other) throw std::runtime_error("a second process is needed");
}

/// Of a world whose workers take so long on one thread and on two. two_alone: two single workers' time.
void print_ratios(const std::string& what, double alone, double two_alone, double one, double two, const Case& wanted) {
  fmt::print(
      "{:<16} {:<9} 16 workers / single worker: {:.3f} ({})   one / two threads: {:.2f} ({})   samples/s of two threads / "
      "two processes: {:.2f} ({})\n",
      wanted.strategy, what, one / alone, wanted.target_of_one, one / two, wanted.target_of_threads, two_alone / (2 * two),
      wanted.target_of_processes);
}

void measure(const Net& net, const std::string& data, const Case& wanted) {
  const train::TrainingOptions single = task(net, data, "sgd"), many = task(net, data, wanted.strategy);
  double alone = 1e9, two_alone = 1e9, one = 1e9, two = 1e9, hosted_one = 1e9, hosted_two = 1e9;
  for (int round = 0; round < rounds; ++round) {
    alone = std::min(alone, seconds([&] { train_alone(single); }));
    two_alone = std::min(two_alone, seconds([&] { train_two_alone(single); }));
    one = std::min(one, seconds([&] { train_emulated(many, 1); }));
    two = std::min(two, seconds([&] { train_emulated(many, 2); }));
    hosted_one = std::min(hosted_one, seconds([&] { train_hosted(many, 1); }));
    hosted_two = std::min(hosted_two, seconds([&] { train_hosted(many, 2); }));
  }
  fmt::print("{:<16} two processes with a single worker each, at once: {:.2f} times one's samples/s\n", wanted.strategy,
             2 * alone / two_alone);
  print_ratios("emulated", alone, two_alone, one, two, wanted);
  print_ratios("real time", alone, two_alone, hosted_one, hosted_two, wanted);
}

/// A text of as many windows as the other data has samples.
void write_text(const std::string& text, const std::string& out, std::size_t tokens) {
  const core::RandomStream random(1, core::Purpose::generator);
  std::ofstream file(text);
  for (std::size_t i = 0; i < tokens; ++i) file << static_cast<char>('a' + static_cast<int>(26 * random.uniform(i)));
  file.close();
  data::import_text({.from = text, .tokens = "characters", .out = out, .name = "letters", .valid = 0.01});
}

void measure(const Net& net, const std::vector<Case>& cases) {
  const auto folder = std::filesystem::temp_directory_path() / "paragrad-bench-emulation";
  std::filesystem::create_directories(folder);
  data::GenerateOptions generate;
  generate.out = (folder / "samples.h5").string();
  generate.samples = workers * blocks * net.minibatches_per_split * net.minibatch;
  generate.valid = generate.test = 16;
  generate.dim = net.inputs;
  generate.classes = 10;
  if (net.is_text())
    write_text((folder / "letters.txt").string(), generate.out, generate.samples * net.inputs * 100 / 99 + net.inputs);
  else
    data::generate(generate);
  fmt::print("{} workers in one process, {}, {} samples an epoch, epochs: {}, best of {} runs each\n", workers, net.model,
             generate.samples, net.epochs, rounds);
  for (const Case& wanted : cases) measure(net, generate.out, wanted);
  std::filesystem::remove_all(folder);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::pair<Net, std::vector<Case>>> all{
      {{"784-512-256-10:sigmoid", 784, 64, 3},
       {{"bmuf", "target: at most 1.10", "target: at least 1.80"},
        {"model_averaging", "same", "same"},
        {"data_parallel", "no target: exchanges 16 gradients every 1,024 samples", "no target"}}},
      {{"gpt:nano,vocabulary=26", 64, 12, 1, 10}, {{"bmuf", "no target", "no target", "target: at least 0.9"}}},
      {{"zoo:resnet:depth=20", 3 * 32 * 32, 16, 1}, {{"bmuf", "target: at most 1.10", "target: at least 1.80"}}}};
  bool has_measured = false;
  for (const auto& [net, cases] : all) {
    if (argc > 1 && net.model != argv[1]) continue;
    measure(net, cases);
    has_measured = true;
  }
  if (has_measured) return 0;
  std::vector<std::string> known;
  for (const auto& [net, cases] : all) known.push_back(net.model);
  fmt::print(stderr, "bench_emulation: measures {}, not '{}'\n", core::join(known, "; "), argv[1]);
  return 2;
}
