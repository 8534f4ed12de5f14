#pragma once

#include <map>
#include <string>

#include "comm/communicator.hpp"
#include "core/options.hpp"
#include "data/dataset.hpp"
#include "train/state/checkpoint.hpp"

namespace paragrad::worlds {

/// What has to be the same in all ranks, by name: "--seed" and "2", "the training samples" and their SHA-256.
using RankFacts = std::map<std::string, std::string>;

/// The program, the command, and the values of its options. Of one that names a file or a folder, only whether it was given:
/// paths may differ from rank to rank, and what is in the files is a fact of its own.
RankFacts facts_of(const std::string& command, const core::OptionList& options);

/// With the options that the arguments describe.
template <class Arguments>
requires requires(Arguments& arguments, core::OptionList& list) { arguments.describe(list); }
RankFacts facts_of(const std::string& command, Arguments& arguments) {
  core::OptionList list;
  arguments.describe(list);
  return facts_of(command, list);
}

/// The content of a data file.
RankFacts facts_of(const data::DatasetInfo& info);

/// The same, and that of a checkpoint which is applied to it.
RankFacts facts_of(const data::DatasetInfo& info, const train::Checkpoint& checkpoint);

/// Collective. Throws the same ConfigError on all ranks if the facts of one differ from those of rank 0; it names the first
/// such rank and what differs.
void require_same(comm::Communicator& ranks, const RankFacts& facts);

}  // namespace paragrad::worlds
