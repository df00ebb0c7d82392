//! A chart of lines as SVG.

use std::fmt::Write as _;

use super::page::{Data, escape};

const COLOURS: [&str; 8] = ["#2f6fde", "#2a9d5c", "#d9822b", "#8e5bd0", "#c23b4b", "#0f94a8", "#8a6d1d", "#5b6770"];
/// Series that the legend names.
const NAMED: usize = 5;
/// Height of the drawing in pixels.
const HEIGHT: f64 = 128.0;
/// Left of the lines, for the scale.
const LEFT: f64 = 52.0;
/// Below the lines, for the time.
const BELOW: f64 = 16.0;

/// Draws the series from the second `from` to the second `to`, with a scale and a legend, in so many pixels.
pub(super) fn lines(series: &[Data], unit: &str, [from, to]: [i64; 2], width: f64) -> String {
    let top = round_up(series.iter().flat_map(|one| &one.values).map(|(_, value)| *value).fold(0.0, f64::max));
    let bottom = HEIGHT - BELOW;
    let x = |at: f64| LEFT + (at - seconds(from)) / seconds(to - from).max(1.0) * (width - LEFT - 8.0);
    let y = |value: f64| bottom - value / top * (bottom - 8.0);
    let mut svg = format!("<svg width={width:.0} height={HEIGHT}>");
    for part in [0.0, 0.5, 1.0] {
        let (value, at) = (with_unit(top * part, unit), y(top * part));
        let _ = write!(svg, "<line class=grid x1={LEFT} x2={} y1={at:.1} y2={at:.1} />", width - 8.0);
        let _ = write!(svg, "<text x={} y={:.1} text-anchor=end>{value}</text>", LEFT - 6.0, at + 4.0);
        let moment = seconds(from) + seconds(to - from) * part;
        let (ago, anchor) =
            (seconds(to) - moment, ["start", "middle", "end"][usize::from(part > 0.0) + usize::from(part > 0.5)]);
        let ago = if ago < 1.0 { "now".to_owned() } else { format!("−{}", with_unit(ago, "s")) };
        let _ = write!(svg, "<text x={:.1} y={} text-anchor={anchor}>{ago}</text>", x(moment), HEIGHT - 2.0);
    }
    for (one, colour) in series.iter().zip(COLOURS.iter().cycle()) {
        for run in one.values.split(|(_, value)| !value.is_finite()).filter(|run| !run.is_empty()) {
            let points: Vec<_> = run.iter().map(|(at, value)| format!("{:.1},{:.1}", x(*at), y(*value))).collect();
            let _ = write!(svg, "<polyline stroke=\"{colour}\" points=\"{}\" />", points.join(" "));
        }
    }
    format!("{svg}</svg><p class=legend>{}</p>", legend(series))
}

fn legend(series: &[Data]) -> String {
    let mut names = String::new();
    for (one, colour) in series.iter().zip(COLOURS.iter().cycle()).take(NAMED) {
        let _ = write!(names, "<span><i style=\"background:{colour}\"></i>{}</span>", escape(&one.name));
    }
    if let Some(more) = series.len().checked_sub(NAMED + 1) {
        let _ = write!(names, "<span>and {} more</span>", more + 1);
    }
    names
}

#[allow(clippy::cast_precision_loss, reason = "seconds since 1970 are exact")]
fn seconds(second: i64) -> f64 {
    second as f64
}

/// Returns the end of the scale: 1, 2 or 5 times a power of ten, and not less than the largest value.
fn round_up(largest: f64) -> f64 {
    if largest <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(largest.log10().floor());
    let step = [1.0, 2.0, 5.0].into_iter().find(|step| step * power >= largest);
    step.unwrap_or(10.0) * power
}

/// Formats a value in the unit of a panel.
pub(super) fn with_unit(value: f64, unit: &str) -> String {
    let (value, unit) = match unit {
        "s" if value > 0.0 && value < 1.0 => (value * 1000.0, " ms"),
        "s" if value >= 120.0 => (value / 60.0, " min"),
        "s" => (value, " s"),
        "ops" | "reqps" => (value, "/s"),
        "bytes" => (value / 1_048_576.0, " MiB"),
        _ => (value, ""),
    };
    let text = if value >= 10.0 { format!("{value:.0}") } else { format!("{value:.2}") };
    let short: &str = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{short}{unit}")
}
