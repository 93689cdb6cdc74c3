// SPDX-License-Identifier: Apache-2.0
#include "apps/joulescale/commands/killed_runs.h"

#include <functional>
#include <system_error>

#include <fmt/format.h>

#include "joulescale/monitor/launch.h"
#include "joulescale/monitor/recover.h"
#include "joulescale/store/run_directories.h"

namespace joulescale {
namespace {

namespace fs = std::filesystem;

bool is_unfinished_run(const fs::path& directory) {
  const RunDirectory run{directory};
  std::error_code ignored;
  return fs::exists(run.launch_file(), ignored) &&
         fs::symlink_status(run.run_file(), ignored).type() == fs::file_type::not_found;
}

std::vector<fs::path> unfinished_runs(const fs::path& source) {
  const fs::path directory = source.filename() == kRunFile ? source.parent_path() : source;
  if (is_unfinished_run(directory)) {
    return {directory};
  }
  std::vector<std::string> problems;  // whoever reads the runs will tell of them
  std::vector<fs::path> found = run_directories_below(directory, problems);
  std::erase_if(found, std::not_fn(is_unfinished_run));
  return found;
}

}  // namespace

std::vector<std::string> finish_killed_runs(const fs::path& source) {
  std::vector<std::string> lines;
  for (const fs::path& directory : unfinished_runs(source)) {
    const auto finished = finish_killed_run(directory);
    if (!finished) {
      lines.push_back(finished.error().text());
    } else if (*finished) {
      lines.push_back(
          fmt::format("'{}': its monitor was killed; its record is finished from its journal",
                      directory.native()));
    }
  }
  return lines;
}

}  // namespace joulescale
