"""What each idempotent producer last wrote, per partition."""
