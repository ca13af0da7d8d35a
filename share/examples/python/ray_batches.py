#!/usr/bin/env python3
"""A compiled model over a Ray data set: each worker loads it once and runs batch after batch.

    ray_batches.py net.json IN.parquet OUT [WORKERS]

Ray makes one `Predictor` a worker. The columns that the model's inputs are named after go in,
its outputs come back as columns. With one thread a worker, as many workers as there are cores
keep a machine busy, and the weights, which are mapped, are in memory once.
"""

import sys
from typing import Dict

import numpy as np

import bycc


class Predictor:
    """What map_batches() calls. Of the last batch, which may be short, a model with a fixed
    batch gets copies of a row beside it; their results are cut off."""

    def __init__(self, path: str, threads: int = 1):
        self.model = bycc.load(path, threads=threads)

    def __call__(self, batch: Dict[str, np.ndarray]) -> Dict[str, np.ndarray]:
        inputs, rows = {}, 0
        for spec in self.model.inputs:
            rows = len(batch[spec.name])
            inputs[spec.name] = self.filled(np.asarray(batch[spec.name], dtype=spec.dtype), spec.shape[0])
        outputs = self.model.run(inputs)
        return {**batch, **{name: array[:rows] for name, array in outputs.items()}}

    @staticmethod
    def filled(array: np.ndarray, extent: object) -> np.ndarray:
        if not isinstance(extent, int) or len(array) == extent:
            return np.ascontiguousarray(array)
        if len(array) > extent:
            raise ValueError(f"a batch of {len(array)} rows for a model of {extent}: batch_size={extent}")
        return np.concatenate([array, np.repeat(array[-1:], extent - len(array), axis=0)])


def main(path: str, source: str, target: str, workers: int = 2) -> None:
    import ray

    ray.init(ignore_reinit_error=True)
    # Workers leave a processor to the tasks that read and write, which would wait forever.
    spare = ray.cluster_resources()["CPU"] - 1
    extent = bycc.load(path).inputs[0].shape[0]
    data = ray.data.read_parquet(source)
    result = data.map_batches(
        Predictor,
        fn_constructor_args=(path,),
        batch_size=extent if isinstance(extent, int) else 32,
        compute=ray.data.ActorPoolStrategy(size=workers),
        num_cpus=min(1, spare / workers),
    )
    result.write_parquet(target)


if __name__ == "__main__":
    main(*sys.argv[1:4], *map(int, sys.argv[4:5]))
