#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "backend/gpu_kernels/command_graph.hpp"

namespace paragrad::backend::gpu_kernels {

/// Walks through calls and knows at each which ones must be done before it. Node stands for a call.
template <class Node>
class Ends {
 public:
  /// What the next call has to wait for.
  std::span<const Node> before() const { return now_; }

  void add(Node node) { now_ = {node}; }

  void pass(Mark mark) {
    if (mark == Mark::fork) {
      start_ = now_;
      return;
    }
    for (const Node& end : now_)  // a branch without calls ends where the fork began, as another may
      if (std::ranges::find(of_branches_, end) == of_branches_.end()) of_branches_.push_back(end);
    now_ = mark == Mark::next ? start_ : std::exchange(of_branches_, {});
  }

 private:
  std::vector<Node> now_;          // the ends of what was passed last
  std::vector<Node> start_;        // of the fork
  std::vector<Node> of_branches_;  // that are complete
};

}  // namespace paragrad::backend::gpu_kernels
