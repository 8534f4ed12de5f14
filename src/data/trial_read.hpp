#pragma once

#include <functional>
#include <string>

namespace paragrad::data {

/// How long a trial read may take, besides a second per MB of the file, which may be compressed.
struct TrialLimits {
  unsigned processor_s = 2;  // more shows that HDF5 loops forever
  unsigned wall_s = 60;      // more shows that HDF5 waits forever, or that the disk is too slow to be of use
};

/// Runs `reading`, which reads the HDF5 file `path`, in a forked copy of this process before the caller does the same.
///
/// On damaged metadata HDF5 crashes or loops forever if the metadata carries no checksum, as in files of h5py and most
/// other tools (has_checksums). The copy fails exactly as the process would, which detects the damage. Exceptions from
/// `reading` are not reported, but for core::ConfigError: the caller gets them when it reads.
///
/// Cost: one fork() and the reading itself, about 3 ms for a mapped file; unmapped arrays are read twice.
///
/// Throws core::ConfigError if the copy dies by a signal (or a sanitizer's report) or takes longer than the limits.
///
/// Limits: HDF5 must not run on another thread. A lock that another thread holds during the fork stays locked in the copy,
/// which then waits for it in vain, so fork while there is one thread. Memory that HDF5 overwrites without
/// a crash goes unnoticed, so malicious files are not safe. If no process can be started, there is no check. A child does
/// not see memory pinned by a network device, so a rank reads foreign files before it sends large messages.
void try_reading(const std::string& path, const std::function<void()>& reading, TrialLimits limits = {});

/// Whether HDF5 notices damage by itself, as in all files that Paragrad writes: they are in HDF5's format of 1.10, without
/// text of variable length and without chunks (Hdf5File::has_checksums). False for what cannot be read
/// to the end.
bool has_checksums(const std::string& path);

/// Reads a file that may be damaged. Without checksums first read(false) in a copy of the process, which may leave out what
/// HDF5 only copies into memory; then read(true) here, whose result is returned. Throws like try_reading and `read`.
template <class Read>
auto read_after_trial(const std::string& path, const Read& read) {
  if (!has_checksums(path)) try_reading(path, [&] { read(false); });
  return read(true);
}

}  // namespace paragrad::data
