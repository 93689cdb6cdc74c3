// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/process_tree.h"

#include <time.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace bench {
namespace {

namespace fs = std::filesystem;

fs::path proc(pid_t pid) { return fs::path("/proc") / std::to_string(pid); }

/// The number after "Name:" in a file of such lines; 0 where there is none.
double field(const fs::path& file, const std::string& name) {
  std::ifstream stream(file);
  std::string line;
  while (std::getline(stream, line)) {
    if (line.starts_with(name + ":")) {
      return std::strtod(line.c_str() + name.size() + 1, nullptr);
    }
  }
  return 0.0;
}

bool is_this_program(pid_t pid) {
  std::error_code error;
  const fs::path own = fs::read_symlink("/proc/self/exe", error);
  return fs::read_symlink(proc(pid) / "exe", error) == own;
}

std::vector<fs::path> tasks_of(pid_t pid) {
  std::vector<fs::path> tasks;
  std::error_code error;
  for (fs::directory_iterator entry(proc(pid) / "task", error), end; !error && entry != end;
       entry.increment(error)) {
    tasks.push_back(entry->path());
  }
  return tasks;
}

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> children;
  for (const fs::path& task : tasks_of(pid)) {
    std::ifstream stream(task / "children");
    pid_t child = 0;
    while (stream >> child) {
      children.push_back(child);
    }
  }
  return children;
}

double cpu_seconds(pid_t pid) {
  clockid_t clock = 0;
  timespec time{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0) {
    return 0.0;
  }
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

std::vector<pid_t> tool_processes(pid_t root) {
  std::vector<pid_t> found;
  std::vector<pid_t> open = {root};
  while (!open.empty()) {
    const pid_t pid = open.back();
    open.pop_back();
    if (is_this_program(pid)) {
      continue;
    }
    found.push_back(pid);
    for (const pid_t child : children_of(pid)) {
      open.push_back(child);
    }
  }
  return found;
}

std::map<pid_t, ProcessUse> use_of(const std::vector<pid_t>& processes) {
  std::map<pid_t, ProcessUse> uses;
  for (const pid_t pid : processes) {
    ProcessUse& use = uses[pid];
    use.pss_kib = field(proc(pid) / "smaps_rollup", "Pss");
    use.rss_peak_kib = field(proc(pid) / "status", "VmHWM");
    use.cpu_s = cpu_seconds(pid);
    for (const fs::path& task : tasks_of(pid)) {
      ++use.threads;
      use.switches += field(task / "status", "voluntary_ctxt_switches");
    }
  }
  return uses;
}

}  // namespace bench
