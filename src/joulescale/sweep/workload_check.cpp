// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sweep/workload_check.h"

#include <unistd.h>

#include <cstdlib>
#include <set>

#include <fmt/format.h>

#include "joulescale/base/file.h"
#include "joulescale/base/text.h"
#include "joulescale/sweep/local/child_process.h"

namespace joulescale {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "joulescale-train: ";

/// The last line of a program's errors, without the program's name.
std::string last_line(std::string_view text) {
  text = trim(text);
  text = text.substr(text.find_last_of('\n') + 1);
  return to_valid_utf8(text.starts_with(kPrefix) ? text.substr(kPrefix.size()) : text);
}

/// The line of the option that the message names, else of the workload.
int line_of_message(const WorkloadSpec& workload, std::string_view message) {
  int line = workload.line;
  std::size_t longest = 0;
  for (const WorkloadOption& option : workload.options) {
    if (option.name.size() > longest &&
        message.find("--" + option.name) != std::string_view::npos) {
      longest = option.name.size();
      line = option.line;
    }
  }
  return line;
}

bool is_executable(const fs::path& file) {
  std::error_code ignored;
  return fs::is_regular_file(file, ignored) && ::access(file.c_str(), X_OK) == 0;
}

/// Whether a shell in `working_directory` would find the program.
bool is_program(const std::string& name, const fs::path& working_directory) {
  if (name.find('/') != std::string::npos) {
    return is_executable(working_directory / name);
  }
  const char* variable = std::getenv("PATH");
  std::string_view path = variable == nullptr ? "/usr/bin:/bin" : variable;
  while (true) {
    const std::size_t colon = path.find(':');
    if (!name.empty() && is_executable(working_directory / path.substr(0, colon) / name)) {
      return true;
    }
    if (colon == std::string_view::npos) {
      return false;
    }
    path.remove_prefix(colon + 1);
  }
}

Error study_error(const fs::path& file, int line, std::string_view what) {
  return {ErrorCode::kConfig, fmt::format("{}:{}: {}", file.native(), line, what)};
}

}  // namespace

Result<fs::path> find_trainer() {
  JOULESCALE_TRY_ASSIGN(const fs::path program, own_program());
  fs::path trainer = program.parent_path() / "joulescale-train";
  if (!is_executable(trainer)) {
    return Error(
        ErrorCode::kInvalidArgument,
        fmt::format("'{}' is not built: run ./quickstart, or scripts/bootstrap.sh and then "
                    "cmake --preset release and cmake --build --preset release",
                    trainer.native()));
  }
  return trainer;
}

Result<void> check_trainer_options(const fs::path& trainer,
                                   const std::vector<std::string>& options,
                                   std::int64_t ranks,
                                   const fs::path& working_directory) {
  std::vector<std::string> argv = {trainer.native(), "check"};
  argv.insert(argv.end(), options.begin(), options.end());
  argv.push_back(fmt::format("--ranks={}", ranks));
  JOULESCALE_TRY_ASSIGN(const CapturedRun run, run_and_capture_errors(argv, working_directory));
  if (run.status == 0) {
    return {};
  }
  std::string message = last_line(run.output);
  if (message.empty()) {
    message = fmt::format("joulescale-train check ended with status {}", run.status);
  }
  return Error(ErrorCode::kConfig, message);
}

Result<void> check_workload(const StudySpec& spec,
                            const std::vector<PlannedRun>& runs,
                            const fs::path& study_file,
                            const fs::path& working_directory) {
  const WorkloadSpec& workload = spec.workload;
  if (workload.kind == WorkloadKind::kCommand) {
    const std::string& program = workload.argv.front();
    if (program.find('{') == std::string::npos && !is_program(program, working_directory)) {
      return study_error(study_file,
                         workload.line,
                         fmt::format("workload.argv: '{}' is no program in {} or on the PATH",
                                     program,
                                     working_directory.native()));
    }
    return {};
  }
  JOULESCALE_TRY_ASSIGN(const fs::path trainer, find_trainer());
  std::set<Configuration> checked;
  for (const PlannedRun& run : runs) {
    if (!checked.insert(run.configuration).second) {
      continue;
    }
    const auto result = check_trainer_options(
        trainer, workload_arguments(spec, run, {}), run.configuration.devices, working_directory);
    if (!result) {
      return study_error(study_file,
                         line_of_message(workload, result.error().text()),
                         fmt::format("workload.options: {}", result.error().text()));
    }
  }
  return {};
}

}  // namespace joulescale
