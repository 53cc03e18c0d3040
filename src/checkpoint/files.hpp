// File operations that let a checkpoint survive a kill or a power failure at any time: write bytes
// before names and names before renames, and flush every folder after its entries change.
//
//   if (int error = write_all(file, bytes)) cannot_write(path, error);
//   replace_folder("run/step-000100.partial", "run/step-000100");   // atomic
//   remove_folder("run/step-000050");   // disappears atomically, even if we are killed
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace nereus::checkpoint {

inline constexpr std::string_view kPartial = ".partial";  // suffix of an incomplete folder

// Returns errno, or 0.
int write_all(int file, std::span<const std::byte> bytes);
// "checkpoint.write": a wrong path is a user error; a full or broken disk is an environment error.
[[noreturn]] void cannot_write(const std::string& path, int error);

void make_folder(const std::string& path);   // with its parents; may exist
void flush_folder(const std::string& path);  // afterwards its entries are on the disk
// Moves `from` to `to`; an existing `to` is removed.
void replace_folder(const std::string& from, const std::string& to);
// Renames it to *.partial first, so that a partly removed folder never looks complete.
void remove_folder(const std::string& path);

}  // namespace nereus::checkpoint
