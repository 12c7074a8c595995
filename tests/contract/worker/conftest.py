"""An open store that counts its transactions, once on each engine."""

from tests.contract.runner.conftest import store as store
