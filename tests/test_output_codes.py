"""Output codes against their definitions, and decoders against naive twins."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.errors import SettingError
from boostsample.labels import classify, encode
from boostsample.output_codes import OutputCode, make_output_code
from tests.naive_objectives import hamming_decoding, loss_based_decoding


def code_of(code: Any, n_classes: int, decoding: str = "loss", seed: int = 0) -> OutputCode:
    made = make_output_code(code, decoding, n_classes, np.random.default_rng(seed))
    assert made is not None
    return made


def test_exhaustive_is_table_6_of_dietterich_and_bakiri() -> None:
    matrix = code_of("exhaustive", 5).matrix > 0
    words = ["".join("01"[bit] for bit in row) for row in matrix.astype(int).tolist()]
    assert words == [
        "111111111111111",
        "000000001111111",
        "000011110000111",
        "001100110011001",
        "010101010101010",
    ]


@pytest.mark.parametrize("n_classes", [2, 3, 4, 5, 8, 9, 26])
def test_binary_words_are_the_digits(n_classes: int) -> None:
    matrix = code_of("binary", n_classes).matrix
    n_bits = int(np.ceil(np.log2(n_classes)))
    words = [[int(bit) for bit in f"{number:0{n_bits}b}"] for number in range(n_classes)]
    np.testing.assert_array_equal(matrix, 2 * np.array(words) - 1)


@pytest.mark.parametrize(
    "code", ["binary", "exhaustive", "dense", "sparse", "dense:4", "sparse:4", "one-vs-rest"]
)
@pytest.mark.parametrize("n_classes", [3, 4, 7, 11])
def test_codes_are_valid_codes(code: str, n_classes: int) -> None:
    if code == "dense:4" and n_classes == 3:
        pytest.skip("there are 3 columns")
    matrix = code_of(code, n_classes, "hamming").matrix
    assert matrix.dtype == np.int8
    np.testing.assert_array_equal(code_of(matrix, n_classes).matrix, matrix)
    for a, b in itertools.combinations(matrix.T.tolist(), 2):
        assert a != b
        assert a != [-bit for bit in b]
    assert np.any(matrix == 0) == code.startswith("sparse")


def least_distance(matrix: NDArray[np.int8]) -> int:
    distances: list[int] = [
        sum(a * b < 0 for a, b in zip(first, second, strict=True))
        for first, second in itertools.combinations(matrix.tolist(), 2)
    ]
    return min(distances)


@pytest.mark.parametrize(("name", "n_bits"), [("dense", 34), ("sparse", 50)])
def test_random_codes_are_the_best_of_many(name: str, n_bits: int) -> None:
    matrix = code_of(name, 10).matrix
    assert matrix.shape == (10, n_bits)
    rng = np.random.default_rng(1)
    values = [-1, 1] if name == "dense" else [-1, 0, 0, 1]
    others = [rng.choice(values, matrix.shape).astype(np.int8) for _ in range(20)]
    assert least_distance(matrix) > max(map(least_distance, others))
    np.testing.assert_array_equal(code_of(name, 10).matrix, matrix)
    assert not np.array_equal(code_of(name, 10, seed=1).matrix, matrix)


@pytest.mark.parametrize("code", ["binary", "exhaustive", "dense", "sparse", "one-vs-rest"])
@pytest.mark.parametrize("decoding", ["loss", "hamming"])
def test_two_classes_are_one_bit(code: str, decoding: str) -> None:
    if (code, decoding) == ("one-vs-rest", "loss"):
        assert make_output_code(code, decoding, 2, np.random.default_rng(0)) is None
        return
    made = code_of(code, 2, decoding)
    f = np.array([[-3.0], [0.0], [1e-3], [400.0]])
    sign = made.matrix[1, 0]
    expected = sign * f if decoding == "loss" else 0.5 * sign * np.sign(f)
    np.testing.assert_allclose(made.decode(f), expected, rtol=1e-12)


@pytest.mark.parametrize("code", ["binary", "exhaustive", "dense", "sparse"])
@pytest.mark.parametrize("size", [0.1, 1.0, 10.0])
def test_decoders_are_their_twins(code: str, size: float) -> None:
    scores = np.random.default_rng(0).normal(0.0, size, (60, code_of(code, 6).n_bits))
    for decoding, twin in (("loss", loss_based_decoding), ("hamming", hamming_decoding)):
        made = code_of(code, 6, decoding)
        predicted = classify(made.decode(scores))
        np.testing.assert_array_equal(predicted, twin(scores, made.matrix))


@pytest.mark.parametrize("code", ["exhaustive", "dense", "sparse"])
def test_bits_do_not_depend_on_the_layout_of_the_matrix(code: str) -> None:
    """A code from a file has rows in memory, as lists have; others may have columns."""
    made = code_of(code, 5)
    scores = np.random.default_rng(0).normal(0.0, 1.0, (200, made.n_bits))
    of_file = code_of(made.matrix.tolist(), 5)
    columns = OutputCode(np.asfortranarray(made.matrix))
    for other in (of_file, columns):
        assert other.decode(scores).tobytes() == made.decode(scores).tobytes()


def test_large_scores_are_decoded() -> None:
    made = code_of("exhaustive", 4)
    scores = 5000.0 * made.matrix.astype(np.float64)
    decoded = made.decode(scores)
    assert np.isfinite(decoded).all()
    np.testing.assert_array_equal(classify(decoded), np.arange(4))
    np.testing.assert_allclose(np.diag(decoded), 5000.0, rtol=1e-3)


def test_one_vs_rest_by_loss_has_the_order_of_the_scores() -> None:
    rng = np.random.default_rng(0)
    made = OutputCode((2 * np.eye(7) - 1).astype(np.int8), "loss")
    scores = rng.normal(0.0, 4.0, (500, 7))
    order = np.argsort(scores, axis=1)
    np.testing.assert_array_equal(order[:, -1], made.decode(scores).argmax(axis=1))
    np.testing.assert_array_equal(order[:, -1], loss_based_decoding(scores, made.matrix))


def test_labels_of_bits() -> None:
    made = code_of("sparse", 5)
    y = np.array([4, 0, 2, 2, 1, 3])
    np.testing.assert_array_equal(made.encode(encode(y, 5)), made.matrix[y])
    two = code_of([[1, -1], [-1, 1]], 2)
    np.testing.assert_array_equal(two.encode(encode([0, 1, 1])), [[1, -1], [-1, 1], [-1, 1]])


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("ecoc", "unknown code 'ecoc'.*dense, sparse$"),
        ("binary:3", "as in 'dense:30', got 'binary:3'"),
        ("dense:x", "got 'dense:x'"),
        ("dense:0", "got 'dense:0'"),
        ("dense:8", "2 to 7 bits, got 8; change the number, or leave it out: 'dense'$"),
        ("dense:1", "2 to 7 bits, got 1"),
        ("sparse:26", "1 to 25 bits, got 26"),
        ("sparse:1", "no code 'sparse:1' with different words"),
        ([[1, -1]], r"must have shape \(4, B\)"),
        (np.ones(4), r"must have shape \(4, B\)"),
        (np.ones((4, 0)), r"must have shape \(4, B\)"),
        (np.full((4, 1), 2), "-1, 0 and .1 only"),
        (np.full((4, 1), "a"), "-1, 0 and .1 only"),
        ([[1, 1], [1, -1], [-1, 0], [0, 0]], "row 3 has 0 only"),
        ([[1, 1], [1, 0], [-1, 1], [-1, 0]], r"column 1 has \[0, 1\]"),
        ([[1, 1], [1, -1], [-1, 1], [1, -1]], "rows 1 and 3 are equal"),
    ],
)
def test_wrong_codes(code: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        make_output_code(code, "loss", 4, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("code", "n_classes", "message"),
    [
        ("dense:30", 2, "a dense code of 2 classes must have 1 bit, got 30"),
        ("sparse:30", 2, "a sparse code of 2 classes must have 1 bit, got 30"),
        ("dense:30", 3, "must have 2 to 3 bits, got 30"),
        ("dense:3", 16, "must have 4 to 32767 bits, got 3"),
        ("dense:4", 16, "no code 'dense:4' with different words"),
        ("sparse:2", 50, "no code 'sparse:2' with different words"),
    ],
)
def test_a_code_without_the_number_is_a_way_out(code: str, n_classes: int, message: str) -> None:
    with pytest.raises(SettingError, match=f"{message}.*out: '(dense|sparse)'$") as caught:
        code_of(code, n_classes)
    named = str(caught.value).split("'")[-2]
    assert code_of(named, n_classes).matrix.shape[0] == n_classes


def test_wrong_settings() -> None:
    with pytest.raises(SettingError, match=r"unknown decoding 'los'.*'loss'"):
        make_output_code("binary", "los", 4, np.random.default_rng(0))
    with pytest.raises(SettingError, match="up to 11 classes, got 12; use dense"):
        make_output_code("exhaustive", "loss", 12, np.random.default_rng(0))
