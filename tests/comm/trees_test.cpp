// The shapes of the trees: every worker hangs where its parent thinks it does, and nobody works in both trees.
#include <algorithm>
#include <bit>

#include "catch.hpp"
#include "comm/collectives/binary_tree.hpp"

using namespace paragrad::comm::collectives;

namespace {

int depth_below(const std::vector<Tree>& trees, int rank) {
  int depth = 0;
  for (const int child : trees[rank].children) depth = std::max(depth, 1 + depth_below(trees, child));
  return depth;
}

int size_below(const std::vector<Tree>& trees, int rank) {
  int size = 1;
  for (const int child : trees[rank].children) size += size_below(trees, child);
  return size;
}

void check_tree(const std::vector<Tree>& trees, int root, unsigned depth) {
  const int size = static_cast<int>(trees.size());
  for (int rank = 0; rank < size; ++rank) {
    CHECK((trees[rank].parent == no_worker) == (rank == root));
    for (const int child : trees[rank].children) CHECK(trees[child].parent == rank);
  }
  CHECK(size_below(trees, root) == size);  // no circles, nobody left out
  CHECK(depth_below(trees, root) == static_cast<int>(depth));
}

}  // namespace

TEST_CASE("all trees reach every worker in log2 n steps, rounded down or up", "[comm]") {
  const int size = GENERATE(range(1, 70), 255, 256, 257);
  std::vector<Tree> binomial, first, second;
  for (int rank = 0; rank < size; ++rank) {
    binomial.push_back(binomial_tree(rank, size));
    const auto trees = complementary_trees(rank, size);
    first.push_back(trees[0]);
    second.push_back(trees[1]);
  }
  CAPTURE(size);
  const auto n = static_cast<unsigned>(size);
  check_tree(binomial, 0, std::bit_width(n) - 1);
  check_tree(first, 0, std::bit_width(n - 1));
  check_tree(second, second_root(size), std::bit_width(n - 1));
}

TEST_CASE("of the two binary trees, an inner worker of one is a leaf of the other, roots apart", "[comm]") {
  const int size = GENERATE(range(2, 70), 255, 256, 257);
  CAPTURE(size);
  int roots_in_both = 0;
  for (int rank = 0; rank < size; ++rank) {
    const auto trees = complementary_trees(rank, size);
    for (const Tree& tree : trees) CHECK(tree.children.size() <= 2);
    if (trees[0].children.empty() || trees[1].children.empty()) continue;
    CHECK((trees[0].parent == no_worker || trees[1].parent == no_worker));
    ++roots_in_both;
  }
  CHECK(roots_in_both <= (size % 2 == 0 ? 0 : 2));
}
