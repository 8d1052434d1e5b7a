"""Made genotypes with linkage as PLINK files, and cases that some of the variants cause.

    python -m tests.experiments.wide_genotypes PREFIX --people 20000 --variants 500000

writes PREFIX.bed, .bim, .fam (phenotype 2 is a case) and PREFIX.causal.csv. At this size it takes
about 70 CPU seconds and 0.3 GiB of memory, and writes 2.5 GB.

Chromosomes of people are mosaics of 200 founders, whose alleles are correlated from variant to
variant: latent normal values with an autocorrelation of 0.95, of which the largest carry the minor
allele (A1), 5 to 50 % of the founders. After each 50 variants a chromosome goes on with another
founder with probability 0.2. The mean squared correlation of neighbours is 0.4, that of variants
ten apart 0.12, as in the genotypes of `wide_sets`.

Causal variants are drawn at random. Their effects per standard deviation have a random sign and
sizes that are uniform between 1/2 and 3/2 of their mean. Cases are the half of the people with the
larger sum of effects and normal noise.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pandas as pd
from numpy.typing import NDArray

N_FOUNDERS, AUTOCORRELATION = 200, 0.95
LENGTH, SWITCH = 50, 0.2
"""Variants that a chromosome has of a founder at least, and how likely another one follows."""
PER_CHROMOSOME, DISTANCE = 25_000, 1000  # variants of a chromosome, and bases between them
MAGIC = bytes([0x6C, 0x1B, 0x01])
CODES = np.array([0b11, 0b10, 0b00], np.uint8)  # two bits of a person with 0, 1 and 2 copies of A1


def founders(n_variants: int, rng: np.random.Generator) -> Iterator[NDArray[np.uint8]]:
    """Minor alleles of the founders, by blocks of variants: (LENGTH, N_FOUNDERS)."""
    latent = rng.standard_normal(N_FOUNDERS)
    fresh = np.sqrt(1 - AUTOCORRELATION**2)
    for first in range(0, n_variants, LENGTH):
        n = min(LENGTH, n_variants - first)
        values = np.empty((n, N_FOUNDERS))
        for at, noise in enumerate(rng.standard_normal((n, N_FOUNDERS))):
            latent = AUTOCORRELATION * latent + fresh * noise
            values[at] = latent
        order = np.argsort(-values, axis=1)
        carriers = rng.integers(N_FOUNDERS // 20, N_FOUNDERS // 2, n, endpoint=True)
        alleles = np.zeros((n, N_FOUNDERS), np.uint8)
        is_carrier = np.arange(N_FOUNDERS) < carriers[:, None]
        np.put_along_axis(alleles, order, is_carrier.astype(np.uint8), axis=1)
        yield alleles


def copies(n_people: int, n_variants: int, rng: np.random.Generator) -> Iterator[NDArray[np.uint8]]:
    """Copies of the minor allele, by blocks of variants: (LENGTH, n_people)."""
    founder = rng.integers(0, N_FOUNDERS, (2, n_people))
    for alleles in founders(n_variants, rng):
        yield alleles[:, founder[0]] + alleles[:, founder[1]]
        switches = rng.random(founder.shape) < SWITCH
        founder[switches] = rng.integers(0, N_FOUNDERS, int(switches.sum()))


def packed(block: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Bytes of a .bed file of copies of A1 (q, n): (q, ceil(n / 4)), the first person lowest."""
    q, n = block.shape
    codes = np.zeros((q, -(-n // 4) * 4), np.uint8)
    codes[:, :n] = CODES[block]
    quarters = codes.reshape(q, -1, 4)
    shifted = quarters << np.array([0, 2, 4, 6], np.uint8)
    return np.asarray(np.bitwise_or.reduce(shifted, axis=2), np.uint8)


def write_alleles(
    bed: BinaryIO,
    n_people: int,
    n_variants: int,
    causal: NDArray[np.int64],
    effects: NDArray[np.float64],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Write all variants, and return the sum of the effects of each person."""
    bed.write(MAGIC)
    genetic, first = np.zeros(n_people), 0
    for block in copies(n_people, n_variants, rng):
        bed.write(packed(block).tobytes())
        at = (causal >= first) & (causal < first + len(block))
        for variant, effect in zip(causal[at] - first, effects[at], strict=True):
            values = block[variant].astype(np.float64)
            genetic += effect * (values - values.mean()) / max(values.std(), 1e-9)
        first += len(block)
    return genetic


def write_genotypes(
    prefix: Path, n_people: int, n_variants: int, n_causal: int = 100, heritability: float = 0.5
) -> NDArray[np.int64]:
    """Write the files and return the causal variants, ascending."""
    rng = np.random.default_rng(0)
    causal = np.sort(rng.choice(n_variants, n_causal, replace=False))
    sizes = rng.uniform(0.5, 1.5, n_causal) * rng.choice([-1.0, 1.0], n_causal)
    with prefix.with_suffix(".bed").open("wb") as bed:
        genetic = write_alleles(bed, n_people, n_variants, causal, sizes, rng)
    genetic *= np.sqrt(heritability) / genetic.std()
    liability = genetic + np.sqrt(1 - heritability) * rng.standard_normal(n_people)
    phenotype = 1 + (liability > np.median(liability))
    people = np.arange(1, n_people + 1)
    fam = {"family": people, "person": people, "father": 0, "mother": 0, "sex": 1 + people % 2}
    pd.DataFrame({**fam, "phenotype": phenotype}).to_csv(
        prefix.with_suffix(".fam"), sep=" ", header=False, index=False, lineterminator="\n"
    )
    variants = np.arange(n_variants)
    names = [f"v{variant}" for variant in variants]
    position = DISTANCE * (1 + variants % PER_CHROMOSOME)
    bim = {"chromosome": 1 + variants // PER_CHROMOSOME, "name": names, "morgans": 0}
    pd.DataFrame({**bim, "position": position, "a1": "A", "a2": "G"}).to_csv(
        prefix.with_suffix(".bim"), sep="\t", header=False, index=False, lineterminator="\n"
    )
    pd.DataFrame({"variant": causal, "name": [names[k] for k in causal], "effect": sizes}).to_csv(
        prefix.with_suffix(".causal.csv"), index=False, lineterminator="\n"
    )
    return causal


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("prefix", type=Path)
    parser.add_argument("--people", type=int, default=20_000)
    parser.add_argument("--variants", type=int, default=500_000)
    options = parser.parse_args()
    write_genotypes(options.prefix, options.people, options.variants)


if __name__ == "__main__":
    main()
