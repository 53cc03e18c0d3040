// Where the checkout is, for tests that read its data. One object knows it: a path in every command
// would keep the compiler's cache from serving another checkout.
#pragma once

#include <string>

namespace nereus {

std::string source_dir();

}  // namespace nereus
