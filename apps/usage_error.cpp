// SPDX-License-Identifier: Apache-2.0
#include "apps/usage_error.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "joulescale/base/text.h"

namespace joulescale {
namespace {

/// The app and the commands below it that the user chose.
std::vector<const CLI::App*> chosen_commands(const CLI::App& app) {
  std::vector<const CLI::App*> chosen = {&app};
  for (auto below = app.get_subcommands(); !below.empty();
       below = chosen.back()->get_subcommands()) {
    chosen.push_back(below.front());
  }
  return chosen;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  const std::vector<std::string_view> candidates(known.begin(), known.end());
  const auto nearest = nearest_name(word, candidates);
  return nearest ? fmt::format("; did you mean {}?", *nearest) : "";
}

std::string unknown_option(const std::vector<const CLI::App*>& chosen, const std::string& word) {
  std::vector<std::string> known;
  for (const CLI::App* command : chosen) {
    for (const CLI::Option* option : command->get_options()) {
      for (const auto& name : option->get_lnames()) {
        known.push_back("--" + name);
      }
    }
  }
  const std::string name = word.substr(0, word.find('='));
  return fmt::format("unknown option '{}'{}", name, did_you_mean(name, known));
}

std::string unknown_word(const CLI::App& command, const std::string& word) {
  std::vector<std::string> known;
  for (const CLI::App* below : command.get_subcommands(nullptr)) {
    known.push_back(below->get_name());
  }
  if (known.empty()) {
    return fmt::format("unexpected argument '{}'", word);
  }
  return fmt::format("unknown command '{}' (commands: {})", word, fmt::join(known, ", "));
}

/// CLI11's word for an option with too few or too many values, in ours.
std::string wrong_count(const std::string& text) {
  const std::string option = text.substr(0, text.find(':'));
  if (text.find("At Most 1 required") != std::string::npos) {
    return fmt::format("option '{}' is given more than once", option);
  }
  return text.ends_with(" missing") ? fmt::format("option '{}' has no value", option) : text;
}

}  // namespace

std::string empty_option(std::span<const std::string> arguments) {
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    const std::string& argument = arguments[i];
    if (argument.empty()) {
      return i > 0 && arguments[i - 1].starts_with('-')
                 ? fmt::format("option '{}' has an empty value", arguments[i - 1])
                 : "an argument is empty";
    }
    if (argument.starts_with("--") && argument.find('=') == argument.size() - 1) {
      return fmt::format("option '{}' has no value", argument);
    }
  }
  return "";
}

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const auto chosen = chosen_commands(app);
  std::vector<std::string> unknown = app.remaining(/*recurse=*/true);
  std::erase(unknown, "--");
  std::string text =
      error.get_name() == "ArgumentMismatch" ? wrong_count(error.what()) : error.what();
  if (!unknown.empty()) {
    text = unknown.front().starts_with('-') ? unknown_option(chosen, unknown.front())
                                            : unknown_word(*chosen.back(), unknown.front());
  }
  std::string program;
  for (const CLI::App* command : chosen) {
    program += command->get_name() + ' ';
  }
  std::ranges::replace(text, '\n', ' ');
  return fmt::format("{} (see {}--help)", text, program);
}

}  // namespace joulescale
