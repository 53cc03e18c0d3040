#include "profile/import_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace nereus::profile::import_file_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// Three layers: embedding, block, head.
constexpr const char* kSizes = R"({"OPT": {"1": {
  "0": {"params_floats": 5000, "params_bytes": 20000, "act_output_floats": 640},
  "1": {"params_floats": 1000, "params_bytes": 4000, "act_output_floats": 640,
        "act_mem_bytes": 7000},
  "2": {"params_floats": 1000, "params_bytes": 4000, "act_output_floats": 640},
  "3": {"params_floats": 4900, "params_bytes": 19600, "act_output_floats": 9000}}}})";
// Micro-batches of 1 and 2; tp 1 of both, tp 2 of one.
constexpr const char* kSailor = R"({
  "2": {"1": {"0": [0.002, 3e-06, 0.01], "1": [0.02, 0.04, 0.01], "2": [0.022, 0.042, 0.01],
              "3": [0.05, 0.1, 0.01]}},
  "1": {"2": {"0": [0.001, 3e-06, 0.005], "1": [0.006, 0.012, 0.005], "2": [0.006, 0.012, 0.005],
              "3": [0.02, 0.04, 0.005]},
        "1": {"0": [0.001, 3e-06, 0.01], "1": [0.01, 0.02, 0.01], "2": [0.01, 0.02, 0.01],
              "3": [0.03, 0.06, 0.01]}}})";

std::vector<std::string> codes_of(const std::vector<ProfileFile>& files) {
  std::vector<std::string> codes;
  try {
    import_profiles(files);
  } catch (const Errors& errors) {
    for (const Error& error : errors.list()) codes.push_back(error.code);
  }
  return codes;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST(ImportProfile, SailorIsByMicroBatchThenTp) {
  const Profile p =
      import_profiles({{"x/OPT/A100-40/profile.json", kSailor}, {"llm_info.json", kSizes}});
  ASSERT_EQ(p.layers.size(), 6u);
  const MeasuredLayer& block = p.layers[1];
  EXPECT_EQ(block.role, Role::kBlock);
  EXPECT_EQ(block.model, "OPT");
  EXPECT_EQ(block.device, "A100-40");
  EXPECT_EQ(block.precision, "fp32") << "four bytes a parameter";
  EXPECT_EQ(block.tp, 1);
  EXPECT_EQ(block.elements, 640);
  EXPECT_EQ(block.parameters, 1000);
  EXPECT_EQ(block.samples, (std::vector<double>{1, 2}));
  ASSERT_EQ(block.forward.size(), 2u);
  EXPECT_DOUBLE_EQ(block.forward[0], 0.01);
  EXPECT_DOUBLE_EQ(block.forward[1], 0.021) << "the median of the blocks";
  EXPECT_DOUBLE_EQ(block.backward[1], 0.041);
  EXPECT_EQ(block.update, 0.01);
  EXPECT_EQ(block.memory, 7000);
  EXPECT_TRUE(block.includes_collectives);
  const MeasuredLayer& embedding = p.layers[0];
  EXPECT_EQ(embedding.role, Role::kEmbedding);
  EXPECT_TRUE(embedding.backward.empty()) << "3 us is an empty call";
  EXPECT_EQ(p.layers[2].role, Role::kHead);
  EXPECT_EQ(p.layers[2].forward, (std::vector<double>{0.03, 0.05}));
  EXPECT_EQ(p.layers[4].tp, 2);
  EXPECT_EQ(p.layers[4].memory, 0) << "not known of tp 2";
  EXPECT_EQ(p.layers[4].samples, (std::vector<double>{1}));
  EXPECT_EQ(p.origin.source, "github.com/eth-easl/sailor");
  EXPECT_THAT(p.notes, Contains(HasSubstr("empty call")));
  // All models and devices in one file.
  const std::string all = std::string(R"({"OPT": {"A100-40": )") + kSailor + "}}";
  EXPECT_EQ(import_profiles({{"all.json", all}, {"llm_info.json", kSizes}}).layers, p.layers);
  // And back through our own form.
  EXPECT_EQ(import_profiles({{"own.json", profile_to_json(p)}}).layers, p.layers);
}

TEST(ImportProfile, SailorOfAnotherModelIsRefused) {
  const std::string fewer = replaced(kSailor, R"("2": [0.022, 0.042, 0.01],
              "3": [0.05, 0.1, 0.01])",
                                     R"("2": [0.05, 0.1, 0.01])");
  EXPECT_EQ(codes_of({{"OPT/A100-40/profile.json", fewer}, {"llm_info.json", kSizes}}),
            std::vector<std::string>{"profile.other-model"});
  EXPECT_EQ(codes_of({{"OPT/A100-40/profile.json", kSailor}}),
            std::vector<std::string>{"profile.no-sizes"});
  EXPECT_EQ(codes_of({{"profile.json", kSailor}, {"llm_info.json", kSizes}}),
            std::vector<std::string>{"profile.no-names"});
  const std::string negative = replaced(kSailor, "0.022", "-0.022");
  EXPECT_EQ(codes_of({{"OPT/A100-40/profile.json", negative}, {"llm_info.json", kSizes}}),
            std::vector<std::string>{"profile.value"});
  const std::string zero = replaced(kSailor, "[0.02, 0.04,", "[0.02, 0,");
  EXPECT_EQ(codes_of({{"OPT/A100-40/profile.json", zero}, {"llm_info.json", kSizes}}),
            std::vector<std::string>{"profile.value"});
}

TEST(ImportProfile, NoiseOfSailorIsNotedOrLeftOut) {
  const std::string noisy = replaced(kSailor, "[0.05, 0.1,", "[0.025, 0.1,");
  const Profile some =
      import_profiles({{"OPT/A100-40/profile.json", noisy}, {"llm_info.json", kSizes}});
  EXPECT_EQ(some.layers.size(), 6u);
  EXPECT_THAT(some.notes,
              Contains(HasSubstr("at 2 points the time falls though there are more samples")));
  const std::string broken = replaced(kSailor, "[0.05, 0.1,", "[0.005, 0.1,");
  const Profile less =
      import_profiles({{"OPT/A100-40/profile.json", broken}, {"llm_info.json", kSizes}});
  EXPECT_EQ(less.layers.size(), 5u);
  EXPECT_THAT(less.notes, Contains(HasSubstr("is ignored: more samples take less")));
}

TEST(ImportProfile, CephaloHasBlocksAlone) {
  const char* times =
      R"({"gpt": {"l4": {"512": {"float16": [[2, 1], [4, 3], [2.5, 5.5], [7, 11]]}},
                  "t4": {"512": {"float16": [[2, 1], [4, 3]], "float32": [3, 1]}}},
          "bert": {"l4": {"512": {"float16": [[2, 1], [4, 3], [2.5], [7]]}}}})";
  const char* sizes = R"({"gpt": {"hidden_size": 64, "num_layers": 2,
                                  "parameters_per_layer": 50000, "total_parameters": 100000}})";
  const Profile p = import_profiles({{"model_latencies.json", times}, {"model_stats.json", sizes}});
  ASSERT_EQ(p.layers.size(), 2u);
  EXPECT_FALSE(p.layers[0].fitted);
  EXPECT_TRUE(p.layers[1].fitted) << "a line alone";
  EXPECT_EQ(p.layers[1].forward, (std::vector<double>{3e-3, 129e-3}));
  EXPECT_EQ(p.layers[0].hidden, 64);
  EXPECT_EQ(p.layers[0].seq, 512);
  EXPECT_EQ(p.layers[0].precision, "fp16");
  EXPECT_EQ(p.layers[0].forward, (std::vector<double>{2.5e-3, 5.5e-3}));
  EXPECT_FALSE(p.layers[0].includes_launches) << "kernels alone";
  EXPECT_THAT(p.notes, Contains(HasSubstr("1 entry is a fitted line")));
  EXPECT_THAT(p.notes, Contains(HasSubstr("models whose sizes are not in any given file")));
  EXPECT_EQ(codes_of({{"model_latencies.json", times}}), std::vector<std::string>{"profile.empty"});
}

TEST(ImportProfile, OtherFilesAreNamed) {
  EXPECT_EQ(form_of({"a.json", "{\"train_batch_size\": 4}"}), ProfileForm::kNone);
  EXPECT_EQ(form_of({"a.json", "not json"}), ProfileForm::kNone);
  EXPECT_EQ(form_of({"a.json", kSizes}), ProfileForm::kSailorSizes);
  EXPECT_EQ(codes_of({{"a.json", "{\"train_batch_size\": 4}"}}),
            std::vector<std::string>{"profile.unknown-form"});
}

}  // namespace
}  // namespace nereus::profile::import_file_test
