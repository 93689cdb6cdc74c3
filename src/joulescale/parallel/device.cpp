// SPDX-License-Identifier: Apache-2.0
#include "joulescale/parallel/device.h"

#include <dlfcn.h>

#include <exception>
#include <filesystem>

#include <fmt/format.h>

#include "joulescale/base/file.h"
#include "joulescale/parallel/cuda/cuda_library.h"

namespace joulescale {
namespace {

Error unavailable(std::string_view why) {
  return {ErrorCode::kInvalidArgument,
          fmt::format("--device cuda: {} (--device cpu needs no GPU)", why)};
}

/// The library lies in lib/ beside the program's bin/. It stays loaded: torch's CUDA part cannot be
/// unloaded.
Result<const CudaLibrary*> load_library() {
  std::error_code error;
  const auto program = own_program();
  const auto file = (program ? *program : std::filesystem::path()).parent_path().parent_path() /
                    "lib" / kCudaLibraryFile;
  if (!program || !std::filesystem::exists(file, error)) {
    return unavailable(fmt::format(
        "there is no {}: this build has no CUDA part (JOULESCALE_WITH_CUDA)", file.native()));
  }
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    return unavailable(fmt::format("cannot load it: {}", ::dlerror()));
  }
  const auto entry =
      reinterpret_cast<const CudaLibrary* (*)()>(::dlsym(library, kCudaLibrarySymbol));
  if (entry == nullptr) {
    return unavailable(fmt::format("{} is not a library of joulescale", file.native()));
  }
  return entry();
}

}  // namespace

Result<Device> Device::open(std::string_view name, int local_rank) {
  Device device;
  if (name == "cpu") {
    return device;
  }
  JOULESCALE_CHECK(name == "cuda");
  JOULESCALE_TRY_ASSIGN(const CudaLibrary* library, load_library());
  try {
    const int count = library->device_count();
    if (count == 0) {
      return unavailable("no GPU is visible (driver missing, or CUDA_VISIBLE_DEVICES is empty)");
    }
    device.index_ = local_rank % count;
    library->select_device(device.index_);
    device.uuid_ = library->device_uuid(device.index_);
  } catch (const std::exception& exception) {
    const std::string_view text = exception.what();
    return unavailable(text.substr(0, text.find('\n')));
  }
  device.cuda_ = library;
  return device;
}

void Device::synchronize() const {
  if (cuda_ != nullptr) {
    cuda_->synchronize(index_);
  }
}

}  // namespace joulescale
