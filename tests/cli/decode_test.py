"""decode, encode, diff, capture and replay: streams of our own compiler, hand-written ones, hostile files."""
import json
import os
import struct
import unittest

from harness import CliTest, conv_model, np

TASK = """CNA.CONV_CON1
CNA.DATA_SIZE0 DATAIN_WIDTH=10 DATAIN_HEIGHT=7
DPU.DATA_CUBE_WIDTH WIDTH=10
DPU.DST_BASE_ADDR DST_BASE_ADDR=0x2000
DPU.OUT_CVT_SCALE OUT_CVT_SCALE=20001
separator
enable CNA CORE DPU DPU_RDMA
"""


class Streams(CliTest):
    def words(self, name, text):
        self.write(name + ".txt", text.encode())
        self.succeeds("encode", name + ".txt", "-o", name)
        return name

    def round_trip(self, name):
        """decode, then encode, yields the file."""
        text = self.succeeds("decode", name).out
        self.write("text", text)
        self.assertEqual(self.succeeds("encode", "text").out, (self.dir / name).read_bytes())
        return text.decode()

    def test_identity(self):
        rng = np.random.default_rng(7)
        self.words("task", TASK)
        words = (self.dir / "task").read_bytes()
        for n in (8, 9, 15, 17, len(words) - 3, len(words)):
            self.write("cut", words[:n])
            self.round_trip("cut")
        self.write("odd", words + rng.bytes(8 * 100 + 5) + bytes(64) + words)
        self.round_trip("odd")

    def test_any_file_as_words(self):
        self.write("any", b"RKNN" + os.urandom(1001))
        self.write("text", self.succeeds("decode", "--words", "any").out)
        self.assertEqual(self.succeeds("encode", "text").out, (self.dir / "any").read_bytes())

    def test_executable(self):
        model = self.write("m.tflite", conv_model())
        self.succeeds("compile", model, "-o", "m.pax")
        self.succeeds("compile", model, "-o", "e.pax", "--accuracy", "exact")
        text = self.succeeds("decode", "m.pax").out.decode()
        self.assertRegex(text, r"# task 0, words 0\.\.\d+: convolution 3x3")
        self.assertRegex(text, r"# operator 0, rows 0\.\.6, 17 of the layer's channels, set 0, strategy ")
        self.write("text", text.encode())
        self.succeeds("encode", "text", "-o", "words")
        self.assertEqual(self.succeeds("diff", "words", "m.pax", "--ignore-addresses").out, b"")
        report = self.succeeds("decode", "m.pax", "--json").json()["files"][0]
        self.assertEqual(report["kind"], "executable")
        task = report["streams"][0]["tasks"][0]
        self.assertEqual(task["input"], {"width": 10, "height": 7, "channels": 16})
        self.assertEqual(task["kernel"], [3, 3])
        self.assertTrue(any(r.get("place") for r in task["registers"]))
        exact = self.succeeds("decode", "e.pax", "--json", "--summary").json()["files"][0]["streams"][0]
        self.assertIn("host-requantize", exact["totals"]["mechanisms"])
        self.assertNotIn("registers", exact["tasks"][0])

    def test_summary_and_sources(self):
        self.words("task", TASK * 3 + "CNA.CONV_CON2 MULTICORE_TASK_KIND=1\n" + TASK)
        summary = self.succeeds("decode", "task", "--summary").out.decode()
        self.assertIn("0..2", summary)
        self.assertIn("4 tasks, 29 words: 4 convolution", summary)
        self.assertIn("MULTICORE_TASK_KIND", self.succeeds("decode", "task", "--sources").out.decode())
        self.assertEqual(len(self.succeeds("decode", "task", "--sources", "--json").json()["GUESS"]), 1)
        self.fails(2, "decode", "task", "--sources", "--summary", says="exclude")

    def test_vendor_models_are_searched(self):
        self.words("task", TASK)
        words = (self.dir / "task").read_bytes()
        self.write("m.rknn", b"RKNN" + bytes(27) + words + b"\xff" * 99)
        report = self.succeeds("decode", "m.rknn", "--json").json()["files"][0]
        self.assertEqual((report["kind"], report["streams"][0]["words"]), ("vendor model", 7))
        self.write("none.rknn", b"RKNN" + bytes(200))
        self.fails(1, "decode", "none.rknn", says="no command stream")

    def test_files_that_hold_no_stream(self):
        for name, data in (("empty", b""), ("zeros", bytes(64)), ("text", b"hello, this is a text file\n")):
            self.fails(1, "decode", self.write(name, data), says=name)
        self.fails(1, "decode", "missing", says="missing")
        self.fails(2, "decode")

    def test_errors_of_the_text(self):
        self.write("bad", b"nop\nCNA.CBUF_CON0 DATA_BANK=99\n")
        self.fails(1, "encode", "bad", "-o", "out", says=["bad, line 2", "DATA_BANK=99", "0..15"])
        self.assertFalse(os.path.exists(self.dir / "out"))
        self.write("two", b'stream "a"\nnop\nstream "b"\nnop 2\n')
        self.assertEqual(len(self.succeeds("encode", "two", "--stream", "b").out), 16)
        self.fails(2, "encode", "two", "--stream", "c", says="'a' and 'b'")

    def test_diff(self):
        self.words("a", TASK)
        self.words("b", TASK.replace("20001", "20002") + TASK)
        self.assertEqual(self.succeeds("diff", "a", "a").out, b"")
        outcome = self.peraxis("diff", "a", "b")
        self.assertEqual((outcome.code, outcome.err), (1, b""))
        self.assertIn(b"+ task ", outcome.out)
        report = self.peraxis("diff", "a", "b", "--json").json()
        self.assertFalse(report["equal"])
        self.assertEqual(sorted(p["status"] for p in report["pairs"]), ["only_b", "same"])
        self.fails(1, "diff", "a", "missing", says="missing")
        self.fails(2, "diff", "a")

    def capture(self, **changes):
        self.words("task", TASK)
        words = np.fromfile(self.dir / "task", np.uint8)
        np.savez(self.dir / "a.npz", words=words, y=np.ones((2, 3, 4), np.uint8))
        description = {
            "name": "c", "driver": "test",
            "buffers": [{"name": "commands", "role": "commands", "address": 4096, "size": 256, "before": "words"},
                        {"name": "out", "role": "output", "address": 8192, "size": 96}],
            "tasks": [{"address": 4096, "words": 7}], "jobs": [{"first_task": 0, "task_count": 1, "out": [2]}],
            "tensors": [{"name": "y", "use": "expected", "buffer": 1, "h": 2, "w": 3, "c": 4, "data": "y"}], **changes}
        self.write("d.json", json.dumps(description).encode())
        return "capture", "--pack", "d.json", "--arrays", "a.npz", "-o", "c.pxc"

    def test_capture_and_replay(self):
        self.succeeds(*self.capture())
        self.assertIn(b"DST_BASE_ADDR=8192  # out", self.succeeds("decode", "c.pxc").out)
        outcome = self.peraxis("replay", "c.pxc", "--json")
        self.assertEqual((outcome.code, outcome.err), (1, b""))
        self.assertIn("task 0", outcome.json()["refusal"])
        self.fails(2, "replay", "c.pxc", "--switch", "bs_ties=down", says="register, even or up")
        self.fails(2, "replay", "c.pxc", "--input", "x", says="NAME=FILE.npy")
        self.fails(1, "replay", "task", says="PXC1")
        data = bytearray((self.dir / "c.pxc").read_bytes())
        for cut in (9, 40, len(data) // 2):
            self.fails(1, "replay", self.write("cut.pxc", bytes(data[:cut])))
        data[len(data) // 2] ^= 0x40
        self.fails(1, "decode", self.write("bad.pxc", bytes(data)), says="bad.pxc")

    def test_descriptions_that_are_wrong(self):
        self.fails(1, *self.capture(tasks=[{"words": 7}]), says=["tasks 0", "'address'"])
        self.fails(1, *self.capture(tasks=7), says="'tasks' must be a list")
        self.fails(1, *self.capture(tensors=[{"name": "y", "use": "none", "buffer": 1, "h": 1, "w": 1, "c": 1}]),
                   says="must be input or expected")
        self.fails(1, *self.capture(buffers=[{"address": 0, "size": 2**40}]), says="32-bit")
        self.fails(1, *self.capture(buffers=[{"address": 0, "size": 64, "before": "nothing"}]), says="no array 'nothing'")
        self.fails(1, *self.capture(bufers=[]), says="'bufers' is not known here")
        self.fails(1, *self.capture(jobs=[{"first_task": 0, "task_count": 1, "in": [2**32 + 1]}]), says="4294967297")
        tensor = {"name": "y", "use": "expected", "buffer": 1, "h": 2, "w": 3, "c": 4, "data": "y"}
        self.fails(1, *self.capture(tensors=[tensor, tensor]), says="two expected tensors are named 'y'")
        self.write("d.json", b"{")
        self.fails(1, "capture", "--pack", "d.json", "-o", "c.pxc", says="no JSON")

    def test_inputs_are_never_overwritten(self):
        arguments = self.capture(tensors=[{"name": "x", "use": "input", "buffer": 1, "h": 2, "w": 3, "c": 4},
                                          {"name": "u", "use": "input", "buffer": 1, "h": 2, "w": 3, "c": 4, "bias": 128}])
        self.fails(1, *arguments[:-1], "a.npz", says="would destroy")
        self.succeeds(*arguments)
        before = (self.dir / "c.pxc").read_bytes()
        self.fails(1, "replay", "c.pxc", "--outputs", "c.pxc", says="would destroy")
        self.assertEqual((self.dir / "c.pxc").read_bytes(), before)
        np.save(self.dir / "x.npy", np.zeros((2, 3, 4), np.int8))
        self.fails(1, "replay", "c.pxc", "--input", "x=x.npy", "--outputs", "x.npy", says="would destroy")
        self.fails(2, "replay", "c.pxc", "--input", "z=x.npy", says="no input of this name")
        self.fails(2, "replay", "c.pxc", "--input", "u=x.npy", says="int8, the tensor uint8")
        np.save(self.dir / "t.npy", np.zeros((4, 3, 2), np.int8))
        self.fails(2, "replay", "c.pxc", "--input", "x=t.npy", says="[4, 3, 2]")
        self.fails(2, "replay", "c.pxc", "--switch", "bs_ties=up", "--switch", "bs_ties=even", says="given twice")

    def test_names_of_streams(self):
        self.write("t", b'stream "a" # say "c"\nnop\nstream "b"\nnop 2\n')
        self.assertEqual(self.succeeds("encode", "t", "--stream", "a").out, bytes(8))
        for text in (b'stream "a" b', b'stream x "a"', b'stream "a" "b"', b'stream "a'):
            self.fails(1, "encode", self.write("t", text), says="line 1")

    def test_captures_without_jobs(self):
        self.succeeds(*self.capture(jobs=[]))
        self.assertIn(b"DST_BASE_ADDR=8192", self.succeeds("decode", "c.pxc").out)

    def test_what_is_shown_at_once_is_bounded(self):
        self.write("many", struct.pack("<Q", 0x81 << 48 | 0x18 << 16 | 8) * 200_000)
        self.fails(1, "decode", "many", "--json", says=["200000 tasks", "131072"])
        self.fails(1, "diff", "many", "many", says=["200000 tasks", "131072"])

    def test_a_long_stream(self):
        word = struct.pack("<Q", 0x1001 << 48 | 9 << 16 | 0x4030)
        self.write("long", word * 200000)
        self.assertIn("200,000 words", self.succeeds("decode", "long", "--summary").out.decode())


if __name__ == "__main__":
    unittest.main()
