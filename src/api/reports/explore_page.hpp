// A study as one HTML page: the tables of `nereus explore` with pictures.
//
//   write_file("report.html", explore_page(answer));
#pragma once

#include <string>

#include "app/explore/explore.hpp"

namespace nereus::api {

std::string explore_page(const app::ExploreAnswer& answer);

}  // namespace nereus::api
