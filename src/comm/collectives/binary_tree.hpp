#pragma once

#include <array>
#include <cstddef>

#include "comm/collectives/rooted.hpp"

namespace paragrad::comm::collectives {

/// In-order binary tree: the subtrees of an inner worker hold lower ranks on the left and higher ranks on the right. The
/// root 0 has one child; odd ranks are leaves; all other even ranks have two children, except the last if it has no right
/// subtree. Depth ceil(log2 n). (Sanders, Speck and Traff, Parallel Computing 35, 2009, section 2; NCCL 2.4 builds the
/// same.)
Tree binary_tree(int rank, int size);

/// Two such trees in which no worker is an inner node twice, except, for odd sizes, the root of the first. The second tree
/// counts the ranks from the other end (even sizes) or starts one rank later (odd sizes).
std::array<Tree, 2> complementary_trees(int rank, int size);
int second_root(int size);

/// For the half of an array, `floats` long, that passes through one tree: segments so short that all levels work at once.
Segmentation double_tree_segments(std::size_t floats, int size, const Segmentation& at_most);

}  // namespace paragrad::comm::collectives
