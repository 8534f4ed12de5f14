// Which workers' processes are known to have ended, or to live on although they were given up.
#include "comm/mpi/peers.hpp"

#include "catch.hpp"

using namespace paragrad::comm;

TEST_CASE("only a worker that was given up and whose process is there lives on", "[comm]") {
  const ProcessIdentity own = this_process();
  ProcessIdentity ended = own;
  ended.started_at += 1;  // another process had this number
  Peers peers(3);         // of the third nothing can be seen from here
  peers.introduce(0, own);
  peers.introduce(1, own);
  CHECK_FALSE(lives(ended));
  CHECK_FALSE(peers.somebody_is_gone());
  CHECK_FALSE(peers.somebody_lives_on());
  peers.take_for_gone(2);
  CHECK(peers.somebody_was_seen_gone());
  CHECK_FALSE(peers.somebody_lives_on());
  peers.take_for_gone(1);
  CHECK(peers.somebody_lives_on());
  CHECK(peers.is_gone(1));
  CHECK_FALSE(peers.is_gone(0));
}
