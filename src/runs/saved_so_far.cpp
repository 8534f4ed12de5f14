#include "runs/saved_so_far.hpp"

#include "core/format.hpp"

namespace paragrad::runs {

std::string position_text(const train::RunPosition& position) {
  if (position.block > 0) return core::format("block {} of epoch {}", position.block, position.epoch);
  return core::format("epoch {}", position.epoch - 1);
}

std::string interruption_sentence(const TrainingArguments& arguments, const SavedSoFar& saved) {
  const std::string& out = arguments.out;
  if (out.empty())
    return "interrupted: nothing is saved; with --out and --checkpoint-every, a run can be continued with --resume";
  const std::string with_resume = core::format("the same command{}", arguments.resume ? "" : " with --resume");
  if (!saved.resumes) return core::format("interrupted: {} starts the simulation in {} again", with_resume, out);
  if (saved.state)
    return core::format("interrupted: the state after {}{} is saved in {}; {} continues the run",
                        position_text(*saved.state), saved.pretrains ? " of pretraining" : "", out, with_resume);
  if (saved.epochs == 0)
    return core::format("interrupted: nothing is saved in {} yet; {} starts again", out,
                        arguments.checkpoint_every > 0 ? with_resume : "the same command");
  return core::format(
      "interrupted: {} has the records of {} epoch{}, but no state to continue from, which --checkpoint-every saves; the "
      "same command with --overwrite starts again",
      out, saved.epochs, saved.epochs == 1 ? "" : "s");
}

}  // namespace paragrad::runs
