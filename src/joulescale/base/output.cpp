// SPDX-License-Identifier: Apache-2.0
#include "joulescale/base/output.h"

#include <fcntl.h>
#include <unistd.h>

namespace joulescale {

void print_text(std::FILE* stream, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fflush(stream);
}

void keep_standard_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) {
      ::open("/dev/null", O_RDWR | O_CLOEXEC);  // takes the lowest free number, which is this one
    }
  }
}

}  // namespace joulescale
