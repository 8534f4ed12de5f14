#include <filesystem>
#include <vector>

#include "comm/allreduce.hpp"
#include "comm/collectives/rooted.hpp"
#include "comm/lists.hpp"
#include "comm/tags.hpp"
#include "core/errors.hpp"
#include "system/files.hpp"

// Small messages in host memory, so only latency matters: binomial trees, 2 ceil(log2 n) steps.
namespace paragrad::comm {
namespace {

using collectives::binomial_tree;
using collectives::no_worker;
using collectives::Tree;

void spread(Communicator& comm, const Tree& tree, std::span<std::byte> data) {
  if (data.empty()) return;
  if (tree.parent != no_worker) comm.receive(tree.parent, control_tag, data);
  for (const int child : tree.children) comm.send(child, control_tag, std::span<const std::byte>(data));
}

std::string receive_text(Communicator& comm, int from) { return receive_list<char, std::string>(comm, from, control_tag); }

}  // namespace

void sum_in_rank_order(Communicator& comm, std::span<double> values) {
  if (values.empty()) return;
  const Tree tree = binomial_tree(comm.rank(), comm.size());
  const std::size_t workers = collectives::binomial_size(comm.rank(), comm.size());
  std::vector<double> gathered(values.begin(), values.end());  // [workers below and this one, in rank order][values]
  gathered.resize(workers * values.size());
  for (const int child : tree.children) {
    const std::size_t first = (child - comm.rank()) * values.size();
    const std::size_t count = collectives::binomial_size(child, comm.size()) * values.size();
    comm.receive(child, control_tag, std::as_writable_bytes(std::span(gathered).subspan(first, count)));
  }
  if (tree.parent != no_worker) {
    comm.send(tree.parent, control_tag, std::as_bytes(std::span(gathered)));
  } else {
    for (std::size_t w = 1; w < workers; ++w) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += gathered[w * values.size() + i];
    }
  }
  spread(comm, tree, std::as_writable_bytes(values));
}

std::string first_text(Communicator& comm, const std::string& mine) {
  const Tree tree = binomial_tree(comm.rank(), comm.size());
  std::string first = mine;
  for (const int child : tree.children) {  // ascending, and whole subtrees of higher ranks
    const std::string theirs = receive_text(comm, child);
    if (first.empty()) first = theirs;
  }
  if (tree.parent != no_worker) {
    send_list(comm, tree.parent, control_tag, first);
    first = receive_text(comm, tree.parent);
  }
  for (const int child : tree.children) send_list(comm, child, control_tag, first);
  return first;
}

void agree(Communicator& comm, const std::function<void()>& action) {
  std::string mistake;
  try {
    action();
  } catch (const core::ConfigError& error) {
    mistake = error.what();
  } catch (const std::filesystem::filesystem_error& error) {
    mistake = system::describe(error);
  }
  if (const std::string first = first_error(comm, mistake); !first.empty()) throw core::ConfigError(first);
}

void barrier(Communicator& comm) {
  double nothing = 0;
  sum_in_rank_order(comm, {&nothing, 1});
}

}  // namespace paragrad::comm
