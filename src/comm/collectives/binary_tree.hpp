#pragma once

#include <array>
#include <cstddef>

#include "comm/collectives/rooted.hpp"

namespace paragrad::comm::collectives {

/// Binary tree in which ranks are in order: below an inner worker lie ranks to its left and to its right. Root 0, with one
/// child; odd ranks are leaves, even ranks but 0 (and but the last, if it has no right side) have two children. Depth
/// ceil(log2 n). (Sanders, Speck and Traff, Parallel Computing 35, 2009, section 2; NCCL 2.4 builds the same.)
Tree binary_tree(int rank, int size);

/// Two of them in which, for even sizes, nobody is an inner worker twice, and for odd sizes only the root of the first:
/// the second tree counts the ranks from the other end (even sizes) or begins one place later (odd sizes).
std::array<Tree, 2> complementary_trees(int rank, int size);
int second_root(int size);

/// Segments in which half an array of `floats` travels through one of the trees: short enough to fill the levels.
std::size_t double_tree_segment(std::size_t floats, int size);

}  // namespace paragrad::comm::collectives
