"""Each measure has a log with all periods, and each tenant a distribution."""

from loadgen.analysis.histogram_files import histogram_files
from loadgen.analysis.latencies import Latencies
from loadgen.analysis.measures import END_TO_END, PUBLISH, Measured, Times
from loadgen.plan.plan import Plan, Tenant

PLAN = Plan(name="p", duration_s=25.0, tenants=(Tenant("shop", "steady"),))


def times(count: int) -> Times:
    return Times(Latencies([(500, count)]), 150, 150 * count)


def test_a_log_has_an_interval_of_all_and_of_each_tenant_for_each_period() -> None:
    measured = [
        Measured("shop", PUBLISH, "", {0: times(1), 2: times(2)}),
        Measured("cash, till", PUBLISH, "", {2: times(3)}),
        Measured("shop", END_TO_END, "g/1", {0: times(4)}),
    ]
    files = histogram_files(measured, PLAN, 5.0)
    assert set(files) == {
        "publish.hlog",
        "shop.publish.hgrm",
        "cash_till.publish.hgrm",
        "end_to_end.hlog",
        "shop.g_1.end_to_end.hgrm",
    }
    log = files["publish.hlog"].splitlines()
    assert log[1] == "#[StartTime: 5.000 (seconds since epoch)]"
    intervals = [line.rsplit(",", 1)[0] for line in log[4:]]
    assert intervals == [
        "0.000,10.000,0.150",
        "Tag=shop,0.000,10.000,0.150",
        "20.000,5.000,0.150",
        "Tag=shop,20.000,5.000,0.150",
        "Tag=cash_till,20.000,5.000,0.150",
    ]
    assert "Total count    =            3]" in files["shop.publish.hgrm"]
    assert histogram_files([], PLAN, 5.0) == {}
