"""The Spark SQL of the atlas, over the views `experiments` and `requests` of a run.

Each query has the parameter `:severity`, a map from a cell to how bad it is (`cell.SEVERITY`).
"""

LATEST = """
    SELECT * FROM (
        SELECT *, row_number() OVER (PARTITION BY client, client_version, situation, seed
                                     ORDER BY started_ms DESC) AS age
        FROM experiments)
    WHERE age = 1"""
"""The newest run of each experiment: situations and verdicts change."""

CELLS = """
    SELECT client, client_version, situation, shown.*, experiments, cells,
           size(cells) > 1 AS is_flaky
    FROM (
        SELECT client, client_version, situation,
               max_by(struct(experiment_id, area, seed, cell, data, reported, error, error_class,
                             retries, backoff_ms, throttle, closed, usable, outcome_ms,
                             duration_ms, reasons, events),
                      struct(same, severity, -seed)) AS shown,
               count(*) AS experiments, array_sort(collect_set(cell)) AS cells
        FROM (SELECT *, coalesce(:severity[cell], 0) AS severity,
                     count(*) OVER (PARTITION BY client, client_version, situation, cell) AS same
              FROM latest)
        GROUP BY client, client_version, situation)
    ORDER BY situation, client, client_version"""
"""A cell of the matrix: the most frequent one over the seeds, the worst one of equals."""

COUNTS = """
    SELECT client, client_version, cell, count(*) AS situations, count_if(is_flaky) AS flaky
    FROM cells GROUP BY client, client_version, cell ORDER BY client, client_version, cell"""

OUTLIERS = """
    SELECT client, client_version, situation, measure, value, median_of_others FROM (
        SELECT client, client_version, situation, measure, value,
               median(value) OVER (PARTITION BY situation, measure) AS median_of_others,
               count(*) OVER (PARTITION BY situation, measure) AS clients
        FROM (SELECT client, client_version, situation,
                     stack(2, 'outcome_ms', outcome_ms, 'retries', CAST(retries AS DOUBLE))
                         AS (measure, value)
              FROM cells WHERE cell <> 'unsupported')
        WHERE value IS NOT NULL)
    WHERE clients > 2 AND value > :factor * greatest(median_of_others, :least[measure])
    ORDER BY value / greatest(median_of_others, 1) DESC, client, situation"""
"""Clients that take much longer, or try much more often, than most of them do."""

RELEASES = """
    SELECT library, situation, before_version, client_version, before_cell, cell FROM (
        SELECT library, situation, client_version, cell,
               lag(client_version) OVER by_age AS before_version,
               lag(cell) OVER by_age AS before_cell
        FROM (SELECT *, regexp_replace(client, '(==.*|-[0-9.]+)$', '') AS library,
                     transform(regexp_extract_all(client_version, '([0-9]+)'), x -> int(x)) AS age
              FROM cells)
        WINDOW by_age AS (PARTITION BY library, situation ORDER BY age))
    WHERE before_cell <> cell AND before_version <> client_version
    ORDER BY library, situation"""
"""The release of a library in which a cell changed, of those that were tried."""

CHANGES = """
    SELECT client, situation, before.client_version AS before_version,
           after.client_version AS after_version, before.cell AS before_cell,
           after.cell AS after_cell, before.experiment_id AS before_id,
           after.experiment_id AS after_id, after.reasons,
           before.is_flaky OR after.is_flaky AS is_flaky,
           coalesce(:severity[after.cell], 0) > coalesce(:severity[before.cell], 0)
               AS is_regression
    FROM cells_before AS before JOIN cells_after AS after USING (client, situation)
    WHERE before.cell <> after.cell
    ORDER BY is_regression DESC, client, situation"""
"""What differs between two runs; each has one version of a client, or the newest one counts."""

TIMELINES = """
    SELECT cells.client, cells.client_version, cells.situation, requests.*
    FROM cells JOIN requests USING (experiment_id) ORDER BY experiment_id, number"""
