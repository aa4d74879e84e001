"""Which operations of the admin port a proxy has."""

PROXIED = frozenset(
    {
        "add_faults",
        "advance_clock",
        "clear_faults",
        "clear_requests",
        "clear_shadow_report",
        "cut_connection",
        "delete_quotas",
        "export_pcap",
        "export_requests",
        "follow_requests",
        "get_clock",
        "get_health",
        "get_journal",
        "get_metrics",
        "get_openapi",
        "get_page",
        "get_page_module",
        "get_page_style",
        "get_request",
        "isolate_broker",
        "list_brokers",
        "list_connections",
        "list_faults",
        "list_measurements",
        "list_near_misses",
        "list_near_misses_of_fault",
        "list_filters",
        "list_quotas",
        "list_requests",
        "list_shadow_report",
        "put_clock",
        "put_quotas",
        "release_held",
        "remove_fault",
        "reset",
        "search_requests",
        "start_broker",
        "stop_broker",
        "wait_for_fault",
        "wait_for_request",
    }
)
"""The ids of the operations; all others are about a state that the cluster behind it has."""


def refused_operation(operation_id: str) -> str | None:
    """Return why a proxy does not have an operation of the admin port, or None."""
    if operation_id in PROXIED:
        return None
    return (
        f"this is a proxy: {operation_id} is about what the cluster behind it has; use a tool of"
        " Kafka's, such as mock-kafka topics, configs or groups"
    )
