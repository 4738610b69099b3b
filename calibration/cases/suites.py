"""All suites of cases, by name."""

from __future__ import annotations

from calibration.cases.steps.compiled import (
    COMPILED,
    COMPILED_BLIND,
    COMPILED_HOST,
    COMPILED_MODES,
    COMPILED_VALIDATION,
)
from calibration.cases.steps.eager import BATCHES, CASES, HOST_CASES, VALIDATION
from calibration.cases.steps.experts import EXPERTS, MIXTURES
from calibration.cases.steps.libraries import LIBRARIES, LIBRARIES_COMPILED
from calibration.cases.steps.own import OWN_CASES, OWN_COMPILED
from calibration.cases.steps.own_fifth import OWN_FIFTH, OWN_FIFTH_COMPILED
from calibration.cases.steps.own_fourth import OWN_FOURTH, OWN_FOURTH_COMPILED
from calibration.cases.steps.own_second import OWN_SECOND, OWN_SECOND_COMPILED, OWN_THIRD_COMPILED
from calibration.cases.steps.packages import PACKAGES, PACKAGES_COMPILED
from calibration.cases.steps.packages_fifth import PACKAGES_FIFTH
from calibration.cases.steps.packages_fourth import PACKAGES_FOURTH
from calibration.cases.steps.packages_second import PACKAGES_SECOND, PACKAGES_SECOND_COMPILED
from calibration.cases.steps.packages_seventh import PACKAGES_SEVENTH, PACKAGES_SEVENTH_COMPILED
from calibration.cases.steps.packages_sixth import PACKAGES_SIXTH, PACKAGES_SIXTH_COMPILED
from calibration.cases.steps.packages_third import (
    PACKAGES_FURTHER,
    PACKAGES_FURTHER_COMPILED,
    PACKAGES_THIRD,
    PACKAGES_THIRD_COMPILED,
)
from calibration.cases.steps.torchvision import TORCHVISION, TORCHVISION_COMPILED

SUITES = {"recordings": CASES, "host": HOST_CASES, "validation": VALIDATION, "batches": BATCHES,
          "compiled": COMPILED, "compiled_validation": COMPILED_VALIDATION,
          "compiled_blind": COMPILED_BLIND, "compiled_host": COMPILED_HOST,
          "compiled_modes": COMPILED_MODES, "experts": EXPERTS, "mixtures": MIXTURES,
          "packages": PACKAGES, "packages_compiled": PACKAGES_COMPILED,
          "packages_second": PACKAGES_SECOND,
          "packages_second_compiled": PACKAGES_SECOND_COMPILED,
          "packages_third": PACKAGES_THIRD,
          "packages_fourth": PACKAGES_FOURTH, "packages_fifth": PACKAGES_FIFTH,
          "packages_sixth": PACKAGES_SIXTH, "packages_sixth_compiled": PACKAGES_SIXTH_COMPILED,
          "packages_seventh": PACKAGES_SEVENTH,
          "packages_seventh_compiled": PACKAGES_SEVENTH_COMPILED,
          "packages_third_compiled": PACKAGES_THIRD_COMPILED,
          "packages_further": PACKAGES_FURTHER,
          "packages_further_compiled": PACKAGES_FURTHER_COMPILED,
          "own": OWN_CASES, "own_compiled": OWN_COMPILED,
          "own_second": OWN_SECOND, "own_second_compiled": OWN_SECOND_COMPILED,
          "own_third_compiled": OWN_THIRD_COMPILED,
          "own_fourth": OWN_FOURTH, "own_fourth_compiled": OWN_FOURTH_COMPILED,
          "own_fifth": OWN_FIFTH, "own_fifth_compiled": OWN_FIFTH_COMPILED,
          "libraries": LIBRARIES, "libraries_compiled": LIBRARIES_COMPILED,
          "torchvision": TORCHVISION, "torchvision_compiled": TORCHVISION_COMPILED}  # fmt: skip
