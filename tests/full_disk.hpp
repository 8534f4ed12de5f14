#pragma once

#include <sys/resource.h>

#include <csignal>

namespace paragrad::test {

/// As long as it exists, no file can become longer than `bytes`: writes beyond fail as on a full disk (EFBIG).
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes = 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
};

}  // namespace paragrad::test
