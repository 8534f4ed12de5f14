#include "train/state/rescale.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::train {
namespace {

[[noreturn]] void refuse(const std::string& name, const WorkerChange& change, const std::string& why) {
  throw core::ConfigError(
      core::format("cannot rescale from {} to {} workers: '{}' {}", change.before, change.now, name, why));
}

/// An array of this worker while the states of the workers before are read.
class RescaledArray {
 public:
  RescaledArray(const core::StateView::Array& wanted, const WorkerChange& change)
      : wanted_(wanted), change_(change), sums_(wanted.values.size()), known_(wanted.values.size()) {}

  void take(const SavedState& state, int worker) {
    const auto found = state.arrays().find(wanted_.name);
    if (found == state.arrays().end()) {
      if (wanted_.rescale == core::Rescale::pieces || (wanted_.rescale == core::Rescale::equal && worker > 0)) return;
      refuse(wanted_.name, change_, "was not saved, because it had no meaning for the old number");
    }
    const std::vector<float>& values = found->second;
    if (wanted_.rescale == core::Rescale::pieces) return take_pieces(values, state.pieces(wanted_.name));
    if (wanted_.rescale == core::Rescale::equal && worker > 0) return;
    if (values.size() != sums_.size())
      refuse(wanted_.name, change_, core::format("has {} elements instead of {}", values.size(), sums_.size()));
    for (std::size_t i = 0; i < values.size(); ++i) sums_[i] += static_cast<double>(values[i]);
    known_.assign(known_.size(), true);
  }

  std::vector<float> result() const {
    if (std::ranges::find(known_, false) != known_.end()) refuse(wanted_.name, change_, "was not saved completely");
    const double share = wanted_.rescale == core::Rescale::mean  ? change_.before
                         : wanted_.rescale == core::Rescale::sum ? change_.now
                                                                 : 1;
    std::vector<float> values(sums_.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(sums_[i] / share);
    return values;
  }

 private:
  /// Copies what the pieces of both workers have in common.
  void take_pieces(const std::vector<float>& values, const std::vector<core::Range>& pieces) {
    std::size_t to = 0;
    for (const core::Range mine : wanted_.pieces) {
      std::size_t from = 0;
      for (const core::Range theirs : pieces) {
        const std::size_t begin = std::max(mine.begin, theirs.begin), end = std::min(mine.end, theirs.end);
        for (std::size_t i = begin; i < end; ++i) {
          sums_[to + (i - mine.begin)] = static_cast<double>(values.at(from + (i - theirs.begin)));
          known_[to + (i - mine.begin)] = true;
        }
        from += theirs.size();
      }
      to += mine.size();
    }
  }

  const core::StateView::Array& wanted_;
  const WorkerChange& change_;
  std::vector<double> sums_;
  std::vector<bool> known_;
};

/// A worker's share of a sum: counts stay whole numbers.
double share_of(double sum, const WorkerChange& change) {
  const double before = change.rank * sum / change.now, after = (change.rank + 1) * sum / change.now;
  return sum == std::floor(sum) ? std::floor(after) - std::floor(before) : after - before;
}

double rescaled_number(const core::StateView::Number& wanted, const WorkerChange& change, double first, double sum) {
  switch (wanted.rescale) {
    case core::Rescale::mean:
      return sum / change.before;
    case core::Rescale::sum:
      return share_of(sum, change);
    default:
      return first;
  }
}

/// Parts that only some numbers of workers have: with one worker many strategies have nothing to exchange.
void check_parts(const core::StateView& wanted, const WorkerChange& change, const SavedState& first) {
  const auto is_wanted = [&](const std::string& name) {
    return std::ranges::any_of(wanted.arrays, [&](const auto& array) { return array.name == name; });
  };
  for (const auto& [name, values] : first.arrays())
    if (change.rank == 0 && !is_wanted(name)) refuse(name, change, "has no meaning for the new number");
  for (const auto& number : wanted.numbers)
    if (!first.numbers().contains(number.name))
      refuse(number.name, change, "was not saved, because it had no meaning for the old number");
}

void check_rules(const core::StateView& wanted, const WorkerChange& change) {
  const auto check = [&](const auto& part) {
    if (part.rescale == core::Rescale::own) refuse(part.name, change, "belongs to each worker");
  };
  std::ranges::for_each(wanted.arrays, check);
  std::ranges::for_each(wanted.numbers, check);
}

}  // namespace

SavedState rescaled(const core::StateView& wanted, const WorkerChange& change,
                    const std::function<SavedState(int worker)>& read) {
  check_rules(wanted, change);
  std::vector<RescaledArray> arrays;
  for (const auto& array : wanted.arrays) arrays.emplace_back(array, change);
  std::vector<double> firsts, sums(wanted.numbers.size());
  for (int worker = 0; worker < change.before; ++worker) {
    const SavedState state = read(worker);
    if (worker == 0) check_parts(wanted, change, state);
    for (RescaledArray& array : arrays) array.take(state, worker);
    for (std::size_t i = 0; i < wanted.numbers.size(); ++i) {
      const double value = state.number(wanted.numbers[i].name);
      if (worker == 0) firsts.push_back(value);
      sums[i] += value;
    }
  }
  SavedState result;
  for (std::size_t i = 0; i < arrays.size(); ++i) result.set(wanted.arrays[i].name, arrays[i].result());
  for (std::size_t i = 0; i < sums.size(); ++i)
    result.set(wanted.numbers[i].name, rescaled_number(wanted.numbers[i], change, firsts[i], sums[i]));
  return result;
}

std::vector<std::string> rules_of(const core::StateView& state) {
  std::vector<std::string> lines;
  for (const auto& [rescale, rule] :
       {std::pair(core::Rescale::mean, "mean of the workers"),
        std::pair(core::Rescale::sum, "sum of the workers, in equal shares"),
        std::pair(core::Rescale::pieces, "cut into other pieces"), std::pair(core::Rescale::equal, "unchanged")}) {
    std::string names;
    for (const auto& array : state.arrays)
      if (array.rescale == rescale) names += (names.empty() ? "" : ", ") + array.name;
    if (!names.empty()) lines.push_back(core::format("  {}: {}", names, rule));
  }
  return lines;
}

}  // namespace paragrad::train
