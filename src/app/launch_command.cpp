#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "app/commands.hpp"
#include "app/program_parser.hpp"
#include "cli/described_options.hpp"
#include "comm/membership.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/printable.hpp"
#include "runs/saved_so_far.hpp"
#include "system/child_process.hpp"
#include "system/folder_lock.hpp"
#include "system/own_program.hpp"
#include "train/state/progress_file.hpp"
#include "train/state/state_store.hpp"
#include "worlds/interruption.hpp"
#include "worlds/launch_rules.hpp"

namespace paragrad::app {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

struct LaunchArguments {
  int ranks = 2;
  int least_ranks = 1;
  std::string ranks_file;
  double grace_s = 30;
  std::string launcher = "mpiexec -n {ranks}";
  std::vector<std::string> training;

  void describe(core::OptionList& list) {
    list.number("ranks", ranks, {.least = 1, .most = 1000000}, "number of ranks at the start");
    list.number("least-ranks", least_ranks, {.least = 1, .most = 1000000}, "fewest ranks to continue with after deaths");
    list.text("ranks-file", ranks_file,
              "file with the number of available ranks; whenever it is written, the training continues with that number")
        .path();
    list.number("grace", grace_s, {.least = 0, .most = 1e9}, "seconds to wait for the next state before stopping");
    list.text("launcher", launcher,
              "command that starts ranks, with {ranks} for their number; words are separated by blanks");
    list.arguments("training", training, "after --: train and its options, without mpiexec");
  }
};

/// What a launch needs to know of the training.
struct Training {
  std::vector<std::string> words;
  std::string out;
  int workers = 0;
  std::string dependence;  ///< see dependence_on_ranks()
};

bool says(const std::vector<std::string>& words, const std::string& option) {
  return std::ranges::any_of(words,
                             [&](const std::string& word) { return word == option || word.starts_with(option + "="); });
}

/// With its value, which may be a word of its own.
void remove_option(std::vector<std::string>& words, const std::string& option) {
  for (auto word = words.begin(); word != words.end();)
    if (*word == option)
      word = words.erase(word, std::min(word + 2, words.end()));
    else
      word = word->starts_with(option + "=") ? words.erase(word) : word + 1;
}

/// Reads the training's options, and completes them: it has to save its state and to resume from it. Nothing if they asked
/// for help.
std::optional<Training> read_training(const LaunchArguments& arguments) {
  Training training{arguments.training, {}, 0, {}};
  if (training.words.empty() || training.words[0] != "train")
    throw core::ConfigError("give the training after --, as in 'paragrad launch --ranks 4 -- train --workers 8 …'");
  const cli::Command command = make_command("train");
  std::vector<char*> options;
  for (std::size_t i = 1; i < training.words.size(); ++i) options.push_back(training.words[i].data());
  if (cli::parse(*command.parser, options)) return std::nullopt;
  const auto given = [&](const std::string& option) { return command.parser->get_option(option)->count() > 0; };
  const auto number = [&](const std::string& option) {
    return given(option) ? command.parser->get_option(option)->as<long>() : 0;
  };
  const std::string saving = core::format("--{}", runs::saving_option);
  if (says(training.words, saving) && number(saving) == 0)
    throw core::ConfigError("'--checkpoint-every 0' cannot be launched: give another number, or leave it out");
  worlds::require_survivable(*command.parser);
  if (!given("--out")) throw core::ConfigError("a training that may be interrupted needs a run folder: give --out");
  const auto is_on = [&](const char* option) { return given(option) && command.parser->get_option(option)->as<bool>(); };
  if (given("--resume") && !is_on("--resume"))
    throw core::ConfigError("launch resumes the run each time it starts ranks: leave --resume false out");
  if (is_on("--overwrite"))
    throw core::ConfigError("launch resumes the run that --overwrite would remove: leave --overwrite out");
  training.dependence = worlds::dependence_on_ranks(*command.parser);
  training.out = command.parser->get_option("--out")->as<std::string>();
  training.workers = static_cast<int>(number("--workers"));
  if (training.workers == 0) {
    training.workers = arguments.ranks;
    remove_option(training.words, "--workers");  // 0, which leaves the number to the ranks
    training.words.push_back(core::format("--workers={}", training.workers));
  }
  if (!given("--resume")) training.words.push_back("--resume");
  if (number(saving) == 0) training.words.push_back(saving + "=1");
  return training;
}

volatile sig_atomic_t told_to_stop = 0;

/// In its lifetime, signals of batch systems before they take the nodes away, and of the keyboard, set told_to_stop.
class HeededSignals {
 public:
  HeededSignals() {
    told_to_stop = 0;
    struct sigaction action {};
    action.sa_handler = [](int) { told_to_stop = 1; };
    for (std::size_t i = 0; i < numbers.size(); ++i) ::sigaction(numbers[i], &action, &before_[i]);
  }
  ~HeededSignals() {
    for (std::size_t i = 0; i < numbers.size(); ++i) ::sigaction(numbers[i], &before_[i], nullptr);
  }
  HeededSignals(const HeededSignals&) = delete;
  HeededSignals& operator=(const HeededSignals&) = delete;

 private:
  static constexpr std::array numbers{SIGTERM, SIGINT, SIGUSR1};
  std::array<struct sigaction, numbers.size()> before_{};
};

/// A file with the number of available ranks.
class RanksFile {
 public:
  /// Throws ConfigError if there is no number in it.
  explicit RanksFile(const std::string& path) : path_(path) {
    if (!path.empty() && !changed())
      throw core::ConfigError(core::format("'{}' does not contain a number of ranks", core::printable(path)));
  }

  /// The number, if the file was written since the last call and has one.
  std::optional<int> changed() {
    std::error_code missing;
    const auto written = std::filesystem::last_write_time(path_, missing);
    if (missing || written == written_) return std::nullopt;
    int ranks = 0;
    if (!(std::ifstream(path_) >> ranks) || ranks < 1) return std::nullopt;
    written_ = written;
    ranks_ = ranks;
    return ranks;
  }
  std::optional<int> ranks() const { return ranks_; }

 private:
  std::string path_;
  std::optional<std::filesystem::file_time_type> written_;
  std::optional<int> ranks_;
};

/// Keeps a training running on the ranks that are available.
class Launch {
 public:
  Launch(const LaunchArguments& arguments, Training training)
      : arguments_(arguments),
        training_(std::move(training)),
        program_(system::own_program()),
        file_(arguments.ranks_file),
        wanted_(at_most_one_per_worker(file_.ranks().value_or(arguments.ranks))) {
    if (arguments.launcher.find(place_of_ranks) == std::string::npos)
      throw core::ConfigError(
          core::format("--launcher does not say where the number of ranks goes: put {} there", place_of_ranks));
  }

  int run() {
    const system::FolderLock alone(training_.out, ".launch");  // its trainings lock the folder one after the other
    const HeededSignals heeded;
    const worlds::LoneNotice alone_tells;
    while (!told_to_stop) {
      ranks_ = wanted_;
      last_state_ = state();
      system::ChildProcess job(command(), "");
      const std::optional<int> code = watch(job);
      if (code == cli::success && restarts_ > 0)
        say(core::format("finished after {} restart{}; {} block{} trained twice", restarts_, restarts_ == 1 ? "" : "s",
                         blocks_again_, blocks_again_ == 1 ? " was" : "s were"));
      if (code == cli::success || code == cli::user_error) return *code;
      if (code == not_started) return cli::user_error;
      job.end();
      if (told_to_stop) break;
      if (restarts_ == 0 && !training_.dependence.empty())
        say(core::format("the weights may differ from those of an undisturbed run: {}", training_.dependence));
      if (code) take_death();
      await_release();
      const auto lost = train::lost_work(training_.out + "/state").value_or(train::LostWork{});
      blocks_again_ += lost.blocks;
      ++restarts_;
      say(core::format("going on with {} rank{} after epoch {}, block {}{}", wanted_, wanted_ == 1 ? "" : "s",
                       lost.from.epoch, lost.from.block,
                       lost.blocks == 0
                           ? ""
                           : core::format("; {} block{} to be trained again", lost.blocks, lost.blocks == 1 ? "" : "s")));
    }
    const auto saved = train::StateStore::saved_position(training_.out + "/state");
    const std::string out = core::printable(training_.out);
    say(saved ? core::format("stopped; the same command resumes the run in {} after {}", out, runs::position_text(*saved))
              : core::format("stopped; no state is saved yet, and the same command starts the run in {} again", out));
    return cli::success;
  }

 private:
  static constexpr const char* place_of_ranks = "{ranks}";
  static constexpr int not_started = 127;
  static constexpr int most_fruitless_starts = 5;

  int at_most_one_per_worker(int ranks) const { return std::min(ranks, training_.workers); }

  /// Until the job has ended, or a state was saved and it is to stop or to go on with other ranks. Returns the exit code, or
  /// nothing.
  std::optional<int> watch(system::ChildProcess& job) {
    std::optional<Clock::time_point> since;
    std::string before;
    while (true) {
      if (const auto code = job.exit_code()) return code;
      if (const auto available = file_.changed()) wanted_ = at_most_one_per_worker(*available);
      if (!told_to_stop && wanted_ == ranks_) {
        since.reset();
      } else if (!since) {
        since = Clock::now();
        before = state();
      } else {
        const std::string now = state();
        const bool is_late = told_to_stop && Clock::now() - *since > std::chrono::duration<double>(arguments_.grace_s);
        if (is_late || (now != before && !now.empty())) return std::nullopt;  // at the end, the state is removed
      }
      std::this_thread::sleep_for(20ms);
    }
  }

  /// Ranks that are wanted already are not reduced.
  void take_death() {
    fruitless_ = state() == last_state_ ? fruitless_ + 1 : 0;
    if (fruitless_ == most_fruitless_starts)
      throw comm::Failure(
          core::format("launch: {} starts in a row ended before the next state was saved; the same command resumes the run",
                       most_fruitless_starts));
    if (wanted_ == ranks_) wanted_ = std::max(std::min(arguments_.least_ranks, ranks_), ranks_ - 1);
  }

  /// The launcher may end before the last of its ranks.
  void await_release() const {
    const auto give_up = Clock::now() + 30s;
    while (Clock::now() < give_up && !told_to_stop) {
      try {
        const system::FolderLock lock(training_.out);
        return;
      } catch (const core::ConfigError&) {
        std::this_thread::sleep_for(20ms);
      }
    }
  }

  std::vector<std::string> command() const {
    std::istringstream launcher(CLI::detail::find_and_replace(arguments_.launcher, place_of_ranks, std::to_string(ranks_)));
    std::vector<std::string> words{std::istream_iterator<std::string>(launcher), {}};
    words.push_back(program_);
    words.insert(words.end(), training_.words.begin(), training_.words.end());
    return words;
  }

  /// Identifies the last state that was saved; empty if there is none.
  std::string state() const {
    const std::string path = training_.out + "/state/latest.json";
    if (!std::filesystem::is_regular_file(path)) return "";
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  static void say(const std::string& what) { cli::print_error("launch: " + what); }

  const LaunchArguments& arguments_;
  Training training_;
  std::string program_;
  RanksFile file_;
  int wanted_;     // ranks
  int ranks_ = 0;  // of the job that is running
  int restarts_ = 0;
  std::size_t blocks_again_ = 0;
  int fruitless_ = 0;  // starts in a row without a new state
  std::string last_state_;
};

}  // namespace

cli::Command launch_command() {
  return cli::command_of<LaunchArguments>(
      {.name = "launch",
       .description =
           "Train on MPI ranks that may die or be added, resuming from the last block with those that are left.\n"
           "The weights do not depend on the number of ranks (see --workers of train). SIGTERM, SIGINT and SIGUSR1 "
           "stop it after the next state is saved, with exit code 0.",
       .examples = "paragrad launch --ranks 3 -- train --workers 8 --strategy bmuf --blocks 5 --data frames.h5 \\\n"
                   "    --model 40-64-120:relu --learning-rate 0.05 --epochs 2 --out runs/elastic"},
      [](LaunchArguments& arguments, const CLI::App&) {
        const auto training = read_training(arguments);
        return training ? Launch(arguments, *training).run() : static_cast<int>(cli::success);
      });
}

}  // namespace paragrad::app
