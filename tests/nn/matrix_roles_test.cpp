// What the matrices of a network are for, and which block they belong to.
#include "catch.hpp"
#include "core/format.hpp"
#include "nn/model.hpp"
#include "nn/zoo/zoo.hpp"

using namespace paragrad;
using core::Role;

namespace {

/// The matrices of a network as "role block", vectors as "- block"; "x3" for three stacked ones.
std::vector<std::string> roles_of(const std::string& model) {
  std::vector<std::string> roles;
  const nn::Graph graph = nn::make_graph(model);
  for (const core::Matrix& matrix : graph.layout()) {
    const char* const role = matrix.is_vector()               ? "-"
                             : matrix.role == Role::hidden    ? "hidden"
                             : matrix.role == Role::embedding ? "embedding"
                                                              : "head";
    roles.push_back(
        core::format("{} {}{}", role, matrix.block, matrix.stacked > 1 ? core::format(" x{}", matrix.stacked) : ""));
  }
  return roles;
}

using Roles = std::vector<std::string>;

}  // namespace

TEST_CASE("in a perceptron every layer but the last is a block, and the last is the head", "[nn]") {
  CHECK(roles_of("8-6-5-4:relu") == Roles{"hidden 0", "- 0", "hidden 1", "- 1", "head -1", "- -1"});
  CHECK(roles_of("8-4") == Roles{"head -1", "- -1"});
}

TEST_CASE("in a transformer every layer is a block; queries, keys and values are three matrices", "[nn]") {
  const Roles layer0{"- 0", "- 0", "hidden 0 x3", "- 0", "hidden 0", "- 0",
                     "- 0", "- 0", "hidden 0",    "- 0", "hidden 0", "- 0"};
  Roles expected{"embedding -1", "embedding -1"};
  for (const char* const block : {"0", "1"})
    for (std::string role : layer0) expected.push_back(role.replace(role.find('0'), 1, block));
  expected.insert(expected.end(), {"- -1", "- -1"});
  CHECK(roles_of("gpt:layers=2,heads=2,width=8,context=4,vocabulary=7") == expected);  // the head is the embedding
  expected.push_back("head -1");
  CHECK(roles_of("gpt:layers=2,heads=2,width=8,context=4,vocabulary=7,tied=false") == expected);
}

TEST_CASE("rotary positions and swiglu change no roles of others", "[nn]") {
  CHECK(roles_of("gpt:layers=1,heads=2,width=8,context=4,vocabulary=7,bias=false,norm=rms,mlp=swiglu,positions=rotary") ==
        Roles{"embedding -1", "- 0", "hidden 0 x3", "hidden 0", "- 0", "hidden 0", "hidden 0", "hidden 0", "- -1"});
}

TEST_CASE("every network of the zoo has one head, or shares the embedding, and no other matrix without a block", "[nn]") {
  for (const core::EntryInfo& entry : nn::zoo_catalogue().entries) {
    CAPTURE(entry.name);
    int heads = 0, tables = 0;
    const nn::Graph graph = nn::make_graph("zoo:" + entry.name + entry.example);
    for (const core::Matrix& matrix : graph.layout()) {
      if (matrix.is_vector()) continue;
      heads += matrix.role == Role::head ? 1 : 0;
      tables += matrix.role == Role::embedding ? 1 : 0;
      CHECK((matrix.role == Role::hidden) == (matrix.block >= 0));
    }
    CHECK(heads + (tables > 0 ? 1 : 0) == (entry.name == "allconv" ? 0 : 1));  // which ends with a normalised convolution
  }
}
