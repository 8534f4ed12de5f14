// The device cuda on fake GPUs on the host: handling of errors, and proof that the fake GPUs detect mistakes.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "backend/copy_stream.hpp"
#include "backend/cuda/cuda_executor.hpp"
#include "backend/device_array.hpp"
#include "backend/kernels/add.hpp"
#include "backend/kernels/affine.hpp"
#include "backend/kernels/clamp.hpp"
#include "backend/kernels/convolution.hpp"
#include "backend/kernels/fill.hpp"
#include "backend/kernels/gemm.hpp"
#include "backend/kernels/scale.hpp"
#include "catch.hpp"
#include "core/errors.hpp"
#include "tests/backend/support.hpp"
#include "tests/gpu/fake_cuda/gpu.hpp"

using namespace paragrad;
using namespace paragrad::backend;

namespace {

/// Configures the fake GPUs for the duration of a test.
class FakeGpus {
 public:
  explicit FakeGpus(const std::string& settings) : machine_(fake_cuda::Machine::get()), before_(machine_.settings) {
    machine_.set(fake_cuda::parse_settings(settings));
  }
  ~FakeGpus() {
    machine_.set(before_);
    cudaSetDevice(0);
  }
  FakeGpus(const FakeGpus&) = delete;
  FakeGpus& operator=(const FakeGpus&) = delete;

  std::vector<int> contexts() const { return {machine_.contexts.begin(), machine_.contexts.end()}; }

 private:
  fake_cuda::Machine& machine_;
  fake_cuda::Settings before_;
};

template <class Error = std::exception>
std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

std::string refusal(const std::function<void()>& call) { return error_of<core::ConfigError>(call); }

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The same products and kernels several times; the second time they are recorded.
void use(Device& device, core::Arena& memory, int rounds = 4) {
  for (int round = 0; round < rounds; ++round) {
    const auto a = memory.span().subspan(0, 16), b = memory.span().subspan(16, 16), c = memory.span().subspan(32, 16);
    device.run(Fill{0.5f + static_cast<float>(round), a});
    device.run(Gemm{Transpose::no, Transpose::yes, 4, 4, 4, a, b, 0, c});
    device.run(Scale{0.5f, c});
    device.run(Add{c, b});
    device.run(Clamp{3, b});
    device.submit();
  }
}

}  // namespace

TEST_CASE("without a GPU, and without a driver for it, the device cuda says what to do", "[gpu]") {
  const auto make = [] { make_device("cuda"); };
  {
    const FakeGpus gpus("gpus=0");
    CHECK(has(refusal(make),
              "this machine has no usable NVIDIA GPU (no CUDA-capable device is detected): choose the device cpu"));
  }
  const FakeGpus gpus("gpus=-1");
  CHECK(has(refusal(make), "the NVIDIA driver is missing or older than the CUDA toolkit of this build"));
}

TEST_CASE("memory that a GPU lacks is refused with how much was wanted and how many workers fit", "[gpu]") {
  const FakeGpus gpus("megabytes=256");
  const auto workers = [](std::size_t count) {
    std::vector<std::unique_ptr<Device>> devices;
    std::vector<core::Arena> models;
    return refusal([&] {
      for (std::size_t i = 0; i < count; ++i)
        models.push_back(devices.emplace_back(make_device("cuda"))->allocate(12'500'000));  // 50 MB
    });
  };
  const std::string said = workers(8);
  CHECK(has(said, "50 MB more are needed, but of the GPU's 268 MB only 18 are free; at most 5 emulated workers fit"));
  CHECK(workers(5) == "none");
  CHECK(has(workers(6), "at most 5 emulated workers fit"));
  CHECK(has(refusal([] { make_device("cuda")->allocate(100'000'000); }), "not one worker fits"));
}

TEST_CASE("whoever is refused memory, all are told how many workers fit", "[gpu]") {
  const FakeGpus gpus("megabytes=256");
  for (int round = 0; round < 20; ++round) {
    std::vector<std::unique_ptr<Device>> devices;
    for (int i = 0; i < 8; ++i) devices.push_back(make_device("cuda"));
    std::vector<core::Arena> memory(devices.size());
    std::vector<std::string> said(devices.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < devices.size(); ++i)
      threads.emplace_back([&, i] { said[i] = refusal([&] { memory[i] = devices[i]->allocate(10'000'000); }); });
    for (std::thread& thread : threads) thread.join();
    CHECK(std::count(said.begin(), said.end(), "none") == 6);
    CHECK(std::count_if(said.begin(), said.end(), [](const auto& text) { return has(text, "at most 6 emulated"); }) == 2);
  }
}

TEST_CASE("a kernel that does not start is named, by itself and in a graph", "[gpu]") {
  FakeGpus gpus("");
  const auto device = make_device("cuda");
  core::Arena memory = device->allocate(48);
  use(*device, memory, GENERATE(0, 1));
  fake_cuda::Machine::get().settings.refused = "scale";
  CHECK_THROWS_WITH(use(*device, memory, 1), "the GPU failed in 'scale': too many resources requested for launch");
}

TEST_CASE("a kernel that fails while it runs is named when launches block", "[gpu]") {
  const bool blocks = GENERATE(false, true);
  if (blocks) setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  FakeGpus gpus("");
  const auto device = make_device("cuda");
  core::Arena memory = device->allocate(48);
  use(*device, memory);
  fake_cuda::Machine::get().settings.faulting = "scale";
  const std::string said = error_of([&] {
    use(*device, memory);
    device->finish();
  });
  unsetenv("CUDA_LAUNCH_BLOCKING");
  CHECK(said == (blocks ? "the GPU failed in 'scale': an illegal memory access was encountered"
                        : "the GPU failed at or before 'synchronisation' (CUDA_LAUNCH_BLOCKING=1 names the kernel): "
                          "an illegal memory access was encountered"));
}

TEST_CASE("a rank keeps to the GPU of its place on the node, on whatever thread", "[gpu]") {
  const int rank = GENERATE(0, 1, 4);
  setenv("MPI_LOCALRANKID", std::to_string(rank).c_str(), 1);
  FakeGpus gpus("gpus=3 order=any");
  const auto device = make_device("cuda");
  unsetenv("MPI_LOCALRANKID");
  core::Arena memory = device->allocate(48);
  std::unique_ptr<CopyStream> copy_stream;
  const std::vector<float> mine(16, 2);
  std::vector<float> back(16);
  for (int turn = 0; turn < 3; ++turn)
    std::thread([&] {
      if (turn == 0) copy_stream = device->make_copy_stream();
      use(*device, memory);
      const core::Arena host = device->allocate_on_host(16);
      copy_stream->follow();
      copy_stream->bring(std::span(mine), memory.span().first(16));
      device->upload(std::span(mine), memory.span().subspan(16, 16));
      device->run(Add{memory.span().first(16), memory.span().subspan(16, 16)});
      device->transfer(std::span<const float>(memory.span().subspan(16, 16)), std::span(back));
    }).join();
  CHECK(back == std::vector<float>(16, 4));
  CHECK(gpus.contexts() == std::vector<int>{rank % 3});
}

TEST_CASE("products with a bias serve memory of any alignment", "[gpu]") {
  const FakeGpus gpus("order=any");
  constexpr std::size_t batch = 5, in = 8, out = 12, room = 256;
  const std::vector<float> numbers = backend::testing::random_numbers(4 * room, 1);
  const auto reference = make_device("reference"), device = make_device("cuda");
  core::Arena there = device->allocate(numbers.size()), here = reference->allocate(numbers.size());
  device->upload(std::span(numbers), there.span());
  std::ranges::copy(numbers, here.span().begin());
  std::size_t offsets[4] = {};  // of x, w, bias and y
  for (const std::size_t shifted : {0u, 1u, 2u, 3u, 2u, 1u, 0u})
    for (const std::size_t by : {0u, 1u, 4u, 64u}) {
      offsets[shifted] = by;
      const auto run = [&](Device& on, std::span<float> memory) {
        const auto part = [&](std::size_t i, std::size_t size) { return memory.subspan(i * room + offsets[i], size); };
        on.run(AffineForward{batch, in, out, part(0, batch * in), part(1, in * out), part(2, out), Activation::relu,
                             part(3, batch * out)});
        on.submit();
      };
      run(*device, there.span());
      run(*reference, here.span());
      std::vector<float> found(numbers.size());
      device->transfer(std::span<const float>(there.span()), std::span(found));
      const std::vector<float> expected(here.span().begin(), here.span().end());
      CHECK(backend::testing::relative_distance(found, expected) < 1e-5);
    }
}

TEST_CASE("a convolution runs in cuDNN if that has a kernel for it on tensor cores, otherwise as matrix products", "[gpu]") {
  if (!PARAGRAD_HAS_CUDNN) {
    WARN("cuDNN's header is missing: left out");
    return;
  }
  FakeGpus gpus("");
  fake_cuda::Settings& settings = fake_cuda::Machine::get().settings;
  settings.has_cudnn = GENERATE(true, false);
  settings.refused = "convolution: patches";
  const std::string precision = GENERATE("cuda", "cuda:tf32");
  const auto device = make_device(precision);
  const std::size_t before = GENERATE(1, 2);  // with 2, the zeros before and after the image differ, which cuDNN refuses
  const WindowSteps side{5, 3, 4 + before, 1, 1, before};
  const ConvolutionShape shape{2, 4, 8, side, side};
  core::Arena x = device->allocate(2 * shape.image()), w = device->allocate(shape.filters());
  core::Arena y = device->allocate(2 * shape.positions() * shape.outputs);
  const auto convolve = [&] {
    device->run(ConvolutionForward{shape, x.span(), w.span(), {}, Activation::identity, y.span()});
    device->finish();
  };
  if (settings.has_cudnn && before == 1 && precision == "cuda:tf32")
    CHECK_NOTHROW(convolve());
  else
    CHECK_THROWS_WITH(convolve(), contains_text("convolution: patches"));
}

TEST_CASE("a convolution in cuDNN rounds its factors only where the precision allows it", "[gpu]") {
  if (!PARAGRAD_HAS_CUDNN) {
    WARN("cuDNN's header is missing: left out");
    return;
  }
  FakeGpus gpus("");
  const WindowSteps side{1, 1, 1};
  const ConvolutionShape shape{1, 2, 2, side, side, 2};  // groups too small for products
  for (const auto& [precision, expected] : {std::pair("cuda", 1.0001f), {"cuda:tf32", 1.f}, {"cuda:bf16", 1.f}}) {
    const auto device = make_device(precision);
    core::Arena memory = device->allocate(12);
    const auto x = memory.span().subspan(0, 2), w = memory.span().subspan(4, 2), y = memory.span().subspan(8, 2);
    device->run(Fill{1.0001f, x});
    device->run(Fill{1, w});
    device->run(ConvolutionForward{shape, x, w, {}, Activation::identity, y});
    std::vector<float> found(y.size());
    device->transfer(std::span<const float>(y), std::span(found));
    CHECK(found == std::vector<float>(y.size(), expected));
  }
}

TEST_CASE("uploads wait for each other where the pinned memory of one is wanted again", "[gpu]") {
  const FakeGpus gpus("");  // copies are deferred as long as possible
  const auto device = make_device("cuda");
  constexpr std::size_t count = 40;
  core::Arena memory = device->allocate(count * count);
  std::vector<float> expected, found(count * count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::vector<float> mine(count - i % 3, static_cast<float>(i));
    device->upload(std::span(mine), memory.span().subspan(i * count, mine.size()));
    expected.resize((i + 1) * count);
    std::copy(mine.begin(), mine.end(), expected.end() - count);
  }
  device->transfer(std::span<const float>(memory.span()), std::span(found));
  CHECK(found == expected);
}

// The following cases test the fake GPU itself: it must detect violations of what the other cases claim.

TEST_CASE("the host cannot touch memory of a fake GPU", "[gpu]") {
  const auto device = make_device("cuda");
  core::Arena memory = device->allocate(4);
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);
    close(STDERR_FILENO);
    *const_cast<volatile float*>(memory.span().data()) = 1;
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(status != 0);
}

TEST_CASE("a fake GPU does nothing, everything or some of it before somebody waits", "[gpu]") {
  FakeGpus gpus("order=late");
  auto& machine = fake_cuda::Machine::get();
  std::vector<int> done;
  cudaStream_t first = nullptr, second = nullptr;
  cudaEvent_t event = nullptr;
  cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  const auto put = [&](cudaStream_t stream, int number) {
    machine.enqueue(stream, {[&done, number] { done.push_back(number); }});
  };
  put(first, 1);
  cudaEventRecord(event, first);
  put(first, 2);
  put(second, 3);
  cudaStreamWaitEvent(second, event, 0);
  put(second, 4);
  CHECK(done.empty());
  cudaStreamSynchronize(second);
  CHECK(done == std::vector<int>{3, 1, 4});
  machine.settings.order = fake_cuda::Order::early;
  put(first, 5);
  CHECK(done == std::vector<int>{3, 1, 4, 2, 5});
  machine.settings.order = fake_cuda::Order::any;
  bool some = false;
  for (int i = 0; i < 1000; ++i) {
    const std::size_t before = done.size();
    put(first, 6);
    some = some || (done.size() > before && done.size() < 5 + static_cast<std::size_t>(i));
  }
  CHECK(some);
  cudaEventDestroy(event);
  cudaStreamDestroy(first);
  cudaStreamDestroy(second);
  CHECK(done.size() == 1005);
}

TEST_CASE("a fake GPU does the nodes of a graph in any order that their edges allow", "[gpu]") {
  const FakeGpus gpus("");
  std::vector<int> done;
  CUgraph_st graph;
  const auto node = [&](int number, std::vector<cudaGraphNode_t> before) {
    return graph.add({fake_cuda::Work{[&done, number] { done.push_back(number); }}, std::move(before)});
  };
  cudaGraphNode_t const first = node(0, {}), left = node(1, {first}), right = node(2, {first});
  node(3, {left, right});
  cudaStream_t stream = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  REQUIRE(cudaGraphInstantiate(&exec, &graph, 0) == cudaSuccess);
  std::set<std::vector<int>> orders;
  for (int i = 0; i < 50; ++i) {
    done.clear();
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    orders.insert(done);
  }
  CHECK(orders == std::set<std::vector<int>>{{0, 1, 2, 3}, {0, 2, 1, 3}});
  cudaGraphExecDestroy(exec);
  cudaStreamDestroy(stream);
}

TEST_CASE("a fake GPU refuses what CUDA forbids while calls are recorded, and the recording with it", "[gpu]") {
  const FakeGpus gpus("");
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  const int which = GENERATE(0, 1, 2);
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
  void* memory = nullptr;
  const cudaError_t error = which == 0   ? cudaMalloc(&memory, 4)
                            : which == 1 ? cudaMallocHost(&memory, 4)
                                         : cudaStreamSynchronize(stream);
  CHECK(error == cudaErrorStreamCaptureUnsupported);
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
  CHECK(graph == nullptr);
  cudaStreamDestroy(stream);
}

TEST_CASE("a fake GPU refuses a graph whose products share memory side by side", "[gpu]") {
  const FakeGpus gpus("");
  const int workspace = 0;
  CUgraph_st graph;
  cudaGraphNode_t const first = graph.add({fake_cuda::Work{[] {}, &workspace}, {}});
  const bool in_order = GENERATE(false, true);
  graph.add(
      {fake_cuda::Work{[] {}, &workspace}, in_order ? std::vector<cudaGraphNode_t>{first} : std::vector<cudaGraphNode_t>{}});
  cudaGraphExec_t exec = nullptr;
  CHECK((cudaGraphInstantiate(&exec, &graph, 0) == cudaSuccess) == in_order);
  cudaGraphExecDestroy(exec);
}

TEST_CASE("a fake GPU takes no calls from threads that have chosen another one", "[gpu]") {
  const FakeGpus gpus("gpus=2");
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  CUgraph_st graph;
  cudaGraphExec_t exec = nullptr;
  REQUIRE(cudaGraphInstantiate(&exec, &graph, 0) == cudaSuccess);
  cudaSetDevice(1);
  CHECK(cudaGraphLaunch(exec, stream) == cudaErrorInvalidResourceHandle);
  cudaSetDevice(0);
  CHECK(cudaGraphLaunch(exec, stream) == cudaSuccess);
  cudaGraphExecDestroy(exec);
  cudaStreamDestroy(stream);
}
