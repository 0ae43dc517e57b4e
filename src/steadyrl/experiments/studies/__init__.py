"""The documents' claims as studies, each with its verdict."""

from __future__ import annotations

from steadyrl.experiments.studies import (
    c1_large_batch,
    c2_what_drives_it,
    c3_gradient_variance,
    c3_language,
    c4_fixed_or_dynamic,
    c5_gradient_clipping,
    c6_value_clipping,
    c7_replay,
    c8_objective_mismatch,
    c9_two_versions,
    c10_loss_jump,
)
from steadyrl.experiments.studies.study import Study

STUDIES: dict[str, Study] = {
    study.id: study
    for study in (
        c1_large_batch.STUDY,
        c2_what_drives_it.STUDY,
        c3_gradient_variance.STUDY,
        c3_language.STUDY,
        c4_fixed_or_dynamic.STUDY,
        c5_gradient_clipping.STUDY,
        c6_value_clipping.STUDY,
        c7_replay.STUDY,
        c8_objective_mismatch.STUDY,
        c9_two_versions.STUDY,
        c10_loss_jump.STUDY,
    )
}
