#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "backend/cuda/convolutions.hpp"
#include "backend/cuda/cudnn.hpp"
#include "backend/cuda/gpu.hpp"
#include "core/format.hpp"

namespace paragrad::backend::cuda {
namespace {

using gpu_kernels::PackedConvolution;
using Pass = PackedConvolution::Pass;

constexpr std::size_t cudnn_workspace_floats = std::size_t{1} << 25;  // 128 MiB

void check_cudnn(cudnnStatus_t status, const char* what) {
  if (status != CUDNN_STATUS_SUCCESS)
    throw std::runtime_error(core::format("cuDNN failed in '{}': {}", what, cudnn()->error_string(status)));
}

/// The alignment of an address in bytes, up to the 16 at which cuDNN's kernels are fastest.
std::int64_t cudnn_alignment_of(const float* address) {
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  return static_cast<std::int64_t>(std::min<std::uintptr_t>(number & -number, 16));
}

/// An object of the graph API. Its attributes are set, then it is finalised, which fails for what cuDNN does not support.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    check_cudnn(cudnn()->make_descriptor(type, &handle_), "creating a descriptor");
  }
  ~Descriptor() {
    if (handle_ != nullptr) static_cast<void>(cudnn()->destroy_descriptor(handle_));
  }
  Descriptor(Descriptor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)), is_refused_(other.is_refused_) {}
  Descriptor& operator=(Descriptor&&) = delete;

  cudnnBackendDescriptor_t get() const { return handle_; }

  template <class Value>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::span<const Value> values) {
    if (is_refused_) return;
    is_refused_ = cudnn()->set_attribute(handle_, name, type, static_cast<std::int64_t>(values.size()), values.data()) !=
                  CUDNN_STATUS_SUCCESS;
  }
  template <class Value>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const Value& value) {
    set(name, type, std::span<const Value>(&value, 1));
  }
  void set(cudnnBackendAttributeName_t name, std::span<const std::int64_t> values) { set(name, CUDNN_TYPE_INT64, values); }
  void set(cudnnBackendAttributeName_t name, const Descriptor& part) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, part.get());
  }
  bool finalize() { return !is_refused_ && cudnn()->finalize(handle_) == CUDNN_STATUS_SUCCESS; }

  /// Reads up to values.size() values; returns how many, or nothing if cuDNN does not give them.
  template <class Value>
  std::optional<std::size_t> read(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                  std::span<Value> values) const {
    std::int64_t count = 0;
    const cudnnStatus_t status =
        cudnn()->get_attribute(handle_, name, type, static_cast<std::int64_t>(values.size()), &count, values.data());
    if (status != CUDNN_STATUS_SUCCESS || count < 0) return std::nullopt;
    return std::min(static_cast<std::size_t>(count), values.size());
  }

 private:
  cudnnBackendDescriptor_t handle_ = nullptr;
  bool is_refused_ = false;
};

using Four = std::array<std::int64_t, 4>;

Four whole(std::size_t a, std::size_t b, std::size_t c, std::size_t d) {
  return {static_cast<std::int64_t>(a), static_cast<std::int64_t>(b), static_cast<std::int64_t>(c),
          static_cast<std::int64_t>(d)};
}

/// [count][height][width][channels], of which cuDNN names the sizes in the order count, channels, height, width.
std::optional<Descriptor> tensor(std::int64_t id, std::int64_t alignment, std::size_t count, std::size_t channels,
                                 std::size_t height, std::size_t width) {
  Descriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id);
  made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, alignment);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, whole(count, channels, height, width));
  made.set(CUDNN_ATTR_TENSOR_STRIDES, whole(height * width * channels, 1, width * channels, channels));
  if (!made.finalize()) return std::nullopt;
  return made;
}

std::optional<Descriptor> windows(const ConvolutionShape& shape) {
  const auto two = [](std::size_t down, std::size_t across) {
    return std::array<std::int64_t, 2>{static_cast<std::int64_t>(down), static_cast<std::int64_t>(across)};
  };
  Descriptor made(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  made.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, std::int64_t{2});
  made.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  made.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
  made.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, two(shape.down.stride, shape.across.stride));
  made.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, two(shape.down.dilation, shape.across.dilation));
  made.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, two(shape.down.before, shape.across.before));
  made.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, two(shape.down.after(), shape.across.after()));
  if (!made.finalize()) return std::nullopt;
  return made;
}

enum Id : std::int64_t { images = 1, filters, outputs };

/// The names that the graph API has for the parts of a pass, and which tensors `a`, `b` and `result` are.
struct Names {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t windows, alpha, beta, images, filters, outputs;
  std::array<std::int64_t, 3> ids;  // of a, b, result
};

Names names_of(Pass pass) {
  switch (pass) {
    case Pass::forward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              {images, filters, outputs}};
    case Pass::backward_input:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              {outputs, filters, images}};
    case Pass::backward_weights:
      break;
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
          {images, outputs, filters}};
}

/// What cuDNN's choice of a kernel depends on.
struct Problem {
  Pass pass;
  ConvolutionShape shape;
  float keep;
  std::array<std::int64_t, 3> alignments;  // of a, b, result

  explicit Problem(const PackedConvolution& convolution)
      : pass(convolution.pass),
        shape(convolution.shape),
        keep(convolution.keep),
        alignments{cudnn_alignment_of(convolution.a), cudnn_alignment_of(convolution.b),
                   cudnn_alignment_of(convolution.result)} {}

  auto operator<=>(const Problem&) const = default;

  std::int64_t alignment(std::int64_t id) const {
    const auto ids = names_of(pass).ids;
    return alignments[static_cast<std::size_t>(std::ranges::find(ids, id) - ids.begin())];
  }
};

/// The problem as a graph of one operation. It owns all parts: cuDNN's documentation does not state which of them
/// it copies.
class OperationGraph {
 public:
  static std::optional<OperationGraph> of(cudnnHandle_t handle, const Problem& problem) {
    const ConvolutionShape& shape = problem.shape;
    const Names names = names_of(problem.pass);
    auto x = tensor(images, problem.alignment(images), shape.rows, shape.channels, shape.down.image, shape.across.image);
    auto w = tensor(filters, problem.alignment(filters), shape.outputs, shape.group_channels(), shape.down.window,
                    shape.across.window);
    auto y = tensor(outputs, problem.alignment(outputs), shape.rows, shape.outputs, shape.down.steps, shape.across.steps);
    auto moves = windows(shape);
    if (!x || !w || !y || !moves) return std::nullopt;
    Descriptor operation(names.operation);
    operation.set(names.images, *x);
    operation.set(names.filters, *w);
    operation.set(names.outputs, *y);
    operation.set(names.windows, *moves);
    operation.set(names.alpha, CUDNN_TYPE_FLOAT, 1.f);
    operation.set(names.beta, CUDNN_TYPE_FLOAT, problem.keep);
    if (!operation.finalize()) return std::nullopt;
    Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
    if (!graph.finalize()) return std::nullopt;
    OperationGraph made(std::move(graph));
    for (Descriptor* const part : {&*x, &*w, &*y, &*moves, &operation}) made.parts_.push_back(std::move(*part));
    return made;
  }

  /// Kernels that cuDNN proposes, the best first.
  std::vector<Descriptor> proposals(cudnnBackendHeurMode_t mode) const {
    constexpr std::size_t most = 16;
    Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
    if (!heuristic.finalize()) return {};
    std::vector<Descriptor> found;
    std::vector<cudnnBackendDescriptor_t> handles;
    for (std::size_t i = 0; i < most; ++i) handles.push_back(found.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
    const auto count = heuristic.read(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, std::span(handles));
    while (found.size() > count.value_or(0)) found.pop_back();
    return found;
  }

 private:
  explicit OperationGraph(Descriptor graph) : graph_(std::move(graph)) {}

  std::vector<Descriptor> parts_;
  Descriptor graph_;
};

/// Whether a kernel gives the same bits each time, as exact as the precision promises. What cannot be read, or is unknown
/// here, counts against it.
bool is_faithful(const Descriptor& proposal, Precision precision) {
  const Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t handle = engine.get();
  if (proposal.read(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, std::span(&handle, 1)) != 1) return false;
  std::array<cudnnBackendNumericalNote_t, 2 * CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes{};  // newer versions may have more
  const auto count = engine.read(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                 std::span<cudnnBackendNumericalNote_t>(notes));
  return count && std::ranges::all_of(std::span(notes).first(*count), [&](cudnnBackendNumericalNote_t note) {
           switch (note) {
             case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
               return precision != Precision::fp32;
             case CUDNN_NUMERICAL_NOTE_WINOGRAD:
             case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
             case CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP:
               return true;
             default:
               return false;
           }
         });
}

struct Plan {
  OperationGraph graph;
  Descriptor proposal, executable;
  bool has_workspace;
};

/// The first proposal that is faithful, fits into the workspace and can be built.
std::optional<Plan> plan_for(cudnnHandle_t handle, const Problem& problem, Precision precision) {
  auto graph = OperationGraph::of(handle, problem);
  if (!graph) return std::nullopt;
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK})
    for (Descriptor& proposal : graph->proposals(mode)) {
      if (!is_faithful(proposal, precision)) continue;
      Descriptor executable(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      executable.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
      executable.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, proposal);
      if (!executable.finalize()) continue;
      std::int64_t bytes = 0;
      if (executable.read(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, std::span(&bytes, 1)) != 1) continue;
      if (static_cast<std::size_t>(bytes) <= cudnn_workspace_floats * sizeof(float))
        return Plan{std::move(*graph), std::move(proposal), std::move(executable), bytes > 0};
    }
  return std::nullopt;
}

/// The kernel for a problem is chosen once, by cuDNN's rules and not by timing, so that the same calls give the same bits.
class CudnnConvolutions final : public Convolutions {
 public:
  /// Takes over the handle.
  CudnnConvolutions(cudnnHandle_t handle, int gpu, const void* device, Precision precision)
      : handle_(handle), gpu_(gpu), device_(device), precision_(precision) {}
  ~CudnnConvolutions() override {
    plans_.clear();
    static_cast<void>(cudnn()->destroy(handle_));
  }
  CudnnConvolutions(const CudnnConvolutions&) = delete;
  CudnnConvolutions& operator=(const CudnnConvolutions&) = delete;

  bool can_run(const PackedConvolution& convolution) override {
    const Problem problem(convolution);
    auto known = plans_.find(problem);
    if (known == plans_.end()) known = plans_.emplace(problem, plan_for(handle_, problem, precision_)).first;
    const std::optional<Plan>& plan = known->second;
    if (plan && plan->has_workspace && workspace_.size() == 0)  // once, as recorded graphs keep its address
      workspace_ = allocate_on_gpu(gpu_, device_, cudnn_workspace_floats);
    return plan.has_value();
  }

  void run(const PackedConvolution& convolution) override {
    const std::array<const void*, 3> addresses{convolution.a, convolution.b, convolution.result};
    const void* const workspace = workspace_.span().data();
    Descriptor arguments(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    arguments.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, names_of(convolution.pass).ids);
    arguments.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, std::span<const void* const>(addresses));
    arguments.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
    if (!arguments.finalize()) throw std::runtime_error("cuDNN refused the addresses of a convolution's arrays");
    check_cudnn(cudnn()->execute(handle_, plans_.at(Problem(convolution))->executable.get(), arguments.get()),
                "a convolution");
  }

 private:
  cudnnHandle_t handle_;
  int gpu_;
  const void* device_;
  Precision precision_;
  core::Arena workspace_;                         // empty until a plan needs it
  std::map<Problem, std::optional<Plan>> plans_;  // none: cuDNN has no kernel for it
};

}  // namespace

std::unique_ptr<Convolutions> make_cudnn(int gpu, const void* device, cudaStream_t stream, Precision precision) {
  cudnnHandle_t handle = nullptr;
  if (cudnn() == nullptr || cudnn()->create(&handle) != CUDNN_STATUS_SUCCESS) return nullptr;
  auto made = std::make_unique<CudnnConvolutions>(handle, gpu, device, precision);
  check_cudnn(cudnn()->set_stream(handle, stream), "setting cuDNN's stream");
  return made;
}

}  // namespace paragrad::backend::cuda
