// What the disk must be told so that a checkpoint survives a kill or a power cut at any moment:
// bytes before names, names before renames, and every folder flushed after its entries change.
//
//   if (int error = write_all(file, bytes)) cannot_write(path, error);
//   replace_folder("run/step-000100.partial", "run/step-000100");   // one step, or none
//   remove_folder("run/step-000050");   // gone in one step, whatever kills us meanwhile
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace nereus::checkpoint {

inline constexpr std::string_view kPartial = ".partial";  // ending of a folder that is not complete

// The number of the error, or 0.
int write_all(int file, std::span<const std::byte> bytes);
// "checkpoint.write": a wrong path is the user's to mend, a full or broken disk the machine's.
[[noreturn]] void cannot_write(const std::string& path, int error);

void make_folder(const std::string& path);   // and those above it; one that exists is fine
void flush_folder(const std::string& path);  // its entries are on the disk afterwards
// Puts `from` in the place of `to`, which may exist and is then removed.
void replace_folder(const std::string& from, const std::string& to);
// Renames it to *.partial first, so that half of it never looks like a whole one.
void remove_folder(const std::string& path);

}  // namespace nereus::checkpoint
