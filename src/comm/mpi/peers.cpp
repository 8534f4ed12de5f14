#include "comm/mpi/peers.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>
#include <string>

namespace paragrad::comm {
namespace {

struct Status {
  char state = 'X';
  pid_t parent = 0;
  std::int64_t started_at = 0;
};

/// From /proc/<id>/stat: "id (name) state parent …", the start as the 22nd field. The name may hold anything.
Status status_of(std::int64_t id) {
  std::ifstream file("/proc/" + std::to_string(id) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  Status status;
  fields >> status.state >> status.parent;
  constexpr int between = 17;
  std::string skipped;
  for (int i = 0; i < between; ++i) fields >> skipped;
  fields >> status.started_at;
  return status;
}

}  // namespace

ProcessIdentity this_process() {
  const std::int64_t id = getpid();
  return {id, status_of(id).started_at};
}

bool lives(const ProcessIdentity& process) {
  const Status status = status_of(process.id);
  return status.state != 'Z' && status.state != 'X' && status.started_at == process.started_at;
}

bool Peers::is_gone(int worker) {
  const auto index = static_cast<std::size_t>(worker);
  if (index >= gone_.size()) return false;  // MPI itself reports a worker that does not exist
  if (gone_[index]) return true;
  if (processes_[index].id == 0 || lives(processes_[index])) return false;
  return gone_[index] = true;
}

bool Peers::somebody_is_gone() {
  bool somebody = false;
  for (int worker = 0; worker < static_cast<int>(gone_.size()); ++worker) somebody = is_gone(worker) || somebody;
  return somebody;
}

bool Peers::somebody_lives_on() const {
  for (std::size_t i = 0; i < gone_.size(); ++i)
    if (gone_[i] && processes_[i].id != 0 && lives(processes_[i])) return true;
  return false;
}

void Peers::kill_left_out() const {
  for (std::size_t i = 0; i < gone_.size(); ++i) {
    if (!gone_[i] || processes_[i].id == 0 || !lives(processes_[i])) continue;
    kill(static_cast<pid_t>(processes_[i].id), SIGKILL);
    if (const pid_t guard = status_of(processes_[i].id).parent; guard > 1) kill(guard, SIGCONT);
  }
}

bool Peers::somebody_was_seen_gone() const {
  return std::any_of(gone_.begin(), gone_.end(), [](const std::atomic<bool>& gone) { return gone.load(); });
}

}  // namespace paragrad::comm
