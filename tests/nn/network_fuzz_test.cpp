// Damaged texts of networks (tests/fuzz.hpp).
#include "catch.hpp"
#include "fuzz.hpp"
#include "mutations.hpp"
#include "nn/model.hpp"
#include "nn/node_text.hpp"

using namespace paragrad;

TEST_CASE("damaged texts of networks", "[nn][fuzz]") {
  const std::array<std::string, 2> texts{
      "network small;input 28x28x1;c1 = convolution input outputs=16 size=5 zeros=2 bias=false;n1 = batch_norm c1;"
      "r1 = relu n1;p1 = max_pool r1 size=2 stride=2;c2 = convolution p1 outputs=16 groups=4 dilation=2;"
      "s1 = add c2 c2;k1 = concatenate s1 c2;g1 = global_pool k1;d1 = dropout g1 p=0.5;y = affine d1 outputs=10;",
      "input 12; a = affine input outputs=8; t = gelu a; y = affine t outputs=3"};
  constexpr std::array<std::string_view, 14> words{"convolution", "mean_pool", "input", "c1",       "=",
                                                   "\n",          ";",         " ",     "stride=0", "size=99999999999",
                                                   "outputs=0",   "x0",        "-1",    "# "};
  test::survive(
      test::fuzz_inputs(), [&](std::size_t input) { return test::mutated(texts[input % texts.size()], input, words); },
      [](const std::string& text) {
        const nn::Graph graph = nn::make_node_graph(text);
        CHECK(graph.outputs() > 0);
        CHECK(graph.plan().floats_per_row >= graph.outputs());
      },
      test::as_objects);
  for (const std::string& text : texts) CHECK_NOTHROW(nn::make_node_graph(text));
}

TEST_CASE("damaged names of networks", "[nn][fuzz]") {
  const std::array<std::string, 4> names{"784-512-5x256-10:relu", "40-3xblstm64p32-lstm16+peepholes-12", "zoo:lenet5",
                                         "8-12-6:sigmoid"};
  constexpr std::array<std::string_view, 12> words{"-", "x",          ":",     "zoo:", "resnet", "blstm",
                                                   "p", "+peepholes", "1000x", "0",    "999999", ";"};
  test::survive(
      test::fuzz_inputs(2), [&](std::size_t input) { return test::mutated(names[input % names.size()], input, words); },
      [](const std::string& name) {
        const nn::Graph graph = nn::make_graph(name);
        CHECK(graph.outputs() > 0);
      },
      8 * test::as_objects);  // a layer may be two bytes
  for (const std::string& name : names) CHECK_NOTHROW(nn::make_graph(name));
}
