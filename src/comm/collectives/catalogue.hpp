#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "comm/allreduce.hpp"
#include "comm/collectives/cost_model.hpp"
#include "comm/operations.hpp"
#include "core/options.hpp"

namespace paragrad::comm::collectives {

/// An algorithm of collectives/catalogue.def: what it is, and how it performs each operation that it serves.
struct Entry {
  /// formula: the closed form of each operation's time, a line each: "all_gather: (N-1)*(L + n/N/B)".
  core::EntryInfo info;

  /// parameters: the text after the colon, "" if there is none.
  std::function<std::unique_ptr<Allreduce>(std::string_view parameters)> allreduce{};
  ReduceScatter::Function* reduce_scatter = nullptr;
  AllGather::Function* all_gather = nullptr;
  Broadcast::Function* broadcast = nullptr;
  AllToAll::Function* all_to_all = nullptr;

  /// The closed form of each operation that it serves; null if there is none.
  Cost (*cost)(Operation, const CostModel&) = nullptr;

  std::optional<Library> library{};  ///< the library whose routine this is; nothing for our own algorithms

  bool serves(Operation operation) const;
};

// <name>_entry(), each in the file of the algorithm
#define COLLECTIVE(name) Entry name##_entry();
#include "comm/collectives/catalogue.def"
#undef COLLECTIVE

/// Makes an allreduce that takes no parameters.
template <class Algorithm>
std::unique_ptr<Allreduce> make_plain(std::string_view) {
  return std::make_unique<Algorithm>();
}

}  // namespace paragrad::comm::collectives

namespace paragrad::comm {

const std::vector<collectives::Entry>& algorithms();

}  // namespace paragrad::comm
