"""The context of a request, its authentication and its quotas."""
