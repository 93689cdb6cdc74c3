// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/launch.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "joulescale/base/file.h"
#include "joulescale/base/text.h"
#include "joulescale/record/run_json.h"

namespace joulescale {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kRunsFolder = "joulescale-runs";
constexpr mode_t kPrivate = 0700;

Json text_array(const std::vector<std::string>& values) {
  Json array = Json::array();
  for (const std::string& value : values) {
    array.push_back(to_valid_utf8(value));
  }
  return array;
}

std::vector<std::string> get_texts(const Json& json, const char* key) {
  std::vector<std::string> values;
  if (json.contains(key) && json[key].is_array()) {
    for (const Json& value : json[key]) {
      if (value.is_string()) {
        values.push_back(value.get<std::string>());
      }
    }
  }
  return values;
}

std::string get_text(const Json& json, const char* key) {
  return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : "";
}

Error cannot_use(const fs::path& directory, std::string_view reason) {
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("output directory '{}': {}", directory.native(), reason));
}

/// mkdir with its parents; the last one private. An empty directory that is there already is used:
/// false.
Result<bool> make_private_directory(const fs::path& directory) {
  std::error_code error;
  if (directory.has_parent_path()) {
    fs::create_directories(directory.parent_path(), error);
  }
  if (::mkdir(directory.c_str(), kPrivate) == 0) {
    return true;
  }
  if (errno != EEXIST) {
    return cannot_use(directory, fmt::format("cannot be made: {}", std::strerror(errno)));
  }
  if (!fs::is_directory(directory, error)) {
    return cannot_use(directory, "is not a directory; choose another with --output");
  }
  if (!fs::is_empty(directory, error) || error) {
    return cannot_use(directory,
                      error ? fmt::format("cannot be read: {}", error.message())
                            : "is not empty; choose another with --output, or remove it");
  }
  return false;
}

/// The first of name, name-2, name-3... that could be made.
Result<fs::path> make_default_directory(std::string_view name) {
  constexpr int kMostTries = 1'000'000;
  const fs::path base = fs::path(kRunsFolder);
  std::error_code error;
  fs::create_directories(base, error);
  if (error) {
    return cannot_use(base, fmt::format("cannot be made: {}", error.message()));
  }
  for (int i = 1; i < kMostTries; ++i) {
    const fs::path path = base / (i == 1 ? std::string(name) : fmt::format("{}-{}", name, i));
    if (::mkdir(path.c_str(), kPrivate) == 0) {
      return path;
    }
    if (errno != EEXIST) {
      return cannot_use(path, fmt::format("cannot be made: {}", std::strerror(errno)));
    }
  }
  return cannot_use(base / name, "too many runs of this name");
}

}  // namespace

std::string format_launch(const LaunchInfo& launch) {
  Json json = Json::object();
  json["schema"] = kLaunchSchema;
  json["id"] = launch.id;
  json["key"] = to_valid_utf8(launch.key);
  json["launcher"] = launch.launcher;
  json["expected_ranks"] = launch.expected_ranks;
  if (!launch.command.empty()) {
    json["command"] = text_array(launch.command);
  }
  json["started_at"] = launch.started_at;
  json["version"] = launch.version;
  json["environment"] = Json::object();
  for (const auto& [name, value] : launch.environment) {
    json["environment"][to_valid_utf8(name)] = to_valid_utf8(value);
  }
  if (launch.study) {
    json["study"] = Json::parse(format_study_record(*launch.study));
  }
  json["flags"] = text_array(launch.flags);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<LaunchInfo> parse_launch(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || get_text(json, "schema") != kLaunchSchema) {
    return Error(ErrorCode::kCorruptData, fmt::format("not a {} record", kLaunchSchema));
  }
  LaunchInfo launch;
  launch.id = get_text(json, "id");
  launch.key = get_text(json, "key");
  launch.launcher = get_text(json, "launcher");
  if (json.contains("expected_ranks") && json["expected_ranks"].is_number_integer()) {
    launch.expected_ranks = json["expected_ranks"].get<int>();
  }
  launch.command = get_texts(json, "command");
  launch.started_at = get_text(json, "started_at");
  launch.version = get_text(json, "version");
  if (json.contains("environment") && json["environment"].is_object()) {
    for (const auto& [name, value] : json["environment"].items()) {
      if (value.is_string()) {
        launch.environment[name] = value.get<std::string>();
      }
    }
  }
  if (json.contains("study")) {
    JOULESCALE_TRY_ASSIGN(launch.study, parse_study_record(json["study"].dump()));
  }
  launch.flags = get_texts(json, "flags");
  return launch;
}

std::string random_launch_id() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    std::random_device device;
    for (unsigned char& byte : bytes) {
      byte = static_cast<unsigned char>(device());
    }
  }
  std::string id;
  for (const unsigned char byte : bytes) {
    id += fmt::format("{:02x}", byte);
  }
  return id;
}

Result<RunDirectory> create_run_directory(const fs::path& wanted,
                                          std::string_view name,
                                          const LaunchInfo& launch) {
  RunDirectory directory{wanted, true};
  if (wanted.empty()) {
    JOULESCALE_TRY_ASSIGN(directory.path, make_default_directory(name));
  } else {
    JOULESCALE_TRY_ASSIGN(directory.made, make_private_directory(wanted));
  }
  std::error_code error;
  directory.path = fs::absolute(directory.path, error);
  if (auto written = write_file_atomic(directory.launch_file(), format_launch(launch), 0600);
      !written) {
    return cannot_use(directory.path, written.error().text());
  }
  return directory;
}

Result<NodeDirectory> create_node_directory(const RunDirectory& run, std::string_view name) {
  NodeDirectory node{run.nodes() / name};
  for (const fs::path& path : {run.nodes(), node.path, node.marks()}) {
    if (::mkdir(path.c_str(), kPrivate) != 0 && errno != EEXIST) {
      return cannot_use(path, fmt::format("cannot be made: {}", std::strerror(errno)));
    }
  }
  return node;
}

NodeIdentity node_identity(const std::map<std::string, std::string>& environment,
                           const fs::path& root) {
  std::array<char, 256> host{};
  NodeIdentity node;
  if (::gethostname(host.data(), host.size() - 1) == 0) {
    node.host = host.data();
  }
  if (const auto slurm = environment.find("SLURMD_NODENAME"); slurm != environment.end()) {
    node.identity = slurm->second;
    node.directory = node.identity;
  } else {
    auto boot_id = read_file(root / "proc/sys/kernel/random/boot_id", 4096);
    if (!boot_id) {
      boot_id = read_file("/proc/sys/kernel/random/boot_id", 4096);
    }
    node.identity = boot_id ? std::string(trim(*boot_id)) : node.host;
    node.directory = fmt::format("{}-{}", node.host, node.identity.substr(0, 8));
  }
  for (char& c : node.directory) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    c = is_plain ? c : '_';
  }
  if (node.directory.empty() || node.directory.starts_with('.')) {
    node.directory.insert(0, "node");
  }
  return node;
}

}  // namespace joulescale
