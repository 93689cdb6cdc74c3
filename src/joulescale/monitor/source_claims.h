// SPDX-License-Identifier: Apache-2.0
// Which process of a launch reads which source: one lock file a source on this node, in /dev/shm
// (else /tmp), named by user, launch and node (nodes of a test may share one machine). A process
// that ends or dies frees what it held, and another goes on. Never on the run directory: locks on
// shared file systems cannot be relied on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "joulescale/base/unique_fd.h"

namespace joulescale {

/// /dev/shm if it can be written, else /tmp.
std::filesystem::path node_lock_directory();

/// Thread safe.
class SourceClaims {
 public:
  /// `node`: its name, as a file may have it.
  SourceClaims(const std::string& launch_id,
               const std::string& node,
               std::filesystem::path directory = node_lock_directory());

  /// True if this process holds the source, also since an earlier call. Never waits. Where lock
  /// files cannot be made at all the answer is true: twice measured is mended when nodes are
  /// merged, not measured is lost.
  bool claim(const std::string& source);
  /// The same of a source that another process of the launch has read and reads no longer; false
  /// if none ever did. Makes no lock file.
  bool inherit(const std::string& source);
  /// The holder says that the first readings are in.
  void set_ready(const std::string& source);
  /// Whether the holder, whoever it is, said so.
  bool is_ready(const std::string& source);
  /// Frees the sources whose lock file was removed or replaced meanwhile (a clean-up of /dev/shm):
  /// they are claimed anew. False if there was one.
  bool verify();
  /// Removes the lock files of all sources of a launch on the node; for its last process there.
  static void remove_files(const std::string& launch_id,
                           const std::string& node,
                           const std::filesystem::path& directory = node_lock_directory());

 private:
  struct Lock {
    UniqueFd fd;
    bool held = false;
  };
  static bool was_read(const Lock& lock);
  bool open_file(const std::string& source, int flags, Lock& lock) const;
  bool take(const std::string& source, Lock& lock) const;
  std::filesystem::path file_of(const std::string& source) const;
  bool still_in_place(const std::string& source, const Lock& lock) const;

  std::string prefix_;
  std::filesystem::path directory_;
  std::mutex mutex_;
  std::map<std::string, Lock> locks_;
};

}  // namespace joulescale
