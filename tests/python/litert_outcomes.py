"""Runs LiteRT's reference kernels on a folder of cases in a process of its own: what they do with a broken model may be a crash.

    litert_outcomes.py FOLDER

For each NAME.tflite without a NAME.outcome: NAME.outcome is first "died", then "refused: ..." or "ran", with the outputs in NAME.npz.
"""
import pathlib
import resource
import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType


def run(path):
    interpreter = Interpreter(model_path=str(path), experimental_op_resolver_type=OpResolverType.BUILTIN_REF, num_threads=1)
    interpreter.allocate_tensors()
    stored = np.load(path.with_suffix(".inputs.npz"))
    for n, detail in enumerate(interpreter.get_input_details()):
        interpreter.set_tensor(detail["index"], stored[f"i{n}"])
    interpreter.invoke()
    np.savez(path.with_suffix(".npz"), **{f"o{n}": interpreter.get_tensor(d["index"])
                                          for n, d in enumerate(interpreter.get_output_details())})


def main():
    # A model may ask for more memory than there is.
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.tflite")):
        outcome = path.with_suffix(".outcome")
        if outcome.exists():
            continue
        outcome.write_text("died")
        try:
            run(path)
            outcome.write_text("ran")
        except (RuntimeError, ValueError, KeyError) as error:
            outcome.write_text(f"refused: {error}")


if __name__ == "__main__":
    main()
