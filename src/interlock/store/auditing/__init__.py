"""The audit log, its hash chain and its seals."""
