// SPDX-License-Identifier: Apache-2.0
// A run's timeline as CSV, out of its journals, in constant memory: one row a value read. The
// columns are documented in docs/formats.md.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "joulescale/base/error.h"

namespace joulescale {

/// Takes the text piece by piece; an error ends the export.
using TextSink = std::function<Result<void>(std::string_view)>;

/// `path`: the run directory. Rows by node, by rank whose monitor read, then as written: those of
/// one channel in the order of time. A reading without a value has no row. The value: what to say
/// of them, a line for each journal of which a part is torn or damaged, so that its rows end early,
/// and one if there are no rows. Errors: kInvalidArgument for what is no run directory or has no
/// journals, kCorruptData or kIo for a journal that cannot be read, the sink's own.
Result<std::vector<std::string>> export_csv(const std::filesystem::path& path,
                                            const TextSink& sink);

}  // namespace joulescale
