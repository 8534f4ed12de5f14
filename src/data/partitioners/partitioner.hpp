#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/join.hpp"
#include "core/options.hpp"
#include "core/philox.hpp"
#include "data/partition.hpp"
#include "data/partition_units.hpp"

namespace paragrad::data::partitioners {

/// What is to be divided. Each worker gets at least as many units as there are blocks.
struct Task {
  const PartitionUnits& units;
  std::size_t workers = 1;
  std::size_t blocks = 1;
  std::uint64_t seed = 1;
};

/// With its parameter, in the form in which a data file stores it.
struct Partitioner {
  std::string parameter;
  std::function<Partition(const Task&)> divide;
};

/// A partitioner of partitioners/catalogue.def.
struct Entry {
  core::EntryInfo info;

  /// parameter: the text after the colon. Throws core::OptionError.
  std::function<Partitioner(std::string_view parameter)> make;
};

// <name>_partitioner()
#define PARTITIONER(name) Entry name##_partitioner();
#include "data/partitioners/catalogue.def"
#undef PARTITIONER

/// The units of each worker: together all of them, each once.
using Shares = std::vector<std::vector<std::uint32_t>>;

/// The splits of each worker are its units in a random order, cut into `blocks` parts of about as many samples.
Partition of_shares(const Task& task, Shares shares);

/// The first shares drawn in which each worker has a unit for each of its splits. variates: numbers that a draw takes.
/// Throws ConfigError after 1000 draws, or fewer that take long.
Shares first_that_reaches_everyone(const Task& task, std::size_t variates, const std::function<Shares()>& draw);

/// The units of each label, each label's in a random order.
std::vector<std::vector<std::uint32_t>> by_label(const Task& task);

/// Divides units, in their order, among the shares. parts: of each, with a sum of 1.
void hand_out(std::span<const std::uint32_t> units, const std::vector<double>& parts, Shares& shares);

/// Of a partitioner without a parameter; of one whose parameter is a number, or one of a few words.
template <class Divide>
Entry partitioner(core::EntryInfo info, Divide divide) {
  return {std::move(info), [divide](std::string_view) {
            return Partitioner{"", [divide](const Task& task) { return divide(task); }};
          }};
}

template <class T, class Divide>
Entry partitioner(core::EntryInfo info, const core::Limits<T>& limits, Divide divide) {
  return {
      std::move(info), [limits, divide](std::string_view parameter) {
        const T number = core::parse_number("partition", std::string(parameter), limits);
        return Partitioner{core::format("{}", number), [number, divide](const Task& task) { return divide(task, number); }};
      }};
}

template <class Divide>
Entry partitioner(core::EntryInfo info, const std::vector<std::string>& words, Divide divide) {
  return {std::move(info), [words, divide](std::string_view parameter) {
            const std::string word(parameter);
            if (std::ranges::find(words, word) == words.end())
              throw core::OptionError("partition", core::format("'{}' is none of {}", word, core::join(words, ", ")));
            return Partitioner{word, [word, divide](const Task& task) { return divide(task, word); }};
          }};
}

/// Random numbers, one after the other, for one purpose of a partition.
class Draws {
 public:
  enum class Use : std::uint32_t { order, shares, deals };
  Draws(std::uint64_t seed, Use use) : stream_(seed, core::Purpose::division, static_cast<std::uint32_t>(use)) {}

  double uniform() { return stream_.uniform(next_++); }
  double normal() { return stream_.normal(next_++); }

  /// [count], positive and with a sum of 1: Dirichlet-distributed with these concentrations, which are above 0.
  std::vector<double> dirichlet(const std::vector<double>& concentrations);

 private:
  double log_gamma_variate(double shape);

  core::RandomStream stream_;
  std::uint64_t next_ = 0;
};

}  // namespace paragrad::data::partitioners
