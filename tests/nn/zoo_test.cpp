#include "nn/zoo/zoo.hpp"

#include <map>
#include <set>
#include <tuple>

#include "backend/device.hpp"
#include "catch.hpp"
#include "core/errors.hpp"
#include "nn/model.hpp"
#include "nn/ops/convolution.hpp"

using namespace paragrad;
using backend::KernelKind;

namespace {

/// Counted from the papers' tables and the builders of tf_cnn_benchmarks, layer by layer, apart from this code. Parameters
/// agree with what is published: AlexNet "60 million", GoogLeNet 7.0 M, ResNet-18 11,689,512, ResNet-50 25,557,032,
/// ResNet-101 44,549,160, ResNet-152 60,192,808, VGG-16 138.36 M, Inception-v3 23.83 M. flops: of one sample forward and
/// backward, no gradient of the images.
struct Published {
  std::string name;
  std::size_t parameters, tensors, multiplications;
  double gigaflops;
  std::size_t activations;  // of layers with parameters
  std::size_t inputs, outputs;
};

const std::vector<Published> convolutional{
    {"lenet5", 61706, 10, 416520, 0.0023, 6518, 28 * 28, 10},
    {"resnet", 272474, 65, 40813184, 0.2440, 401418, 3 * 32 * 32, 10},  // 20 layers for CIFAR-10, with projections
    {"alexnet", 61838248, 16, 838788800, 4.892, 515816, 3 * 227 * 227, 1000},
    {"googlenet", 6998552, 116, 1582671872, 9.26, 3227160, 3 * 224 * 224, 1000},
    {"allconv", 1370996, 27, 281174016, 1.682, 713984, 3 * 32 * 32, 10},
    {"resnet18", 11689512, 62, 1814073344, 10.648, 4968424, 3 * 224 * 224, 1000},
    {"resnet50", 25557032, 161, 3857973248, 22.912, 21175272, 3 * 224 * 224, 1000},
    {"resnet101", 44549160, 314, 7570194432, 45.185, 31411176, 3 * 224 * 224, 1000},
    {"resnet152", 60192808, 467, 11282415616, 67.458, 44055528, 3 * 224 * 224, 1000},
    {"vgg16", 138357544, 32, 15470264320, 92.648, 13556712, 3 * 224 * 224, 1000},
    {"inception_v3", 23834568, 284, 5713216096, 34.241, 17935976, 3 * 299 * 299, 1000},
};

struct Totals {
  std::size_t parameters = 0, tensors = 0, activations = 0;
};

Totals totals(const nn::Graph& graph) {
  Totals sum{.parameters = graph.parameter_count(), .tensors = graph.layout().size()};
  for (const nn::Node& node : graph.nodes())
    sum.activations += node.owned.empty() ? 0 : graph.values()[node.outputs[0]].type.size();
  return sum;
}

/// Counts what a minibatch costs.
struct Counted {
  explicit Counted(const std::string& name, std::size_t batch)
      : device(backend::make_device("meta")), model(*device, nn::make_graph("zoo:" + name), batch) {
    core::Arena parameters = device->allocate(model.parameter_count()), gradient = device->allocate(model.parameter_count());
    core::Arena features = device->allocate(batch * model.graph().inputs()), labels = device->allocate(batch);
    const data::Batch samples{features.span(), {reinterpret_cast<const std::int32_t*>(labels.span().data()), batch}};
    model.forward(*device, parameters.span(), samples);
    forward = device->meter();
    std::size_t announced = 0;
    model.backward(*device, parameters.span(), samples, {gradient.span()},
                   [&](core::Range range) { announced += range.size(); });
    CHECK(announced == model.parameter_count());
    all = device->meter();
  }
  std::unique_ptr<backend::Device> device;
  nn::Model model;
  backend::WorkMeter forward, all;
};

}  // namespace

TEST_CASE("the zoo's convolutional networks have the published parameters, tensors and multiplications", "[nn]") {
  for (const Published& net : convolutional) {
    INFO(net.name);
    const nn::Graph graph = nn::make_zoo_model(net.name);
    const Totals sum = totals(graph);
    CHECK(sum.parameters == net.parameters);
    CHECK(sum.tensors == net.tensors);
    CHECK(sum.activations == net.activations);
    CHECK(graph.inputs() == net.inputs);
    CHECK(graph.outputs() == net.outputs);
    const Counted one(net.name, 1);
    CHECK(one.forward.of(KernelKind::gemm).flops == 2 * net.multiplications);
    CHECK(static_cast<double>(one.all.of(KernelKind::gemm).flops) / 1e9 == Approx(net.gigaflops).margin(0.0011));
    CHECK(Counted(net.name, 7).all.of(KernelKind::gemm).flops == 7 * one.all.of(KernelKind::gemm).flops);
  }
}

TEST_CASE("every network of the zoo is counted here", "[nn]") {
  std::set<std::string> counted{"dnn63m", "dblstm", "gpt"}, all;
  for (const Published& net : convolutional) counted.insert(net.name);
  for (const core::EntryInfo& entry : nn::zoo_catalogue().entries) all.insert(entry.name);
  CHECK(counted == all);
}

TEST_CASE("the zoo's speech networks have the published parameters", "[nn]") {
  // Counted apart from this code for 39 features per frame; the paper says about 63 and about 11 million.
  CHECK(totals(nn::make_zoo_model("dnn63m")).parameters == 62'944'850);
  CHECK(totals(nn::make_zoo_model("dblstm")).parameters == 11'686'488);
  CHECK(Counted("dnn63m", 1).forward.of(KernelKind::gemm).flops / 10'000 == 12'582);  // 125.83 Mflop per frame
  CHECK(Counted("dblstm", 1).forward.of(KernelKind::gemm).flops == 2 * 11'659'264);   // weights without peepholes
}

TEST_CASE("gpt has the published parameters", "[nn]") {
  // nanoGPT prints 10.65 M and 124.44 M, the first without its positions: 10,646,784 + 256·384; GPT-2's file has
  // 124,439,808.
  const auto count = [](const char* name) { return nn::make_graph(name).parameter_count(); };
  CHECK(count("gpt:baby,vocabulary=65") == 10'646'784 + 256 * 384);
  CHECK(count("gpt:124m") == 124'439'808);
  CHECK(count("gpt:124m,tied=false") == 124'439'808 + 50257 * 768);
  CHECK(count("gpt:nano,vocabulary=65") == 65 * 128 + 64 * 128 + 4 * (12 * 128 * 128 + 2 * 128) + 128);
  CHECK(nn::make_graph("gpt:nano,layers=2").parameter_count() == nn::make_graph("zoo:gpt:nano,layers=2").parameter_count());
  CHECK_THROWS_WITH(nn::make_graph("gpt:heads=3"), contains_text("3 heads cannot share a width of 128"));
  CHECK_THROWS_WITH(nn::make_graph("gpt:nano2"), contains_text("'nano2' is not KEY=VALUE"));
}

TEST_CASE("a convolution is counted as moving its input, its output and its weights once", "[nn]") {
  nn::GraphBuilder graph({{5, 5, 2}});
  const nn::ValueId y =
      graph.add("3x3", nn::Convolution(7, nn::square(3, 1, nn::Padding::valid), false), {nn::GraphBuilder::input});
  const auto device = backend::make_device("meta");
  nn::Model model(*device, std::move(graph).build(y), 4);
  core::Arena features = device->allocate(4 * 50), labels = device->allocate(4), parameters = device->allocate(7 * 18);
  model.forward(*device, parameters.span(),
                {features.span(), {reinterpret_cast<const std::int32_t*>(labels.span().data()), 4}});
  CHECK(device->meter().of(KernelKind::gemm).flops == 4 * 2 * 9 * 18 * 7);
  CHECK(device->meter().of(KernelKind::gemm).bytes == 4 * (4 * (50 + 63) + 18 * 7));
}

TEST_CASE("the zoo can be trained, but for LSTMs without sequences, whose costs a device that computes refuses", "[nn]") {
  for (const std::string& name : nn::zoo_catalogue().names()) {
    INFO(name);
    const bool computable = nn::make_zoo_model(name).not_computable() == nullptr;
    CHECK(computable == (name != "dblstm"));
  }
  const auto device = backend::make_device("cpu");
  CHECK_THROWS_AS(device->imagine(backend::KernelId::gemm, {1, 1, 1}, 2, 12), std::logic_error);
}

TEST_CASE("every option of a network of the zoo changes the network", "[nn]") {
  const auto outline = [](const std::string& name) {
    const nn::Graph graph = nn::make_zoo_model(name);
    std::string names;
    for (const nn::Node& node : graph.nodes()) names += node.op->name() + ";";
    return std::tuple(graph.parameter_count(), names, graph.inputs(), graph.outputs());
  };
  const std::map<std::string, std::string> values{
      {"depth", "32"},         {"side", "24"},    {"channels", "2"}, {"classes", "7"},    {"layers", "3"},
      {"heads", "2"},          {"width", "64"},   {"context", "32"}, {"vocabulary", "9"}, {"norm", "rms"},
      {"positions", "rotary"}, {"mlp", "swiglu"}, {"bias", "false"}, {"tied", "false"},   {"dropout", "0.1"}};
  for (const core::EntryInfo& entry : nn::zoo_catalogue().entries)
    for (const core::OptionInfo& option : entry.options) {
      CAPTURE(entry.name, option.name);
      REQUIRE(values.contains(option.name));  // a new option needs a value that changes its network
      CHECK(outline(entry.name + ":" + option.name + "=" + values.at(option.name)) != outline(entry.name));
    }
}

TEST_CASE("in the zoo, no two nodes and no two epochs draw the same random numbers", "[nn]") {
  for (const std::string& name : nn::zoo_catalogue().names()) {
    const nn::Graph graph = nn::make_zoo_model(name);
    std::set<std::uint32_t> streams;
    for (const nn::Node& node : graph.nodes()) {
      CHECK(node.stream < graph.streams());  // a pass draws from epoch * streams + stream
      CHECK(streams.insert(node.stream).second);
    }
  }
}

TEST_CASE("a name that the zoo does not know is answered with those it knows", "[nn]") {
  CHECK_THROWS_WITH(nn::make_graph("zoo:resnet-50"), contains_text("'resnet-50'") && contains_text("resnet50"));
  CHECK_THROWS_AS(nn::make_graph("zoo:"), core::ConfigError);
}
