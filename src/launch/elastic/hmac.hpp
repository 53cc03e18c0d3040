// SHA-256 (FIPS 180-4) and HMAC over it (RFC 2104): agents and their coordinator prove to each
// other that they know the job's token, without sending it.
//
//   std::string proof = hmac_sha256(token, "agent" + challenge);     // 64 hexadecimal digits
//   if (!same_text(proof, expected)) ...                             // in constant time
#pragma once

#include <string>
#include <string_view>

namespace nereus::launch {

std::string sha256(std::string_view bytes);  // 32 bytes
std::string hmac_sha256(std::string_view key, std::string_view text);
bool same_text(std::string_view a, std::string_view b);
std::string random_hex(int bytes);  // from the system's cryptographic random source

}  // namespace nereus::launch
