// The formats of availability files (availability_file.hpp lists them). Only for use inside
// simulate/job.
#pragma once

#include "simulate/job/availability_builder.hpp"
#include "simulate/job/availability_file.hpp"

namespace nereus::simulate {

// Reads the text of a file, which must not be empty, in the format that its first lines show.
void read_form(std::string_view text, const std::string& file, CountUnit unit,
               AvailabilityBuilder& builder);

}  // namespace nereus::simulate
