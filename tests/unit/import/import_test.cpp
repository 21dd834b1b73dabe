// What the importer reads, and one clear sentence for each way a file can be broken.
#include "import/import.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "model_file.hpp"

namespace peraxis::import {
namespace {

using test::Builder;
using test::ModelSpec;
using test::op_with;
using testing::ElementsAre;
using testing::HasSubstr;

Result<ir::Graph> import_spec(const ModelSpec& spec) {
  return import_tflite(test::build(spec), "test");
}

TEST(Import, ReadsEveryPartOfAConvolution) {
  const auto graph = import_spec(test::conv_model());
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_TRUE(ir::verify(*graph));
  EXPECT_EQ(graph->name, "test");
  ASSERT_EQ(graph->tensors.size(), 4U);
  EXPECT_EQ(graph->tensors[0].name, "in");
  EXPECT_THAT(graph->tensors[0].shape, ElementsAre(1, 4, 5, 2));
  EXPECT_FALSE(graph->tensors[0].is_constant);
  EXPECT_THAT(graph->tensors[1].quant.scale, ElementsAre(0.1F, 0.2F, 0.3F));
  EXPECT_TRUE(graph->tensors[1].is_constant);
  EXPECT_THAT(graph->tensors[1].data, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(graph->tensors[2].type, ir::DataType::Int32);
  EXPECT_FALSE(graph->tensors[2].quant.quantized());
  EXPECT_EQ(graph->tensors[3].quant.zero_point[0], -7);
  ASSERT_EQ(graph->ops.size(), 1U);
  EXPECT_EQ(graph->ops[0].kind, ir::OpKind::Conv2D);
  EXPECT_THAT(graph->ops[0].inputs, ElementsAre(0, 1, 2));
  EXPECT_EQ(std::get<ir::ConvAttributes>(graph->ops[0].attributes),
            (ir::ConvAttributes{{}, 1, 1, 1, 1, ir::Activation::Relu6}));
  EXPECT_THAT(graph->inputs, ElementsAre(0));
  EXPECT_THAT(graph->outputs, ElementsAre(3));
}

TEST(Import, AlignmentOfTheBytesDoesNotMatter) {
  const std::vector<uint8_t> bytes = test::build(test::conv_model());
  for (size_t shift = 0; shift < 8; ++shift) {
    std::vector<uint8_t> moved(shift, 0);
    moved.insert(moved.end(), bytes.begin(), bytes.end());
    EXPECT_TRUE(import_tflite(std::span(moved).subspan(shift), "moved")) << shift;
  }
}

TEST(Import, OldAndNewOperatorCodes) {
  ModelSpec old_file = test::conv_model();
  old_file.codes = {{3, 0, ""}};
  EXPECT_TRUE(import_spec(old_file));
  ModelSpec new_file = test::conv_model();
  new_file.codes = {{0, 3, ""}};
  EXPECT_TRUE(import_spec(new_file));
  ModelSpec placeholder = test::conv_model();
  placeholder.codes = {{127, 151, ""}};
  EXPECT_THAT(import_spec(placeholder).error().message,
              HasSubstr("operator 0 is DYNAMIC_UPDATE_SLICE (code 151)"));
}

TEST(Import, OptionalInputNamesAndZeroPoints) {
  ModelSpec model = test::conv_model();
  model.ops[0].inputs[2] = -1;
  model.tensors[0].name.reset();
  model.tensors[3].name = "tensor\n\"\xff";
  model.tensors[1].zero_point = {0};  // one for all channels
  const auto graph = import_spec(model);
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_EQ(graph->ops[0].inputs[2], ir::kAbsent);
  EXPECT_EQ(graph->tensors[0].name, "");
  EXPECT_EQ(graph->tensors[3].name, "tensor\n\"\xff");
  EXPECT_THAT(graph->tensors[1].quant.zero_point, ElementsAre(0, 0, 0));
}

TEST(Import, InputsHaveTheirDeclaredSize) {
  ModelSpec model = test::conv_model();
  model.tensors[0].shape_signature = {-1, 4, -1, 2};
  const auto graph = import_spec(model);
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_FALSE(graph->tensors[0].open_shape);
  EXPECT_THAT(graph->tensors[0].shape, ElementsAre(1, 4, 5, 2));
  EXPECT_FALSE(graph->tensors[3].open_shape);
  EXPECT_TRUE(ir::verify(*graph));
}

TEST(Import, ShapesAreOpenWhereNoneIsDeclaredOrASizeIsDynamic) {
  for (const bool dynamic : {false, true}) {
    ModelSpec model = test::conv_model();
    if (dynamic) {
      model.tensors[3].shape_signature = {1, -1, -1, 3};
      model.tensors[3].shape = {1, 1, 1, 3};
    } else {
      model.tensors[3].shape.clear();
    }
    auto graph = import_spec(model);
    ASSERT_TRUE(graph) << graph.error().text();
    EXPECT_TRUE(graph->tensors[3].open_shape);
    EXPECT_THAT(ir::verify(*graph).error().message, HasSubstr("tensor 3 'out': it has no shape"));
    ASSERT_TRUE(ir::infer_shapes(*graph, 0));
    EXPECT_THAT(graph->tensors[3].shape, ElementsAre(1, 4, 5, 3));
    EXPECT_TRUE(ir::verify(*graph));
  }
}

TEST(Import, AnotherShapeOfAnInput) {
  const std::vector<uint8_t> bytes = test::build(test::conv_model());
  for (const char* name : {"in", "0"}) {
    auto graph = import_tflite(bytes, "test", {"", {{name, {2, 7, 6, 2}}}});
    ASSERT_TRUE(graph) << graph.error().text();
    EXPECT_THAT(graph->tensors[0].shape, ElementsAre(2, 7, 6, 2));
    EXPECT_TRUE(graph->tensors[3].open_shape);
    ASSERT_TRUE(ir::infer_shapes(*graph, 0));
    EXPECT_THAT(graph->tensors[3].shape, ElementsAre(2, 7, 6, 3));
  }
  EXPECT_THAT(import_tflite(bytes, "test", {"", {{"x", {1}}}}).error().message,
              HasSubstr("a shape is given for 'x', but the inputs are 0 'in'"));
  EXPECT_THAT(import_tflite(bytes, "test", {"", {{"in", {1, 0, 6, 2}}}}).error().message,
              HasSubstr("has the dimension 0"));
}

// LiteRT takes a RESHAPE's shape from its options where the operand is missing or no int32 vector.
TEST(Import, ReshapeByItsOptions) {
  const auto reshaped = [](tfl::TensorType type, bool with_operand, std::vector<int32_t> operand_shape) {
    ModelSpec model;
    model.codes = {{22, 22, ""}};
    model.add({.name = "in", .shape = {1, 6}});
    model.add({.name = "out", .shape = {3, 2}});
    const std::vector<uint8_t> bytes(type == tfl::TensorType::INT64 ? 16 : 8, 1);
    model.add_constant({.name = "shape", .shape = std::move(operand_shape), .type = type, .scale = {}},
                       bytes);
    std::vector<int32_t> inputs = {0};
    if (with_operand) inputs.push_back(2);
    model.ops = {
        op_with<tfl::ReshapeOptions>(tfl::BuiltinOptions::ReshapeOptions, inputs, {1}, [](Builder& builder) {
          const std::vector<int32_t> shape = {-1, 2};
          return tfl::CreateReshapeOptionsDirect(builder, &shape);
        })};
    model.inputs = {0};
    model.outputs = {1};
    return import_spec(model);
  };
  for (const auto& graph :
       {reshaped(tfl::TensorType::INT32, false, {2}), reshaped(tfl::TensorType::INT64, true, {2}),
        reshaped(tfl::TensorType::INT32, true, {1, 2})}) {
    ASSERT_TRUE(graph) << graph.error().text();
    EXPECT_THAT(graph->ops[0].inputs, ElementsAre(0, 3));
    EXPECT_THAT(graph->tensors[3].data, ElementsAre(255, 255, 255, 255, 2, 0, 0, 0));
    EXPECT_TRUE(ir::verify(*graph));
  }
  const auto by_operand = reshaped(tfl::TensorType::INT32, true, {2});
  ASSERT_TRUE(by_operand) << by_operand.error().text();
  EXPECT_THAT(by_operand->ops[0].inputs, ElementsAre(0, 2));
}

TEST(Import, SignaturesChooseTheSubgraph) {
  ModelSpec model = test::conv_model();
  model.subgraphs = 2;
  model.signatures = {{"first", 0}, {"second", 1}, {"lost", 2}};
  const std::vector<uint8_t> bytes = test::build(model);
  for (const char* key : {"", "first", "second"}) EXPECT_TRUE(import_tflite(bytes, "test", {key})) << key;
  EXPECT_THAT(import_tflite(bytes, "test", {"third"}).error().message,
              HasSubstr("no signature 'third'; its signatures are 'first', 'second', 'lost'"));
  EXPECT_THAT(import_tflite(bytes, "test", {"lost"}).error().message,
              HasSubstr("signature 'lost' names subgraph 2, the file has 2"));
  const auto entries = read_entries(bytes);
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->signatures.size(), 3U);
  EXPECT_EQ(entries->signatures[1].key, "second");
  EXPECT_EQ(entries->signatures[1].subgraph, 1U);
}

TEST(Import, OperatorsAreCountedByKindAndVersion) {
  ModelSpec model = test::conv_model();
  model.codes = {{3, 3, ""}, {32, 32, "Mine"}, {3, 3, "", 2}};
  for (const uint32_t code : {1U, 0U, 1U, 2U}) {
    test::OpSpec op = model.ops[0];
    op.code = code;
    model.ops.push_back(op);
  }
  const auto counts = count_operators(test::build(model));
  ASSERT_TRUE(counts);
  ASSERT_EQ(counts->size(), 3U);
  EXPECT_EQ((*counts)[0].name, "CONV_2D");
  EXPECT_EQ((*counts)[0].count, 2);
  EXPECT_TRUE((*counts)[0].refusal.empty());
  EXPECT_EQ((*counts)[1].name, "Mine");
  EXPECT_EQ((*counts)[1].count, 2);
  EXPECT_EQ((*counts)[1].first, 1U);
  EXPECT_EQ((*counts)[1].refusal, "not supported");
  EXPECT_EQ((*counts)[2].version, 2);
  EXPECT_EQ((*counts)[2].first, 4U);
}

TEST(Import, LooksLikeTflite) {
  const std::vector<uint8_t> bytes = test::build(test::conv_model());
  EXPECT_TRUE(looks_like_tflite(bytes));
  EXPECT_FALSE(looks_like_tflite(std::span(bytes).first(7)));
  EXPECT_FALSE(looks_like_tflite({}));
  const std::string other = "PK\3\4 something";
  EXPECT_FALSE(looks_like_tflite(std::span(reinterpret_cast<const uint8_t*>(other.data()), other.size())));
}

// The file format's verifier lets a vector of 64-bit values stand at a multiple of 4: here the reference to
// the zero points [1, 5] is moved on by 4 bytes, which reads as the one value 5 * 2^32 (undefined behaviour
// when it is loaded in place; found by fuzzing).
TEST(Import, MisalignedZeroPointsAreRead) {
  ModelSpec model = test::conv_model();
  model.tensors[0].zero_point = {1, 5};
  std::vector<uint8_t> bytes = test::build(model);
  const std::vector<uint8_t> vector{2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0};
  const auto found = std::search(bytes.begin(), bytes.end(), vector.begin(), vector.end());
  ASSERT_NE(found, bytes.end());
  const auto target = static_cast<uint32_t>(found - bytes.begin());
  uint32_t at = target - 4;  // the table with the reference stands shortly before the vector
  uint32_t offset = 0;
  for (; at > 0; at -= 4) {
    std::memcpy(&offset, bytes.data() + at, 4);
    if (at + offset == target) break;
  }
  ASSERT_GT(at, 0U);
  offset += 4;
  std::memcpy(bytes.data() + at, &offset, 4);
  const auto graph = import_tflite(bytes, "moved");
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_THAT(graph->tensors[0].quant.zero_point, ElementsAre(int64_t{5} << 32));
}

struct Break {
  const char* what;
  std::function<void(ModelSpec&)> change;
  ErrorCode code;
  const char* text;  // a part of message and notes
};

class Refused : public testing::TestWithParam<Break> {};

TEST_P(Refused, WithItsSentence) {
  ModelSpec model = test::conv_model();
  GetParam().change(model);
  const auto graph = import_spec(model);
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, GetParam().code) << graph.error().text();
  EXPECT_THAT(graph.error().text(), HasSubstr(GetParam().text));
}

constexpr auto kInvalid = ErrorCode::InvalidModel;
constexpr auto kUnsupported = ErrorCode::Unsupported;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

void set_options(ModelSpec& model, tfl::Padding padding, tfl::ActivationFunctionType activation) {
  model.ops[0].options = [=](Builder& builder) {
    return tfl::CreateConv2DOptions(builder, padding, 1, 1, activation).Union();
  };
}

std::string break_name(const testing::TestParamInfo<Break>& param) {
  return param.param.what;
}

INSTANTIATE_TEST_SUITE_P(
    File, Refused,
    testing::Values(
        Break{"version", [](ModelSpec& m) { m.version = 4; }, kUnsupported, "schema version 4; only 3"},
        Break{"no_subgraph", [](ModelSpec& m) { m.subgraphs = 0; }, kInvalid, "no subgraph"},
        Break{"no_buffers", [](ModelSpec& m) { m.no_buffers = true; }, kInvalid, "buffer 1 does not exist"},
        Break{"input_index", [](ModelSpec& m) { m.inputs = {4}; }, kInvalid,
              "graph input 0 is tensor 4, the file has 4"},
        Break{"output_index", [](ModelSpec& m) { m.outputs = {3, -1}; }, kInvalid,
              "graph output 1 is tensor -1"},
        Break{"op_input", [](ModelSpec& m) { m.ops[0].inputs = {0, 1, 9}; }, kInvalid,
              "input 2 is tensor 9, the file has 4\n  in operator 0 (conv_2d)"},
        Break{"op_input_negative", [](ModelSpec& m) { m.ops[0].inputs = {0, -2, 2}; }, kInvalid,
              "input 1 is tensor -2"},
        Break{"op_output_absent", [](ModelSpec& m) { m.ops[0].outputs = {-1}; }, kInvalid,
              "output 0 is tensor -1"},
        Break{"op_code_index", [](ModelSpec& m) { m.ops[0].code = 1; }, kInvalid,
              "operator 0 names operator code 1, the file has 1"},
        Break{"unknown_operator", [](ModelSpec& m) { m.codes = {{16, 16, ""}}; }, kUnsupported,
              "operator 0 is LSTM (code 16): not supported"},
        Break{"nonsense_operator", [](ModelSpec& m) { m.codes = {{-5, -100, ""}}; }, kUnsupported,
              "operator 0 is of an unknown kind (code -5)"},
        Break{"future_operator", [](ModelSpec& m) { m.codes = {{0, 1 << 30, ""}}; }, kUnsupported,
              "(code 1073741824)"},
        Break{"custom", [](ModelSpec& m) { m.codes = {{32, 32, "FlexErf"}}; }, kUnsupported,
              "operator 0 is the custom operator 'FlexErf': it runs inside TensorFlow"},
        Break{"op_version", [](ModelSpec& m) { m.codes[0].version = 9; }, kUnsupported,
              "operator 0 is CONV_2D (code 3): version 9, but LiteRT 2.3.0 knows 1 to 8"},
        Break{"version_zero", [](ModelSpec& m) { m.codes[0].version = 0; }, kUnsupported, "version 0, but"},
        Break{"other_chip", [](ModelSpec& m) { m.codes = {{32, 32, "ethos-u"}}; }, kUnsupported,
              "the file was compiled for Arm's Ethos-U; bring the TFLite file that was given to Vela"},
        Break{"control_flow", [](ModelSpec& m) { m.codes = {{118, 118, ""}}; }, kUnsupported,
              "operator 0 is IF (code 118): it runs another subgraph"},
        Break{"state", [](ModelSpec& m) { m.codes = {{127, 142, ""}}; }, kUnsupported,
              "operator 0 is VAR_HANDLE (code 142): it keeps state"},
        Break{"detection_without_options",
              [](ModelSpec& m) { m.codes = {{32, 32, "TFLite_Detection_PostProcess"}}; }, kInvalid,
              "it has no options\n  in operator 0 (detection_post_process)"},
        Break{"no_options",
              [](ModelSpec& m) {
                m.ops[0].options_type = tfl::BuiltinOptions::NONE;
                m.ops[0].options = nullptr;
              },
              kInvalid, "it has no options"},
        Break{"foreign_options",
              [](ModelSpec& m) {
                m.ops[0].options_type = tfl::BuiltinOptions::SoftmaxOptions;
                m.ops[0].options = [](Builder& b) { return tfl::CreateSoftmaxOptions(b, 1.0F).Union(); };
              },
              kInvalid, "its options are of another operator (SoftmaxOptions, type 9)"},
        Break{"padding", [](ModelSpec& m) { set_options(m, static_cast<tfl::Padding>(2), {}); }, kInvalid,
              "the padding code 2"},
        Break{"tanh", [](ModelSpec& m) { set_options(m, {}, tfl::ActivationFunctionType::TANH); },
              kUnsupported, "the fused activation TANH (code 4)"},
        Break{"activation_code",
              [](ModelSpec& m) { set_options(m, {}, static_cast<tfl::ActivationFunctionType>(99)); },
              kUnsupported, "the fused activation unknown (code 99)"},
        Break{"shuffled",
              [](ModelSpec& m) {
                m.codes = {{9, 9, ""}};
                m.ops[0].options_type = tfl::BuiltinOptions::FullyConnectedOptions;
                m.ops[0].options = [](Builder& b) {
                  return tfl::CreateFullyConnectedOptions(
                             b, tfl::ActivationFunctionType::NONE,
                             tfl::FullyConnectedOptionsWeightsFormat::SHUFFLED4x16INT8)
                      .Union();
                };
              },
              kUnsupported, "the weights format 1 (shuffled)"}),
    break_name);

INSTANTIATE_TEST_SUITE_P(
    Tensors, Refused,
    testing::Values(
        Break{"bfloat16", [](ModelSpec& m) { m.tensors[1].type = tfl::TensorType::BFLOAT16; }, kUnsupported,
              "the type BFLOAT16 (code 18) is not supported\n  in tensor 1 'weights'"},
        Break{"int4_activation", [](ModelSpec& m) { m.tensors[0].type = tfl::TensorType::INT4; },
              kUnsupported, "the type INT4 (code 17) is supported for constants only"},
        Break{"float16_activation", [](ModelSpec& m) { m.tensors[3].type = tfl::TensorType::FLOAT16; },
              kUnsupported, "the type FLOAT16 (code 1) is supported for constants only"},
        Break{"type_code", [](ModelSpec& m) { m.tensors[1].type = static_cast<tfl::TensorType>(100); },
              kUnsupported, "the type unknown (code 100)"},
        Break{"sparse_without_order",
              [](ModelSpec& m) {
                m.tensors[1].sparsity = [](Builder& b) { return tfl::CreateSparsityParameters(b); };
              },
              kInvalid, "a sparse tensor of rank 4 with 0 blocked dimensions has 0 dimensions in its order"},
        Break{"variable", [](ModelSpec& m) { m.tensors[0].is_variable = true; }, kUnsupported,
              "operator 0 (conv_2d): input 0 (tensor 0 'in') is a variable tensor; a variable tensor is the "
              "state of one svdf"},
        Break{"custom_quantization", [](ModelSpec& m) { m.tensors[0].custom_quantization = true; },
              kUnsupported, "its quantization is of a custom kind, like blockwise (details of type 1)"},
        Break{"dynamic_without_size",
              [](ModelSpec& m) {
                m.tensors[0].shape = {1, -1, 5, 2};
                m.tensors[0].shape_signature = {1, -1, 5, 2};
              },
              kUnsupported,
              "the input has a dynamic size and declares none ([1,-1,5,2]); give one: --shape 'in'="},
        Break{"zero_dimension", [](ModelSpec& m) { m.tensors[0].shape = {1, 0, 5, 2}; }, kInvalid,
              "shape [1,0,5,2] has the dimension 0"},
        Break{"negative_dimension", [](ModelSpec& m) { m.tensors[0].shape = {1, -4, 5, 2}; }, kInvalid,
              "the dimension -4"},
        Break{"huge", [](ModelSpec& m) { m.tensors[0].shape = {65536, 65536, 65536, 65536}; }, kUnsupported,
              "more than 2147483647 elements"},
        Break{"rank", [](ModelSpec& m) { m.tensors[0].shape.assign(1000, 1); }, kUnsupported,
              "rank 1000 is above the limit of 8"},
        Break{"buffer_index", [](ModelSpec& m) { m.tensors[1].buffer = 77; }, kInvalid,
              "buffer 77 does not exist; the file has 3"},
        Break{"short_data", [](ModelSpec& m) { m.buffers[1].data.pop_back(); }, kInvalid,
              "buffer 1 has 5 bytes, int8 of shape [3,1,1,2] needs 6"},
        Break{"long_data", [](ModelSpec& m) { m.buffers[2].data.push_back(0); }, kInvalid,
              "buffer 2 has 13 bytes, int32 of shape [3] needs 12"},
        Break{"data_outside", [](ModelSpec& m) { m.buffers[1] = {{}, 5000000000, 6}; }, kInvalid,
              "buffer 1: 6 bytes at offset 5000000000, but the file has "},
        Break{"data_size", [](ModelSpec& m) { m.buffers[1] = {{}, 1000, ~uint64_t{0} - 999}; }, kInvalid,
              "buffer 1: 18446744073709550616 bytes at offset 1000, but the file has "},
        Break{"data_of_no_size", [](ModelSpec& m) { m.buffers[1] = {{}, 5000000000, 0}; }, kInvalid,
              "buffer 1 is at offset 5000000000 but has the size 0"},
        Break{"data_in_the_tables", [](ModelSpec& m) { m.buffers[1] = {{}, 16, 6}; }, kInvalid,
              "buffer 1: 6 bytes at offset 16, inside the file's own tables ("},
        Break{"nan_scale", [](ModelSpec& m) { m.tensors[0].scale = {kNan}; }, kInvalid, "the scale nan"},
        Break{"negative_scale", [](ModelSpec& m) { m.tensors[0].scale = {-1.0F}; }, kInvalid, "the scale -1"},
        Break{"scale_count",
              [](ModelSpec& m) {
                m.tensors[1].scale = {0.1F, 0.2F};
                m.tensors[1].zero_point = {0, 0};
              },
              kInvalid, "2 scales for dimension 0 of size 3; it needs 1 or 3"},
        Break{"zero_point_count", [](ModelSpec& m) { m.tensors[1].zero_point = {0, 0}; }, kInvalid,
              "3 scales but 2 zero points"},
        Break{"no_zero_point", [](ModelSpec& m) { m.tensors[0].zero_point.clear(); }, kInvalid,
              "1 scales but 0 zero points"},
        Break{"bias_dimension_3",
              [](ModelSpec& m) {
                m.tensors[2].scale = {0.1F, 0.2F, 0.3F};
                m.tensors[2].zero_point = {0, 0, 0};
                m.tensors[2].quantized_dimension = 3;
              },
              kInvalid,
              "quantized_dimension 3 is outside the rank of 1 (LiteRT refuses it too)\n  in tensor 2 'bias'"},
        Break{"dimension_negative", [](ModelSpec& m) { m.tensors[0].quantized_dimension = -1; }, kInvalid,
              "quantized_dimension -1"}),
    break_name);

// One long buffer, named by very many tensors: the file is small, its graph would not be.
TEST(Import, SharedBuffersAreBoundedByTheFile) {
  ModelSpec model = test::conv_model();
  model.buffers.push_back({std::vector<uint8_t>(1 << 16), 0, 0});
  for (int i = 0; i < 20000; ++i) {
    model.add({.name = std::nullopt, .shape = {1 << 16}, .buffer = 3, .scale = {}});
  }
  const auto graph = import_spec(model);
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().text(), HasSubstr("more than 64 times as large as the file"));
}

TEST(Import, EveryTruncationIsRefused) {
  const std::vector<uint8_t> bytes = test::build(test::conv_model());
  for (size_t length = 0; length < bytes.size(); ++length) {
    // A copy of exactly this length: a read behind it is seen by the address sanitizer.
    const std::vector<uint8_t> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    const auto graph = import_tflite(cut, "cut");
    if (length + 16 < bytes.size()) {
      ASSERT_FALSE(graph) << length;
      EXPECT_THAT(graph.error().message,
                  testing::AnyOf(HasSubstr("TFL3 is missing"), HasSubstr("damaged or cut off")));
    }
  }
}

TEST(Import, EveryFlippedByteIsSurvived) {
  const test::Survived plain = test::flip_every_byte(test::build(test::conv_model()), 1);
  EXPECT_GT(plain.refused, 500);
  EXPECT_GT(plain.accepted, 100);
  const test::Survived behind = test::flip_every_byte(test::build_data_behind(test::conv_model()), 2);
  EXPECT_GT(behind.refused, 500);
  EXPECT_GT(behind.accepted, 100);
}

}  // namespace
}  // namespace peraxis::import
