#!/usr/bin/env python3
"""Runs an ONNX model with OpenVINO's CPU plugin; the options and the line of JSON of ort_run.js.

openvino_run.py MODEL --inputs DIR [--outputs DIR] [--threads N] [--runs N] [--warmup N]
                [--precision f32] [--cache DIR]

Latency hint, one stream. Without --precision the plugin's own choice: bfloat16 where the CPU has it.
--cache keeps the compiled model, as programs that start often do.
"""
import argparse
import json
import os
import resource
import time

import numpy as np
import openvino


def compiled(options):
    core = openvino.Core()
    if options.cache:
        core.set_property({"CACHE_DIR": options.cache})
    config = {"PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": "1", "INFERENCE_NUM_THREADS": str(options.threads)}
    if options.precision:
        config["INFERENCE_PRECISION_HINT"] = options.precision
    return core.compile_model(options.model, "CPU", config)


def feed(request, model, folder):
    for port in model.inputs:
        path = os.path.join(folder, port.any_name.replace("/", "_") + ".npy")
        request.set_tensor(port, openvino.Tensor(np.ascontiguousarray(np.load(path))))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--inputs", required=True)
    for flag in ("--outputs", "--precision", "--cache"):
        parser.add_argument(flag)
    for flag, value in (("--threads", 1), ("--runs", 20), ("--warmup", 5)):
        parser.add_argument(flag, type=int, default=value)
    options = parser.parse_args()
    start = time.perf_counter()
    model = compiled(options)
    load = time.perf_counter() - start
    request = model.create_infer_request()
    feed(request, model, options.inputs)
    for _ in range(1 + options.warmup):
        request.infer()
    times = []
    for _ in range(options.runs):
        begin = time.perf_counter()
        request.infer()
        times.append((time.perf_counter() - begin) * 1000)
    if options.outputs:
        os.makedirs(options.outputs, exist_ok=True)
        for port in model.outputs:
            name = port.any_name.replace("/", "_") + ".npy"
            np.save(os.path.join(options.outputs, name), request.get_tensor(port).data)
    times.sort()
    print(json.dumps({"model": os.path.basename(options.model), "threads": options.threads, "runs": len(times),
                      "load_ms": round(load * 1000, 2), "min_ms": round(times[0], 4) if times else None,
                      "median_ms": round(times[len(times) // 2], 4) if times else None,
                      "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}))


if __name__ == "__main__":
    main()
