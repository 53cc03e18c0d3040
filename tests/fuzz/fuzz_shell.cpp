#include "export/shell.hpp"
#include "fuzz.hpp"

NEREUS_FUZZER(shell)(const std::uint8_t* data, std::size_t size) {
  using namespace nereus;
  return fuzz(data, size, [](std::string_view text) {
    const exporting::Script script = exporting::read_script(text, "fuzz.sh");
    for (const exporting::Command& command : script.commands)
      NEREUS_CHECK(!command.words.empty() && command.line >= 1, "a command without words or place");
  });
}
