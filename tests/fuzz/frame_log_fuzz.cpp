// SPDX-License-Identifier: Apache-2.0
// Frame logs (journals, marks): any bytes give whole frames and a torn rest, or are refused.
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>

#include "joulescale/base/frame_log.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::filesystem::path kFile =
      std::filesystem::temp_directory_path() / ("frame_log_fuzz." + std::to_string(::getpid()));
  std::ofstream(kFile, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  const auto log = joulescale::read_frame_log(kFile, "TESTLOG1");
  std::filesystem::remove(kFile);
  if (log && log->torn_bytes > size) {
    __builtin_trap();
  }
  return 0;
}
