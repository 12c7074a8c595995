"""The database as a whole: migrations, backups and restores, partitions, retention."""
