//! Curves over time as a picture (SVG), one panel above the other, with a line for each event.

use std::fmt::Write;

const WIDTH: f64 = 1000.0;
const PANEL_HEIGHT: f64 = 180.0;
/// Room to the left of the panels, right of them, between them, and above the first.
const LEFT: f64 = 90.0;
const RIGHT: f64 = 20.0;
const GAP: f64 = 50.0;
const TOP: f64 = 50.0;

/// One curve. Its points are (seconds, value), in the order of time.
#[derive(Clone, Debug)]
pub struct Panel {
    pub title: String,
    pub points: Vec<(f64, f64)>,
}

/// Something that happened, at so many seconds, drawn in a colour of its own through all panels.
#[derive(Clone, Debug)]
pub struct Mark {
    pub seconds: f64,
    pub kind: &'static str,
    pub colour: &'static str,
}

/// Draws it. Curves begin at zero on both axes.
pub fn draw(title: &str, panels: &[Panel], marks: &[Mark]) -> String {
    let height = TOP + panels.len() as f64 * (PANEL_HEIGHT + GAP);
    let seconds_max = panels.iter().flat_map(|panel| panel.points.last()).map(|point| point.0).fold(1.0, f64::max);
    let x = |seconds: f64| LEFT + seconds / seconds_max * (WIDTH - LEFT - RIGHT);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let _ = writeln!(svg, "<text x=\"{LEFT}\" y=\"18\" font-size=\"15\">{}</text>", escaped(title));
    legend(marks, &mut svg);
    for (number, panel) in panels.iter().enumerate() {
        let top = TOP + 10.0 + number as f64 * (PANEL_HEIGHT + GAP);
        let bottom = top + PANEL_HEIGHT;
        let value_max = nice_ceiling(panel.points.iter().map(|point| point.1).fold(0.0, f64::max));
        let y = |value: f64| bottom - value / value_max * PANEL_HEIGHT;
        for part in 0..=4 {
            let value = value_max * f64::from(part) / 4.0;
            let (y, right) = (y(value), WIDTH - RIGHT);
            let _ = writeln!(svg, "<path d=\"M{LEFT} {y:.1}H{right}\" stroke=\"#ddd\"/>");
            let _ =
                writeln!(svg, "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>", LEFT - 6.0, y + 4.0);
        }
        for mark in marks {
            let (x, colour) = (x(mark.seconds), mark.colour);
            let _ = writeln!(svg, "<path d=\"M{x:.1} {top:.1}V{bottom:.1}\" stroke=\"{colour}\" opacity=\"0.6\"/>");
        }
        let mut path = String::new();
        for (index, &(seconds, value)) in panel.points.iter().enumerate() {
            let _ = write!(path, "{}{:.1} {:.1}", if index == 0 { 'M' } else { 'L' }, x(seconds), y(value));
        }
        let _ = writeln!(svg, "<path d=\"{path}\" fill=\"none\" stroke=\"#1f5fa8\" stroke-width=\"1.5\"/>");
        let _ = writeln!(
            svg,
            "<text x=\"{LEFT}\" y=\"{:.1}\" font-weight=\"bold\">{}</text>",
            top - 6.0,
            escaped(&panel.title)
        );
        for part in 0..=4 {
            let seconds = seconds_max * f64::from(part) / 4.0;
            let (x, y) = (x(seconds), bottom + 16.0);
            let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{seconds:.0} s</text>");
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// Each kind of event once, in its colour.
fn legend(marks: &[Mark], svg: &mut String) {
    let mut kinds: Vec<(&str, &str)> = marks.iter().map(|mark| (mark.kind, mark.colour)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for (number, (kind, colour)) in kinds.into_iter().enumerate() {
        let x = LEFT + number as f64 * 130.0;
        let _ = writeln!(svg, "<text x=\"{x}\" y=\"38\" fill=\"{colour}\">| {}</text>", escaped(kind));
    }
}

/// The next number up that is 1, 2 or 4 times a power of ten, for quarters of it are short to write.
fn nice_ceiling(value: f64) -> f64 {
    let mut power = 1.0;
    while power * 10.0 < value {
        power *= 10.0;
    }
    [1.0, 2.0, 4.0, 10.0].into_iter().map(|factor| factor * power).find(|&nice| value <= nice).unwrap_or(value)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_end_at_round_numbers() {
        for (value, wanted) in [(0.0, 1.0), (1.0, 1.0), (3.0, 4.0), (41.0, 100.0), (160_000.0, 200_000.0)] {
            assert_eq!(nice_ceiling(value), wanted, "{value}");
        }
    }

    #[test]
    fn every_panel_and_every_event_is_drawn() {
        let panel = |title: &str| Panel { title: title.to_owned(), points: vec![(0.0, 0.0), (10.0, 100.0)] };
        let marks =
            [Mark { seconds: 5.0, kind: "kill", colour: "red" }, Mark { seconds: 6.0, kind: "kill", colour: "red" }];
        let svg = draw("A & B", &[panel("memory < disk"), panel("disk")], &marks);
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
        assert!(svg.contains("A &amp; B") && svg.contains("memory &lt; disk"));
        assert_eq!(svg.matches("stroke=\"red\"").count(), 4, "two events in two panels");
        assert_eq!(svg.matches(">| kill<").count(), 1, "one legend");
        assert!(svg.contains("M90.0 240.0L980.0 60.0"), "from nothing to the most: {svg}");
    }
}
