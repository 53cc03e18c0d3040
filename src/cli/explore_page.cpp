#include "cli/explore_page.hpp"
namespace nereus::cli {
std::string explore_page(const app::ExploreAnswer&) { return {}; }
}
