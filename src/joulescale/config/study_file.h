// SPDX-License-Identifier: Apache-2.0
// Study files (TOML, schema joulescale.study/1) to StudySpec. docs/studies.md describes them.
#pragma once

#include <filesystem>
#include <string_view>

#include "joulescale/base/error.h"
#include "joulescale/config/study_spec.h"

namespace joulescale {

/// Errors (kConfig) are one line "file:line: key: what is wrong; what is allowed", about the first
/// thing that is wrong. `file_name` is used for that only.
Result<StudySpec> parse_study(std::string_view text, std::string_view file_name);

/// parse_study() of a file.
Result<StudySpec> read_study(const std::filesystem::path& file);

}  // namespace joulescale
