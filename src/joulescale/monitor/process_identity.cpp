// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/process_identity.h"

#include <unistd.h>

#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "joulescale/base/file.h"
#include "joulescale/base/process_stat.h"

namespace joulescale {
namespace {

std::optional<ProcessStat> stat_of(const std::string& pid) {
  constexpr std::size_t kStatLimit = 4096;
  const auto text = read_file("/proc/" + pid + "/stat", kStatLimit);
  return text ? parse_process_stat(*text) : std::nullopt;
}

std::string own_pid_namespace() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/ns/pid", error).native();
}

}  // namespace

ProcessIdentity own_process() {
  const auto stat = stat_of("self");
  return {::getpid(), own_pid_namespace(), stat ? stat->start_ticks : 0};
}

ProcessIdentity process_here(pid_t pid) {
  const auto stat = stat_of(fmt::format("{}", pid));
  return {pid, own_pid_namespace(), stat ? stat->start_ticks : 0};
}

Liveness liveness_of(const ProcessIdentity& process) {
  if (process.pid_namespace.empty() || process.start_ticks == 0 ||
      process.pid_namespace != own_pid_namespace()) {
    return Liveness::kUnknown;
  }
  const auto found = stat_of(fmt::format("{}", process.pid));
  const bool runs = found && found->start_ticks == process.start_ticks && found->state != 'Z' &&
                    found->state != 'X';
  return runs ? Liveness::kRuns : Liveness::kEnded;
}

}  // namespace joulescale
