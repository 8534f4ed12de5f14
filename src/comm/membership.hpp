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

/// Which workers are still there, and whether the run can continue without those that are not. This base is that of
/// workers who cannot lose each other: nobody is gone, and nobody can be left out. Ranks are the communicator's.
class Membership {
 public:
  virtual ~Membership() = default;

  /// Whether a worker is known to have ended prematurely. Under MPI only processes on the same node can be observed: wait()
  /// for a dead one throws PeerGone within a second, as does start_send to one known to be dead; for workers on other nodes
  /// MPI reports nothing and waits forever. In the simulator the death is known at once, and wait() for a dead worker ends
  /// in a deadlock. Code that must outlive its peers therefore uses wait_for, which returns nothing, and then asks here.
  virtual bool is_gone(int /*peer*/) { return false; }

  /// For deaths that cannot be observed: treats a worker that has not answered for too long as gone.
  virtual void take_for_gone(int /*peer*/) {}

  /// Drops a dead peer; higher ranks are renumbered. rank: the peer's original rank, however many have been dropped since.
  /// All remaining workers call it before they communicate again. Only a ShrinkingCommunicator supports it.
  virtual void leave_out(int rank) {
    throw Failure("worker " + std::to_string(rank) + " is gone, and the run cannot continue without it");
  }

  /// Whether the others can continue without this worker if a signal kills it from now on; initially they cannot, and end
  /// with it. Has no effect if the program was not started for that (see MpiSession).
  virtual void set_expendable(bool /*expendable*/) {}

  /// Records that a peer is gone for good and that the program continues: at its end it must not wait for all workers.
  virtual void tell_loss() { knows_of_loss_ = true; }
  virtual bool knows_of_loss() const { return knows_of_loss_; }

 private:
  bool knows_of_loss_ = false;
};

/// The same with other ranks, for a communicator that has only some of another's workers.
class ForwardingMembership : public Membership {
 public:
  explicit ForwardingMembership(Membership& inner) : inner_(inner) {}

  bool is_gone(int peer) override { return inner_.is_gone(to_inner(peer)); }
  void take_for_gone(int peer) override { inner_.take_for_gone(to_inner(peer)); }
  void set_expendable(bool expendable) override { inner_.set_expendable(expendable); }
  void tell_loss() override { inner_.tell_loss(); }
  bool knows_of_loss() const override { return inner_.knows_of_loss(); }

 protected:
  ~ForwardingMembership() override = default;

 private:
  virtual int to_inner(int rank) const = 0;

  Membership& inner_;
};

}  // namespace paragrad::comm
