// SPDX-License-Identifier: Apache-2.0
#include "joulescale/base/error.h"

#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace joulescale {

std::string_view error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kConfig:
      return "config";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kPermission:
      return "permission";
    case ErrorCode::kRetryable:
      return "retryable";
    case ErrorCode::kCorruptData:
      return "corrupt_data";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kTimeout:
      return "timeout";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "unknown";
}

Error Error::with_context(std::string_view context) && {
  message_.insert(0, std::string(context) + ": ");
  return std::move(*this);
}

int exit_status_of(const Error& error) {
  const bool wrong_input =
      error.code() == ErrorCode::kInvalidArgument || error.code() == ErrorCode::kConfig;
  return wrong_input ? 2 : 1;
}

Error io_error(std::string_view action, std::string_view object, int error_number) {
  std::string message = "cannot ";
  message.append(action).append(" '").append(object).append("': ");
  message.append(std::generic_category().message(error_number));
  return {ErrorCode::kIo, std::move(message)};
}

Error key_error(std::string_view key) {
  return {ErrorCode::kCorruptData, "'" + std::string(key) + "' is missing or of the wrong kind"};
}

namespace internal {
void check_failed(const char* expression, const char* file, int line) {
  std::fprintf(
      stderr, "joulescale: internal error: %s is false at %s:%d\n", expression, file, line);
  std::abort();
}
}  // namespace internal

}  // namespace joulescale
