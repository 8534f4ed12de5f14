// CUDA's graphs.
#include <algorithm>
#include <map>

#include "tests/gpu/fake_cuda/gpu.hpp"

using namespace paragrad::fake_cuda;

namespace paragrad::fake_cuda {
namespace {

/// Nodes in a valid execution order, with the indices of their dependencies.
struct Steps {
  std::vector<Work> works;
  std::vector<std::vector<std::size_t>> before;
  std::map<cudaGraphNode_t, std::size_t> of_node;

  using Numbers = std::vector<std::size_t>;

  /// Adds a graph after some steps; returns its ends.
  Numbers add(const CUgraph_st& graph, const Numbers& start) {
    std::map<const CUgraphNode_st*, Numbers> ends;
    std::map<const CUgraphNode_st*, bool> is_last;
    for (const auto& node : graph.nodes) {
      Numbers ready = node->before.empty() ? start : Numbers{};
      for (const CUgraphNode_st* other : node->before) {
        ready.insert(ready.end(), ends.at(other).begin(), ends.at(other).end());
        is_last[other] = false;
      }
      is_last[node.get()] = true;
      ends[node.get()] = node->child ? add(*node->child, ready) : add(*node, std::move(ready));
    }
    Numbers last;
    for (const auto& [node, is] : is_last)
      if (is) last.insert(last.end(), ends[node].begin(), ends[node].end());
    return graph.nodes.empty() ? start : last;
  }

  /// Whether all nodes that share a workspace are ordered.
  bool share_no_workspace() const {
    std::vector<std::vector<bool>> reached(works.size(), std::vector<bool>(works.size()));
    std::map<const void*, std::vector<std::size_t>> users;
    for (std::size_t i = 0; i < works.size(); ++i) {
      for (const std::size_t other : before[i]) {
        reached[i][other] = true;
        for (std::size_t j = 0; j < other; ++j)
          if (reached[other][j]) reached[i][j] = true;
      }
      if (works[i].workspace == nullptr) continue;
      for (const std::size_t user : users[works[i].workspace])
        if (!reached[i][user]) return false;
      users[works[i].workspace].push_back(i);
    }
    return true;
  }

  /// Runs the nodes in a random valid order.
  void run() const {
    std::vector<std::size_t> missing(works.size());
    std::vector<Numbers> after(works.size());
    Numbers ready;
    for (std::size_t i = 0; i < works.size(); ++i) {
      missing[i] = before[i].size();
      for (const std::size_t other : before[i]) after[other].push_back(i);
      if (missing[i] == 0) ready.push_back(i);
    }
    while (!ready.empty()) {
      std::swap(ready[Machine::get().random() % ready.size()], ready.back());
      const std::size_t next = ready.back();
      ready.pop_back();
      works[next].run();
      for (const std::size_t other : after[next])
        if (--missing[other] == 0) ready.push_back(other);
    }
  }

 private:
  Numbers add(const CUgraphNode_st& node, Numbers ready) {
    of_node[const_cast<cudaGraphNode_t>(&node)] = works.size();
    works.push_back(node.work);
    before.push_back(std::move(ready));
    return {works.size() - 1};
  }
};

}  // namespace

cudaError_t make_work(const void* function, dim3 blocks, dim3 threads, void** parameters, Work& work) {
  const auto& kernel = *static_cast<const Kernel*>(function);
  if (kernel.name == Machine::get().settings.refused) return cudaErrorLaunchOutOfResources;
  if (blocks.x == 0 || threads.x == 0 || threads.x > 1024) return cudaErrorInvalidConfiguration;
  const auto* const object = static_cast<const std::byte*>(parameters[0]);
  work.run = [&kernel, blocks = blocks.x, given = std::vector<std::byte>(object, object + kernel.bytes)] {
    if (kernel.name == Machine::get().settings.faulting) Machine::get().fault = cudaErrorIllegalAddress;
    kernel.run(given.data(), blocks, Machine::get().random() % 2 == 0);
  };
  return cudaSuccess;
}

}  // namespace paragrad::fake_cuda

struct CUgraphExec_st {
  int gpu;
  Steps steps;
};

extern "C" {

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) {
  *graph = new CUgraph_st;
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                   std::size_t count, const cudaKernelNodeParams* p) {
  const Lock lock(Machine::get().mutex);
  Work work;
  if (const cudaError_t error = make_work(p->func, p->gridDim, p->blockDim, p->kernelParams, work); error != cudaSuccess)
    return error;
  *node = graph->add({std::move(work), {before, before + count}});
  return cudaSuccess;
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                       std::size_t count, cudaGraph_t child) {
  // A copy, as the child may be destroyed; handles of its nodes are not needed.
  auto copy = std::make_shared<CUgraph_st>();
  std::map<const CUgraphNode_st*, cudaGraphNode_t> copies;
  for (const auto& each : child->nodes) {
    cudaGraphNode_t const added = copy->add(*each);
    for (cudaGraphNode_t& other : added->before) other = copies.at(other);
    copies[each.get()] = added;
  }
  *node = graph->add({Work{}, {before, before + count}, std::move(copy)});
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  const Lock lock(Machine::get().mutex);
  auto made = std::make_unique<CUgraphExec_st>(CUgraphExec_st{current_gpu(), {}});
  made->steps.add(*graph, {});
  if (!made->steps.share_no_workspace()) return cudaErrorIllegalAddress;
  *exec = made.release();
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  return cudaSuccess;
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const cudaKernelNodeParams* p) {
  const Lock lock(Machine::get().mutex);
  return make_work(p->func, p->gridDim, p->blockDim, p->kernelParams, exec->steps.works[exec->steps.of_node.at(node)]);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  const Lock lock(Machine::get().mutex);
  if (stream->gpu != current_gpu() || exec->gpu != stream->gpu) return cudaErrorInvalidResourceHandle;
  Machine::get().enqueue(stream, {[now = exec->steps] { now.run(); }});
  return Machine::get().fault;
}

}  // extern "C"
