"""src/import/versions.def against LiteRT: which versions of each operator its interpreter takes.

The interpreter looks for a kernel of the operator's version before anything else, and says that it found none.
"""
import pathlib
import re

import flatbuffers
import pytest

import peraxis_runs

schema = peraxis_runs.need_module("ai_edge_litert.schema_py_generated")
LIST = pathlib.Path(__file__).resolve().parents[2] / "src" / "import" / "versions.def"
ROWS = {name: (int(least), int(most)) for name, least, most in
        re.findall(r"^PERAXIS_VERSIONS\((\w+), (\d+), (\d+)\)$", LIST.read_text(), re.M)}
CODES = {name: code for name, code in vars(schema.BuiltinOperator).items() if isinstance(code, int)}
# These look into their options or at other subgraphs while the file is opened, and crash on a file that has none.
UNTRIED = {"LSTM", "CUSTOM", "STABLEHLO_PAD", "STABLEHLO_REDUCE_WINDOW", "STABLEHLO_COMPOSITE", "STABLEHLO_CASE"}


def known(code, version):
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
    model, graph = schema.ModelT(), schema.SubGraphT()
    entry = schema.OperatorCodeT()
    entry.builtinCode, entry.deprecatedBuiltinCode, entry.version = code, min(code, 127), version
    model.version, model.operatorCodes, model.buffers, model.subgraphs = 3, [entry], [schema.BufferT()], [graph]
    graph.tensors = [schema.TensorT(), schema.TensorT()]
    for tensor in graph.tensors:
        tensor.shape, tensor.name = [1], "t"
    operator = schema.OperatorT()
    operator.inputs, operator.outputs = [0], [1]
    graph.operators, graph.inputs, graph.outputs = [operator], [0], [1]
    builder = flatbuffers.Builder(256)
    builder.Finish(model.Pack(builder), b"TFL3")
    try:
        Interpreter(model_content=bytes(builder.Output()),
                    experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
    except ValueError as error:
        return "find op for" not in str(error)
    return True


def test_every_operator_has_its_line():
    assert len(ROWS) > 160
    for name, code in CODES.items():
        if name not in ROWS and name not in UNTRIED:
            assert not known(code, 1), name


@pytest.mark.parametrize("name", [name for name in ROWS if name not in UNTRIED])
def test_versions(name):
    least, most = ROWS[name]
    assert [known(CODES[name], version) for version in (least - 1, least, most, most + 1)] == [False, True, True, False]


if __name__ == "__main__":
    peraxis_runs.main(__file__)
