// SPDX-License-Identifier: Apache-2.0
// A fake root with a powercap tree, changed between readings.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temp_dir.h"

namespace joulescale::testing {

class PowercapTree {
 public:
  static constexpr std::uint64_t kUsualRangeUj = 262'143'328'850;

  /// The directory that stands for "/".
  const std::filesystem::path& root() const { return directory_.path(); }

  /// `id`: "intel-rapl:0" or "intel-rapl:0:1".
  std::filesystem::path zone(const std::string& id) const {
    return root() / "sys/class/powercap" / id;
  }
  void add_zone(const std::string& id,
                const std::string& name,
                std::uint64_t energy_uj,
                std::uint64_t range_uj = kUsualRangeUj) {
    std::filesystem::create_directories(zone(id));
    write(zone(id) / "name", name + "\n");
    write(zone(id) / "max_energy_range_uj", std::to_string(range_uj) + "\n");
    set_energy(id, energy_uj);
  }
  void set_energy(const std::string& id, std::uint64_t energy_uj) {
    write_in_place(zone(id) / "energy_uj", std::to_string(energy_uj) + "\n");
  }
  /// Both zones show one counter: what is set of `counter` is read of `mirror`.
  void make_mirror(const std::string& mirror, const std::string& counter) {
    remove(mirror, "energy_uj");
    std::filesystem::create_symlink(zone(counter) / "energy_uj", zone(mirror) / "energy_uj");
  }
  /// As a zone whose driver fails: there, and no number in it.
  void set_no_energy(const std::string& id) { write_in_place(zone(id) / "energy_uj", "\n"); }
  void set_text(const std::string& id, const std::string& file, const std::string& text) {
    write(zone(id) / file, text);
  }
  void remove(const std::string& id, const std::string& file) {
    std::filesystem::remove_all(zone(id) / file);
  }
  /// Root ignores file modes, so an unreadable file is a directory in its place.
  void make_unreadable(const std::string& id, const std::string& file) {
    remove(id, file);
    std::filesystem::create_directories(zone(id) / file);
  }
  /// /proc/stat of a machine with `threads` threads that worked `busy_ticks` in all.
  void set_proc_stat(int threads, std::uint64_t busy_ticks) {
    std::filesystem::create_directories(root() / "proc");
    std::string text = "cpu  " + std::to_string(busy_ticks) + " 0 0 1000 50 0 0 0 0 0\n";
    for (int i = 0; i < threads; ++i) {
      text += "cpu" + std::to_string(i) + " 0 0 0 500 25 0 0 0 0 0\n";
    }
    write_in_place(root() / "proc/stat", text + "intr 0\n");
  }
  void set_memory_kib(std::uint64_t kib) {
    std::filesystem::create_directories(root() / "proc");
    write(root() / "proc/meminfo",
          "MemTotal:       " + std::to_string(kib) + " kB\nMemFree: 1 kB\n");
  }

 private:
  static void write(const std::filesystem::path& file, const std::string& text) {
    std::ofstream(file, std::ios::trunc) << text;
  }
  /// As a kernel file changes: a reader sees the old number or the new one, never none.
  static void write_in_place(const std::filesystem::path& file, const std::string& text) {
    const std::filesystem::path beside = file.native() + ".new";
    write(beside, text);
    std::filesystem::rename(beside, file);
  }

  TempDir directory_;
};

}  // namespace joulescale::testing
