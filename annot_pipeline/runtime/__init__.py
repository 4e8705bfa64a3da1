"""Run stages: builds, contexts, partitions of whole tasks, blocks of large ones, executors."""
