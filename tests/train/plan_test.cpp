#include "train/plan.hpp"

#include <algorithm>
#include <set>

#include "catch.hpp"

using namespace paragrad;

TEST_CASE("workers that share minibatches walk through those of one worker", "[train]") {
  const int workers = GENERATE(1, 2, 3, 4, 7);
  const std::size_t minibatch = GENERATE(1u, 5u, 16u, 0u);
  train::PlanOptions options;
  if (GENERATE(false, true)) options.shuffle = train::sample_order(1, 2);
  const auto partition = data::Partition::random(103, 3, 4, 1);
  for (std::size_t block = 0; block < 4; ++block) {
    const auto one = train::plan_block(partition, block, strategies::Share::minibatch, minibatch, 0, 1, options);
    std::vector<train::BlockPlan> plans;
    for (int k = 0; k < workers; ++k)
      plans.push_back(train::plan_block(partition, block, strategies::Share::minibatch, minibatch, k, workers, options));
    std::vector<std::size_t> position(plans.size(), 0);
    std::vector<std::uint32_t> together;
    for (std::size_t step = 0; step < one.mine.size(); ++step)
      for (std::size_t k = 0; k < plans.size(); ++k) {
        REQUIRE(plans[k].together[step] == one.mine[step]);
        const auto begin = plans[k].rows.begin() + static_cast<std::ptrdiff_t>(position[k]);
        together.insert(together.end(), begin, begin + static_cast<std::ptrdiff_t>(plans[k].mine[step]));
        position[k] += plans[k].mine[step];
      }
    REQUIRE(together == one.rows);
  }
}

TEST_CASE("workers that share blocks take disjoint splits that cover the block", "[train]") {
  const auto partition = data::Partition::random(101, 5, 3, 9);
  for (std::size_t block = 0; block < 3; ++block) {
    std::multiset<std::uint32_t> rows;
    for (int k = 0; k < 5; ++k) {
      const auto plan = train::plan_block(partition, block, strategies::Share::block, 4, k, 5);
      rows.insert(plan.rows.begin(), plan.rows.end());
      REQUIRE(plan.mine == plan.together);
    }
    const auto expected = partition.block(block);
    REQUIRE(rows == std::multiset<std::uint32_t>(expected.begin(), expected.end()));
  }
}

TEST_CASE("of a block no more minibatches are planned than a run may take, and fewer where there are fewer", "[train]") {
  const auto partition = data::Partition::random(40, 2, 1, 1);
  const auto planned = [&](std::size_t most) {
    return train::plan_block(partition, 0, strategies::Share::block, 5, 1, 2, {.max_steps = most}).mine.size();
  };
  CHECK(planned(0) == 4);
  CHECK(planned(1) == 1);
  CHECK(planned(3) == 3);
  CHECK(planned(9) == 4);
}

TEST_CASE("the rounds of a block are the minibatches of its longest split, the same for all workers", "[train]") {
  const std::size_t minibatch = GENERATE(0u, 1u, 3u, 4u, 50u), most = GENERATE(0u, 2u);
  const auto partition = data::Partition::random(101, 5, 3, 9);
  for (std::size_t block = 0; block < 3; ++block) {
    std::set<std::size_t> rounds;
    std::size_t longest = 0;
    for (int k = 0; k < 5; ++k) {
      const auto plan = train::plan_block(partition, block, strategies::Share::block, minibatch, k, 5,
                                          {.max_steps = most, .counts_rounds = true});
      rounds.insert(plan.rounds);
      longest = std::max(longest, plan.mine.size());
    }
    CHECK(rounds == std::set{longest});
  }
}

TEST_CASE("shuffling gives every block and split a new order of the same samples in every epoch", "[train]") {
  const auto partition = data::Partition::random(120, 2, 3, 5);
  const auto rows = [&](strategies::Share share, std::size_t block, int epoch) {
    const int workers = share == strategies::Share::minibatch ? 1 : 2;
    return train::plan_block(partition, block, share, 16, workers - 1, workers, {.shuffle = train::sample_order(7, epoch)})
        .rows;
  };
  for (const auto share : {strategies::Share::minibatch, strategies::Share::block})
    for (std::size_t block = 0; block < 3; ++block) {
      const auto first = rows(share, block, 1), second = rows(share, block, 2);
      const auto stored = share == strategies::Share::minibatch ? partition.block(block) : partition.split(block, 1);
      CHECK(std::multiset<std::uint32_t>(first.begin(), first.end()) ==
            std::multiset<std::uint32_t>(stored.begin(), stored.end()));
      CHECK(std::is_permutation(first.begin(), first.end(), second.begin(), second.end()));
      CHECK(first != second);
      CHECK(!std::equal(first.begin(), first.end(), stored.begin(), stored.end()));
      CHECK(first == rows(share, block, 1));
    }
}

TEST_CASE("blocks are not shuffled alike", "[train]") {
  std::vector<std::uint32_t> blocks[2]{std::vector<std::uint32_t>(50), std::vector<std::uint32_t>(50)};
  for (std::uint32_t block = 0; block < 2; ++block) {
    for (std::uint32_t i = 0; i < 50; ++i) blocks[block][i] = i;
    train::sample_order(1, 1).shuffle(blocks[block], 50 * block);
  }
  CHECK(blocks[0] != blocks[1]);
}

TEST_CASE("each epoch takes every block once, in an order of its own", "[train]") {
  const auto first = train::block_order(1, 1, 50), second = train::block_order(1, 2, 50);
  CHECK(first != second);
  CHECK(first == train::block_order(1, 1, 50));
  CHECK(first != train::block_order(2, 1, 50));
  CHECK(std::set<std::uint32_t>(first.begin(), first.end()).size() == 50);
}
