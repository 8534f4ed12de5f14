#include "journal.hpp"

#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mutex>

#include "fault_plan.hpp"

namespace paragrad::faults {
namespace {

std::mutex& turn() {  // among threads; among processes, the lock of the file
  static std::mutex instance;
  return instance;
}

}  // namespace

JournalTurn::JournalTurn() {
  turn().lock();
  ::flock(journal(), LOCK_EX);
}

JournalTurn::~JournalTurn() {
  ::flock(journal(), LOCK_UN);
  turn().unlock();
}

void JournalTurn::enter(const Change& change) {
  const std::string entry = std::string(change.call) + "\t" + change.path + "\t" + std::to_string(change.number) + "\t" +
                            std::to_string(change.content.size()) + "\n" + change.content;
  const auto put = ::syscall(SYS_write, journal(), entry.data(), entry.size());
  if (put != static_cast<long>(entry.size())) die();
}

}  // namespace paragrad::faults
