#include "backend/cuda/cuda_executor.hpp"

#include <stdexcept>
#include <utility>
#include <vector>

#include "backend/gpu_kernels/ends.hpp"

namespace paragrad::backend::cuda {
namespace {

/// Launch parameters of a kernel, whose only argument is the kernel object.
class Parameters {
 public:
  explicit Parameters(const gpu_kernels::Launch& launch) : kernel_(const_cast<std::byte*>(launch.kernel.data())) {
    all_.func = const_cast<void*>(launch.function);
    all_.gridDim = dim3(launch.blocks);
    all_.blockDim = dim3(launch.threads);
    all_.kernelParams = &kernel_;
  }
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;
  const cudaKernelNodeParams* get() const { return &all_; }

 private:
  void* kernel_;
  cudaKernelNodeParams all_{};
};

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const { static_cast<void>(cudaGraphDestroy(graph)); }
};
using Graph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, DestroyGraph>;

struct DestroyGraphExec {
  void operator()(cudaGraphExec_t graph) const { static_cast<void>(cudaGraphExecDestroy(graph)); }
};
using GraphExec = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, DestroyGraphExec>;

class GraphRecording final : public gpu_kernels::CommandGraph {
 public:
  /// nodes: the nodes of `graph` for each call, null for a mark.
  GraphRecording(Graph graph, std::vector<cudaGraphNode_t> nodes, cudaStream_t stream)
      : graph_(std::move(graph)), nodes_(std::move(nodes)), stream_(stream) {
    cudaGraphExec_t exec = nullptr;
    check(cudaGraphInstantiate(&exec, graph_.get(), 0), "creating a CUDA graph");
    exec_.reset(exec);
  }

  void change(std::size_t call, const gpu_kernels::Launch& launch) override {
    check(cudaGraphExecKernelNodeSetParams(exec_.get(), nodes_[call], Parameters(launch).get()), launch.name);
  }

  void launch() override { check(cudaGraphLaunch(exec_.get(), stream_), "a CUDA graph"); }

 private:
  Graph graph_;
  std::vector<cudaGraphNode_t> nodes_;
  cudaStream_t stream_;
  GraphExec exec_;
};

}  // namespace

void CudaExecutor::execute(const gpu_kernels::Call& call) {
  if (const auto* mark = std::get_if<gpu_kernels::Mark>(&call)) return count(*mark);
  if (const auto* product = std::get_if<gpu_kernels::Multiplication>(&call)) return multiply(*product);
  if (const auto* convolution = std::get_if<gpu_kernels::PackedConvolution>(&call)) return convolve(*convolution);
  const auto& launch = std::get<gpu_kernels::Launch>(call);
  const Parameters parameters(launch);
  const cudaKernelNodeParams& p = *parameters.get();
  check(cudaLaunchKernel(p.func, p.gridDim, p.blockDim, p.kernelParams, 0, stream()), launch.name);
}

void CudaExecutor::multiply(const gpu_kernels::Multiplication& product) {
  if (blas_.size() <= branch_) blas_.resize(branch_ + 1);
  std::unique_ptr<GpuBlas>& blas = blas_[branch_];
  if (blas == nullptr) blas = std::make_unique<GpuBlas>(gpu_, device_, stream(), precision_);
  blas->multiply(product);
}

void CudaExecutor::convolve(const gpu_kernels::PackedConvolution& convolution) {
  if (branch_ != 0) throw std::logic_error("convolutions share a workspace, so none may run in a branch of its own");
  convolutions_->run(convolution);
}

bool CudaExecutor::has_convolutions() {
  if (!std::exchange(looked_for_convolutions_, true)) convolutions_ = make_cudnn(gpu_, device_, stream(), precision_);
  return convolutions_ != nullptr;
}

bool CudaExecutor::can_run(const gpu_kernels::PackedConvolution& convolution) {
  return has_convolutions() && convolutions_->can_run(convolution);
}

std::unique_ptr<gpu_kernels::CommandGraph> CudaExecutor::record(std::span<const gpu_kernels::Call> calls) {
  if (is_blocking_) return nullptr;
  cudaGraph_t made = nullptr;
  check(cudaGraphCreate(&made, 0), "creating a CUDA graph");
  Graph graph(made);
  std::vector<cudaGraphNode_t> nodes;
  gpu_kernels::Ends<cudaGraphNode_t> ends;
  for (const gpu_kernels::Call& call : calls) {
    cudaGraphNode_t node = nullptr;
    const std::span<const cudaGraphNode_t> before = ends.before();
    if (const auto* launch = std::get_if<gpu_kernels::Launch>(&call))
      check(cudaGraphAddKernelNode(&node, made, before.data(), before.size(), Parameters(*launch).get()), launch->name);
    else if (const auto* mark = std::get_if<gpu_kernels::Mark>(&call))
      count(*mark);
    else
      node = add_captured(made, before, call);
    nodes.push_back(node);
    if (const auto* mark = std::get_if<gpu_kernels::Mark>(&call))
      ends.pass(*mark);
    else
      ends.add(node);
  }
  return std::make_unique<GraphRecording>(std::move(graph), std::move(nodes), stream());
}

// What a library launches for a product or a convolution is unknown, so it is captured as a child graph.
cudaGraphNode_t CudaExecutor::add_captured(cudaGraph_t graph, std::span<const cudaGraphNode_t> before,
                                           const gpu_kernels::Call& call) {
  constexpr const char* doing = "recording a matrix product or a convolution";
  check(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeThreadLocal), doing);
  try {
    execute(call);
  } catch (...) {
    cudaGraph_t nothing = nullptr;
    static_cast<void>(cudaStreamEndCapture(stream(), &nothing));
    throw;
  }
  cudaGraph_t captured = nullptr;
  check(cudaStreamEndCapture(stream(), &captured), doing);
  const Graph inner(captured);
  cudaGraphNode_t node = nullptr;
  check(cudaGraphAddChildGraphNode(&node, graph, before.data(), before.size(), captured), doing);
  return node;
}

}  // namespace paragrad::backend::cuda
