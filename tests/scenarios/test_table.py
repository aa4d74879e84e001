from scenarios.table import text_table


def test_columns_are_as_wide_as_their_cells_and_numbers_stand_right() -> None:
    assert text_table(("name", "n"), [("a", 10), ("longer", 7)]).splitlines() == [
        "name      n",
        "───────────",
        "a        10",
        "longer    7",
    ]


def test_a_table_without_rows_is_its_header() -> None:
    assert text_table(("name", "n"), []).splitlines() == ["name   n", "────────"]


def test_a_wide_cell_is_not_wrapped_and_brackets_are_no_markup() -> None:
    wide = "[bold]" + "x" * 300
    assert text_table(("name",), [(wide,)]).splitlines()[-1] == wide
