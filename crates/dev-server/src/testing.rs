//! Tables in tests.

/// Returns the rows of a table: one a line, with `|` between its cells, and `\n` for a line break within one.
pub(crate) fn rows<const CELLS: usize>(table: &str) -> Vec<[String; CELLS]> {
    let row = |line: &str| {
        let cells: Vec<_> = line.split('|').map(|cell| cell.trim().replace("\\n", "\n")).collect();
        cells.try_into().unwrap_or_else(|cells| panic!("{CELLS} cells are needed: {cells:?}"))
    };
    table.lines().map(str::trim).filter(|line| !line.is_empty()).map(row).collect()
}
