#include "cost/basis.hpp"

#include <gtest/gtest.h>

#include <type_traits>

#include "cost/machine_rates.hpp"
#include "cost/measured.hpp"
#include "cost/measured_network.hpp"
#include "stack/stack_file.hpp"

namespace nereus::cost::basis_test {
namespace {

Basis measured_basis() {
  Basis basis(load_stack("megatron"));
  basis.layers = std::make_shared<const MeasuredLayers>();
  basis.networks = std::make_shared<const MeasuredNetworks>();
  return basis;
}

TEST(Basis, KeepsWhatWasMeasuredWhenTheSoftwareChanges) {
  const Basis basis = measured_basis();
  const Basis other = basis.with_stack(load_stack("nanotron"));
  EXPECT_EQ(other.stack.name, "nanotron");
  EXPECT_EQ(other.layers, basis.layers);
  EXPECT_EQ(other.networks, basis.networks);
  EXPECT_EQ(basis.stack.name, "megatron");

  const Basis wide = basis.in_precision(cluster::Precision::kFp32);
  EXPECT_EQ(wide.stack.options, options_for(basis.stack.options, cluster::Precision::kFp32));
  EXPECT_NE(wide.stack.options, basis.stack.options);
  EXPECT_EQ(wide.layers, basis.layers);
  EXPECT_EQ(wide.networks, basis.networks);
}

// A stack has no measurements, so passing it on instead of the basis, which would lose them, must
// not compile.
TEST(Basis, IsNotAStackByMistake) {
  static_assert(!std::is_convertible_v<Stack, Basis>);
  EXPECT_FALSE(Basis(load_stack("megatron")).layers);
  EXPECT_FALSE(Basis(load_stack("megatron")).networks);
}

}  // namespace
}  // namespace nereus::cost::basis_test
