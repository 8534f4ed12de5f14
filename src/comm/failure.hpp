#pragma once

#include <stdexcept>
#include <string>

namespace paragrad::comm {

/// A peer is gone or the transport failed. Not the user's fault, and not worth a retry.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A peer's process ended prematurely.
class PeerGone : public Failure {
 public:
  PeerGone(int peer, const std::string& text) : Failure(text), peer_(peer) {}
  int peer() const { return peer_; }

 private:
  int peer_;
};

}  // namespace paragrad::comm
