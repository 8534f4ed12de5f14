#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "backend/gpu_kernels/command_graph.hpp"

namespace paragrad::backend::gpu_kernels {

/// Walks through calls and tracks which ones each call depends on. Node represents a call.
template <class Node>
class Ends {
 public:
  /// The dependencies of the next call.
  std::span<const Node> before() const { return now_; }

  void add(Node node) { now_ = {node}; }

  void pass(Mark mark) {
    if (mark == Mark::fork) {
      start_ = now_;
      return;
    }
    for (const Node& end : now_)  // an empty branch ends at the start of the fork, as others may
      if (std::ranges::find(of_branches_, end) == of_branches_.end()) of_branches_.push_back(end);
    now_ = mark == Mark::next ? start_ : std::exchange(of_branches_, {});
  }

 private:
  std::vector<Node> now_;          // the ends of the current branch
  std::vector<Node> start_;        // of the fork
  std::vector<Node> of_branches_;  // that are complete
};

}  // namespace paragrad::backend::gpu_kernels
