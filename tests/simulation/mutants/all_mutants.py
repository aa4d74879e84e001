"""All mutants of ordinary worlds."""

from tests.simulation.mutants.disturbances import DISTURBANCE_MUTANTS
from tests.simulation.mutants.fetch_sessions import FETCH_SESSION_MUTANTS
from tests.simulation.mutants.groups import GROUP_MUTANTS
from tests.simulation.mutants.lost_ends import LOST_END_MUTANTS
from tests.simulation.mutants.mutant import Mutant
from tests.simulation.mutants.pauses import PAUSE_MUTANTS
from tests.simulation.mutants.quotas import QUOTA_MUTANTS
from tests.simulation.mutants.storage import STORAGE_MUTANTS

MUTANTS: tuple[Mutant, ...] = (
    *STORAGE_MUTANTS,
    *LOST_END_MUTANTS,
    *GROUP_MUTANTS,
    *QUOTA_MUTANTS,
    *PAUSE_MUTANTS,
    *FETCH_SESSION_MUTANTS,
    *DISTURBANCE_MUTANTS,
)
