// The forms of availability files (availability_file.hpp lists them). Inside simulate/job only.
#pragma once

#include "simulate/job/availability_builder.hpp"
#include "simulate/job/availability_file.hpp"

namespace nereus::simulate {

// The text of a file that is not empty, in the form that its first lines show.
void read_form(std::string_view text, const std::string& file, CountUnit unit,
               AvailabilityBuilder& builder);

}  // namespace nereus::simulate
