"""Try quotas on recorded or planned traffic, with the code that a broker uses for its quotas."""
