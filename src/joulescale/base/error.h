// SPDX-License-Identifier: Apache-2.0
// Errors as values: Error says what went wrong, where, and how to mend it; Result<T> carries a
// value or an Error. Exceptions stay inside the modules whose libraries throw them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace joulescale {

enum class ErrorCode {
  kInvalidArgument,  // the user's input is wrong: exit status 2
  kConfig,           // a configuration file is wrong: exit status 2
  kUnsupported,
  kUnavailable,
  kPermission,
  kRetryable,
  kCorruptData,
  kIo,
  kTimeout,
  kCancelled,
  kInternal,
};

/// The word for a code, as logs print it ("config", "io"…).
std::string_view error_code_name(ErrorCode code);

class [[nodiscard]] Error {
 public:
  /// `message`: one line without a full stop, ending with the remedy where one is known.
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  /// What the caller was doing and on which object; the outermost comes first in text().
  Error with_context(std::string_view context) &&;

  ErrorCode code() const { return code_; }
  /// One line: "context: context: message".
  const std::string& text() const { return message_; }

 private:
  ErrorCode code_;
  std::string message_;
};

/// The exit status of a program that ends with this error (docs: exit status): 2 for wrong input,
/// else 1.
int exit_status_of(const Error& error);

/// An Error of code kIo that names the failed call, the object and the system's reason.
Error io_error(std::string_view action, std::string_view object, int error_number);

/// An Error of code kCorruptData: a record's key is missing or of the wrong kind.
Error key_error(std::string_view key);

namespace internal {
[[noreturn]] void check_failed(const char* expression, const char* file, int line);
}  // namespace internal

/// For programmer errors only; active in every build type.
#define JOULESCALE_CHECK(expression)                                         \
  do {                                                                       \
    if (!(expression)) {                                                     \
      ::joulescale::internal::check_failed(#expression, __FILE__, __LINE__); \
    }                                                                        \
  } while (false)

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(*-explicit-*)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(*-explicit-*)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  /// The value; calling these on an error ends the program.
  T& value() & {
    JOULESCALE_CHECK(ok());
    return std::get<0>(state_);
  }
  const T& value() const& {
    JOULESCALE_CHECK(ok());
    return std::get<0>(state_);
  }
  T&& value() && {
    JOULESCALE_CHECK(ok());
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& {
    JOULESCALE_CHECK(!ok());
    return std::get<1>(state_);
  }
  Error&& error() && {
    JOULESCALE_CHECK(!ok());
    return std::get<1>(std::move(state_));
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(*-explicit-*)

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }

  const Error& error() const& {
    JOULESCALE_CHECK(!ok());
    return *error_;
  }
  Error&& error() && {
    JOULESCALE_CHECK(!ok());
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

/// Returns the error of a Result<void> expression from the enclosing function.
#define JOULESCALE_TRY(expression)                                   \
  do {                                                               \
    if (auto joulescale_result = (expression); !joulescale_result) { \
      return std::move(joulescale_result).error();                   \
    }                                                                \
  } while (false)

#define JOULESCALE_INTERNAL_CONCAT2(a, b) a##b
#define JOULESCALE_INTERNAL_CONCAT(a, b) JOULESCALE_INTERNAL_CONCAT2(a, b)
// A declaration and its type cannot stand in parentheses: NOLINTBEGIN(bugprone-macro-parentheses)
#define JOULESCALE_INTERNAL_TRY_ASSIGN(temporary, declaration, expression) \
  auto temporary = (expression);                                           \
  if (!temporary) {                                                        \
    return std::move(temporary).error();                                   \
  }                                                                        \
  declaration = std::move(temporary).value()
// NOLINTEND(bugprone-macro-parentheses)

/// JOULESCALE_TRY_ASSIGN(auto text, read_file(path)): declares and assigns the value, or returns
/// the error.
#define JOULESCALE_TRY_ASSIGN(declaration, expression) \
  JOULESCALE_INTERNAL_TRY_ASSIGN(                      \
      JOULESCALE_INTERNAL_CONCAT(joulescale_result_, __LINE__), declaration, expression)

}  // namespace joulescale
