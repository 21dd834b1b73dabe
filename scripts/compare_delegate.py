#!/usr/bin/env python3
"""Runs models through a TFLite delegate and beside it on LiteRT's CPU kernels, with random bytes as input, and prints
how far the outputs agree: compare_delegate.py LIBRARY MODEL.tflite ..."""
import pathlib
import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter, load_delegate


def outputs(model, delegates):
    interpreter = Interpreter(model_path=model, experimental_delegates=delegates, num_threads=1)
    interpreter.allocate_tensors()
    rng = np.random.default_rng(1)
    for detail in interpreter.get_input_details():
        data = rng.integers(0, 256, detail["shape"]).astype(np.uint8)
        interpreter.set_tensor(detail["index"], data.view(detail["dtype"]))
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    for model in sys.argv[2:]:
        for cpu, npu in zip(outputs(model, []), outputs(model, [load_delegate(sys.argv[1])])):
            difference = np.abs(cpu.astype(int) - npu.astype(int))
            print(f"{pathlib.Path(model).name}: {100 * (difference == 0).mean():.2f} % of {cpu.size} equal, max "
                  f"{difference.max()}, largest at {cpu.argmax()} and {npu.argmax()}, {np.unique(cpu).size} values", flush=True)


if __name__ == "__main__":
    main()
