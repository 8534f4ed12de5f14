// cuDNN's graph API, for graphs of one convolution. Most of the engines it proposes are unsuitable and compute wrong
// results.
#include "backend/cuda/cudnn.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "tests/gpu/fake_cuda/gpu.hpp"

using namespace paragrad::fake_cuda;

struct cudnnContext {
  cudaStream_t stream = nullptr;
};

namespace paragrad::fake_cuda {
namespace {

using Four = std::array<std::int64_t, 4>;
using Two = std::array<std::int64_t, 2>;

/// An object of the graph API: its attributes as bytes.
struct Descriptor {
  cudnnBackendDescriptorType_t type;
  std::map<int, std::vector<std::byte>> attributes{};
  bool is_final = false;
  int engine = -1;  // of engines, their configurations and plans

  template <class Value>
  bool has(cudnnBackendAttributeName_t name, std::size_t count = 1) const {
    const auto found = attributes.find(name);
    return found != attributes.end() && found->second.size() == count * sizeof(Value);
  }
  template <class Value>
  Value get(cudnnBackendAttributeName_t name) const {
    Value value;
    std::memcpy(&value, attributes.at(name).data(), sizeof value);
    return value;
  }
  const Descriptor& part(cudnnBackendAttributeName_t name) const { return *get<const Descriptor*>(name); }
};

enum Engine { nondeterministic, on_tensor_cores, impossible, unknown, silent, too_large, suitable };

std::int64_t workspace_of(int engine) { return engine == too_large ? std::int64_t{1} << 40 : 4096; }

/// Names of the attributes of an operation.
struct Operation {
  cudnnBackendAttributeName_t windows, alpha, beta, x, w, y;
};

Operation names_of(cudnnBackendDescriptorType_t type) {
  if (type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR)
    return {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y};
  if (type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR)
    return {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY};
  return {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY};
}

struct Tensor {
  std::int64_t id, alignment;
  Four sizes, strides;  // of samples, channels, rows, columns

  explicit Tensor(const Descriptor& from)
      : id(from.get<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID)),
        alignment(from.get<std::int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT)),
        sizes(from.get<Four>(CUDNN_ATTR_TENSOR_DIMENSIONS)),
        strides(from.get<Four>(CUDNN_ATTR_TENSOR_STRIDES)) {}

  std::int64_t size() const { return sizes[0] * sizes[1] * sizes[2] * sizes[3]; }
  std::int64_t at(std::int64_t n, std::int64_t c, std::int64_t i, std::int64_t j) const {
    return n * strides[0] + c * strides[1] + i * strides[2] + j * strides[3];
  }
};

struct Convolution {
  cudnnBackendDescriptorType_t type;
  Tensor x, w, y;
  Two stride, dilation, before, after;
  float beta;
  int engine = suitable;

  explicit Convolution(const Descriptor& operation)
      : type(operation.type),
        x(operation.part(names_of(type).x)),
        w(operation.part(names_of(type).w)),
        y(operation.part(names_of(type).y)),
        stride(windows(operation).get<Two>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES)),
        dilation(windows(operation).get<Two>(CUDNN_ATTR_CONVOLUTION_DILATIONS)),
        before(windows(operation).get<Two>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS)),
        after(windows(operation).get<Two>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS)),
        beta(operation.get<float>(names_of(type).beta)) {}

  static const Descriptor& windows(const Descriptor& operation) { return operation.part(names_of(operation.type).windows); }

  bool is_consistent() const {
    for (std::size_t side : {0u, 1u}) {
      const std::int64_t covered = dilation[side] * (w.sizes[side + 2] - 1) + 1;
      const std::int64_t steps = (x.sizes[side + 2] + before[side] + after[side] - covered) / stride[side] + 1;
      if (y.sizes[side + 2] != steps) return false;
    }
    return x.sizes[0] == y.sizes[0] && w.sizes[0] == y.sizes[1] && x.sizes[1] % w.sizes[1] == 0;
  }

  /// Calls with(place in x, place in w, place in y) for every product of the convolution.
  template <class With>
  void for_products(const With& with) const {
    const std::int64_t group_outputs = y.sizes[1] / (x.sizes[1] / w.sizes[1]);
    for (std::int64_t n = 0; n < y.sizes[0]; ++n)
      for (std::int64_t k = 0; k < y.sizes[1]; ++k)
        for (std::int64_t p = 0; p < y.sizes[2]; ++p)
          for (std::int64_t q = 0; q < y.sizes[3]; ++q)
            for (std::int64_t r = 0; r < w.sizes[2]; ++r)
              for (std::int64_t s = 0; s < w.sizes[3]; ++s) {
                const std::int64_t i = p * stride[0] - before[0] + r * dilation[0];
                const std::int64_t j = q * stride[1] - before[1] + s * dilation[1];
                if (i < 0 || j < 0 || i >= x.sizes[2] || j >= x.sizes[3]) continue;
                for (std::int64_t c = 0; c < w.sizes[1]; ++c)
                  with(x.at(n, k / group_outputs * w.sizes[1] + c, i, j), w.at(k, c, r, s), y.at(n, k, p, q));
              }
  }

  void run(float* of_x, float* of_w, float* of_y) const {
    const bool forward = type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
    const bool to_input = type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
    float* const result = forward ? of_y : to_input ? of_x : of_w;
    std::vector<float> sums(static_cast<std::size_t>((forward ? y : to_input ? x : w).size()));
    const auto factor = [this](float x) {  // on tensor cores with 10 bits of mantissa
      return engine == on_tensor_cores ? std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xFFFFE000) : x;
    };
    for_products([&](std::int64_t i, std::int64_t j, std::int64_t k) {
      if (forward)
        sums[static_cast<std::size_t>(k)] += factor(of_x[i]) * factor(of_w[j]);
      else if (to_input)
        sums[static_cast<std::size_t>(i)] += factor(of_y[k]) * factor(of_w[j]);
      else
        sums[static_cast<std::size_t>(j)] += factor(of_x[i]) * factor(of_y[k]);
    });
    if (engine != suitable && engine != on_tensor_cores) std::ranges::fill(sums, 12345.f);
    for (std::size_t i = 0; i < sums.size(); ++i) result[i] = beta == 0 ? sums[i] : sums[i] + beta * result[i];
  }
};

Descriptor& descriptor_of(cudnnBackendDescriptor_t handle) { return *static_cast<Descriptor*>(handle); }

cudnnStatus_t create(cudnnHandle_t* handle) {
  const Lock lock(Machine::get().mutex);
  if (spoils_capture()) return CUDNN_STATUS_INTERNAL_ERROR;
  *handle = new cudnnContext;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t destroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t set_stream(cudnnHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

const char* error_string(cudnnStatus_t) { return "a status of the fake cuDNN"; }

cudnnStatus_t make_descriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* handle) {
  *handle = new Descriptor{type};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t destroy_descriptor(cudnnBackendDescriptor_t handle) {
  delete &descriptor_of(handle);
  return CUDNN_STATUS_SUCCESS;
}

std::size_t size_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_INT64:
      return sizeof(std::int64_t);
    case CUDNN_TYPE_FLOAT:
      return sizeof(float);
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return sizeof(void*);
    default:
      return sizeof(int);  // an enumeration
  }
}

cudnnStatus_t set_attribute(cudnnBackendDescriptor_t handle, cudnnBackendAttributeName_t name,
                            cudnnBackendAttributeType_t type, std::int64_t count, const void* values) {
  Descriptor& descriptor = descriptor_of(handle);
  if (descriptor.is_final) return CUDNN_STATUS_BAD_PARAM;
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR && !(*static_cast<Descriptor* const*>(values))->is_final)
    return CUDNN_STATUS_BAD_PARAM;
  const auto* const bytes = static_cast<const std::byte*>(values);
  descriptor.attributes[name].assign(bytes, bytes + static_cast<std::size_t>(count) * size_of(type));
  return CUDNN_STATUS_SUCCESS;
}

bool is_complete_tensor(const Descriptor& descriptor) {
  return descriptor.has<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID) &&
         descriptor.has<std::int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT) &&
         descriptor.has<int>(CUDNN_ATTR_TENSOR_DATA_TYPE) && descriptor.has<Four>(CUDNN_ATTR_TENSOR_DIMENSIONS) &&
         descriptor.has<Four>(CUDNN_ATTR_TENSOR_STRIDES);
}

bool has_windows(const Descriptor& descriptor) {
  return descriptor.has<std::int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS) &&
         descriptor.has<int>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE) && descriptor.has<int>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) &&
         descriptor.get<int>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) == CUDNN_CROSS_CORRELATION &&
         descriptor.has<Two>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES) &&
         descriptor.has<Two>(CUDNN_ATTR_CONVOLUTION_DILATIONS) && descriptor.has<Two>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS) &&
         descriptor.has<Two>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
}

bool is_complete_operation(const Descriptor& descriptor) {
  const Operation names = names_of(descriptor.type);
  for (const auto name : {names.windows, names.x, names.w, names.y})
    if (!descriptor.has<void*>(name)) return false;
  return descriptor.has<float>(names.alpha) && descriptor.get<float>(names.alpha) == 1 &&
         descriptor.has<float>(names.beta) && Convolution(descriptor).is_consistent();
}

cudnnStatus_t finalize(cudnnBackendDescriptor_t handle) {
  Descriptor& descriptor = descriptor_of(handle);
  const auto status = [&](bool is_good) {
    descriptor.is_final = is_good;
    return is_good ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
  };
  switch (descriptor.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return status(is_complete_tensor(descriptor));
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      return status(has_windows(descriptor));
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return status(is_complete_operation(descriptor));
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return status(descriptor.has<void*>(CUDNN_ATTR_OPERATIONGRAPH_HANDLE) &&
                    descriptor.has<void*>(CUDNN_ATTR_OPERATIONGRAPH_OPS));
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      return status(descriptor.has<void*>(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH) &&
                    descriptor.has<int>(CUDNN_ATTR_ENGINEHEUR_MODE));
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: {
      if (!descriptor.has<void*>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE) ||
          !descriptor.has<void*>(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG))
        return status(false);
      const Descriptor& proposal = descriptor.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
      descriptor.engine = proposal.engine;
      descriptor.attributes = proposal.attributes;
      return status(descriptor.engine != impossible);
    }
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      return status(descriptor.has<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, 3) &&
                    descriptor.has<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE) &&
                    descriptor.has<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, 3));
    default:
      return status(false);
  }
}

template <class Value>
cudnnStatus_t give(const Value& value, std::int64_t* count, void* values) {
  *count = 1;
  std::memcpy(values, &value, sizeof value);
  return CUDNN_STATUS_SUCCESS;
}

/// Each proposal gets a copy of the operation, as the attribute -1.
cudnnStatus_t propose(const Descriptor& heuristic, std::int64_t most, std::int64_t* count, void* values) {
  const Convolution convolution(heuristic.part(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH).part(CUDNN_ATTR_OPERATIONGRAPH_OPS));
  const bool is_first = heuristic.get<int>(CUDNN_ATTR_ENGINEHEUR_MODE) == CUDNN_HEUR_MODE_A;
  std::vector<int> engines = is_first ? std::vector<int>{nondeterministic, on_tensor_cores, impossible, unknown}
                                      : std::vector<int>{silent, too_large, suitable};
  if (convolution.before != convolution.after) engines.clear();  // like most of cuDNN's
  *count = static_cast<std::int64_t>(engines.size());
  if (*count > most) return CUDNN_STATUS_BAD_PARAM;
  for (std::size_t i = 0; i < engines.size(); ++i) {
    Descriptor& proposal = descriptor_of(static_cast<cudnnBackendDescriptor_t*>(values)[i]);
    proposal.engine = engines[i];
    proposal.is_final = true;
    const auto* const bytes = reinterpret_cast<const std::byte*>(&convolution);
    proposal.attributes[-1].assign(bytes, bytes + sizeof convolution);
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t get_attribute(cudnnBackendDescriptor_t handle, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t,
                            std::int64_t most, std::int64_t* count, void* values) {
  const Descriptor& descriptor = descriptor_of(handle);
  if (!descriptor.is_final) return CUDNN_STATUS_BAD_PARAM;
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
      return propose(descriptor, most, count, values);
    case CUDNN_ATTR_ENGINECFG_ENGINE: {
      Descriptor& engine = descriptor_of(*static_cast<cudnnBackendDescriptor_t*>(values));
      engine.engine = descriptor.engine;
      engine.is_final = true;
      *count = 1;
      return CUDNN_STATUS_SUCCESS;
    }
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
      *count = 0;
      if (descriptor.engine == nondeterministic) return give(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC, count, values);
      if (descriptor.engine == on_tensor_cores) return give(CUDNN_NUMERICAL_NOTE_TENSOR_CORE, count, values);
      if (descriptor.engine == unknown) return give(CUDNN_NUMERICAL_NOTE_TYPE_COUNT, count, values);  // of a newer version
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      if (descriptor.engine == silent) return CUDNN_STATUS_NOT_SUPPORTED;
      return give(workspace_of(descriptor.engine), count, values);
    default:
      return CUDNN_STATUS_NOT_SUPPORTED;
  }
}

cudnnStatus_t execute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan_handle, cudnnBackendDescriptor_t pack_handle) {
  const Lock lock(Machine::get().mutex);
  const Descriptor &plan = descriptor_of(plan_handle), &pack = descriptor_of(pack_handle);
  if (!plan.is_final || !pack.is_final) return CUDNN_STATUS_BAD_PARAM;
  if (handle->stream->gpu != current_gpu()) return CUDNN_STATUS_EXECUTION_FAILED;
  alignas(Convolution) std::byte bytes[sizeof(Convolution)];
  std::ranges::copy(plan.attributes.at(-1), bytes);
  Convolution convolution = *reinterpret_cast<const Convolution*>(bytes);
  convolution.engine = plan.engine;
  const auto ids = pack.get<std::array<std::int64_t, 3>>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto addresses = pack.get<std::array<float*, 3>>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  void* const workspace = pack.get<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  if (!Machine::get().is_of_gpu(workspace, static_cast<std::size_t>(workspace_of(plan.engine))))
    return CUDNN_STATUS_BAD_PARAM;
  std::array<float*, 3> places{};  // of x, w, y
  for (std::size_t t = 0; t < 3; ++t) {
    const Tensor& tensor = t == 0 ? convolution.x : t == 1 ? convolution.w : convolution.y;
    for (std::size_t i = 0; i < 3; ++i)
      if (ids[i] == tensor.id) places[t] = addresses[i];
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(places[t]) % static_cast<std::uintptr_t>(tensor.alignment) == 0;
    if (!is_aligned || !Machine::get().is_of_gpu(places[t], static_cast<std::size_t>(tensor.size()) * sizeof(float)))
      return CUDNN_STATUS_BAD_PARAM;
  }
  Machine::get().enqueue(handle->stream, {[=] { convolution.run(places[0], places[1], places[2]); }, workspace});
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace
}  // namespace paragrad::fake_cuda

namespace paragrad::backend::cuda {

const Cudnn* cudnn() {
  static constexpr Cudnn fake{
      nullptr,        &create,        &destroy,  &set_stream, &error_string, &make_descriptor, &destroy_descriptor,
      &set_attribute, &get_attribute, &finalize, &execute};
  return Machine::get().settings.has_cudnn ? &fake : nullptr;
}

}  // namespace paragrad::backend::cuda
