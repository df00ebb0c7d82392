//! JSONPath (RFC 9535): which paths are accepted. `jsonpath-rust` parses them; `select.rs` evaluates them.
//!
//! Any user who may create a check writes paths. The cost of parsing is bounded here by the length and by how deep
//! brackets nest, since the grammar parses nested functions several times. `select.rs` bounds the cost of evaluation.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use jsonpath_rust::parser::model::{
    Comparable, Comparison, Filter, FilterAtom, FnArg, Literal, Segment, Selector, SingularQuery, SingularQuerySegment,
    Test, TestFunction,
};
use jsonpath_rust::parser::parse_json_path;

use super::pattern::{Compiler, Pattern};

/// Longest path, in characters.
pub const LONGEST_PATH: usize = 512;
/// How deep brackets may nest.
const DEEPEST: usize = 8;

/// A parsed and accepted path.
#[derive(Debug)]
pub struct Path {
    pub(super) segments: Vec<Segment>,
    /// The patterns of its functions `match` and `search`, by the pattern and whether it must match the whole text.
    pub(super) patterns: BTreeMap<(String, bool), Pattern>,
}

impl Path {
    /// Parses a path, and compiles its patterns.
    ///
    /// # Errors
    /// What is wrong with the path.
    pub fn read(text: &str, compiler: &mut Compiler) -> Result<Self, String> {
        if text.chars().count() > LONGEST_PATH {
            return Err(format!("it is longer than {LONGEST_PATH} characters"));
        }
        if depth(text) > DEEPEST {
            return Err(format!("its brackets nest more than {DEEPEST} deep"));
        }
        let not_a_path = |_| "it is no JSONPath of RFC 9535, as in $.lineItems[0].sku".to_owned();
        let segments = parse_json_path(text).map_err(not_a_path)?.segments;
        let mut patterns = Patterns { compiler, compiled: BTreeMap::new() };
        check_segments(&segments, &mut patterns)?;
        Ok(Self { segments, patterns: patterns.compiled })
    }
}

/// Returns how deep the brackets of a path nest; those within strings are text.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut quote, mut escaped) = (None, false);
    for character in text.chars() {
        match (quote, character) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), close) if open == close => quote = None,
            (None, '\'' | '"') => quote = Some(character),
            (None, '(' | '[') => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            (None, ')' | ']') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// The patterns of a path, and what compiles them.
struct Patterns<'c> {
    compiler: &'c mut Compiler,
    compiled: BTreeMap<(String, bool), Pattern>,
}

fn check_segments(segments: &[Segment], patterns: &mut Patterns<'_>) -> Result<(), String> {
    segments.iter().try_for_each(|segment| check_segment(segment, patterns))
}

fn check_segment(segment: &Segment, patterns: &mut Patterns<'_>) -> Result<(), String> {
    match segment {
        Segment::Descendant(inner) => check_segment(inner, patterns),
        Segment::Selector(selector) => check_selector(selector, patterns),
        Segment::Selectors(selectors) => selectors.iter().try_for_each(|each| check_selector(each, patterns)),
    }
}

fn check_selector(selector: &Selector, patterns: &mut Patterns<'_>) -> Result<(), String> {
    match selector {
        Selector::Name(_) | Selector::Wildcard | Selector::Index(_) | Selector::Slice(..) => Ok(()),
        Selector::Filter(filter) => check_filter(filter, patterns),
    }
}

fn check_filter(filter: &Filter, patterns: &mut Patterns<'_>) -> Result<(), String> {
    match filter {
        Filter::Or(all) | Filter::And(all) => all.iter().try_for_each(|each| check_filter(each, patterns)),
        Filter::Atom(FilterAtom::Filter { expr, .. }) => check_filter(expr, patterns),
        Filter::Atom(FilterAtom::Comparison(comparison)) => {
            let (left, right) = sides(comparison);
            check_comparable(left, patterns)?;
            check_comparable(right, patterns)
        }
        Filter::Atom(FilterAtom::Test { expr, .. }) => match &**expr {
            Test::Function(function) => match &**function {
                TestFunction::Match(..) | TestFunction::Search(..) | TestFunction::Custom(..) => {
                    check_function(function, patterns)
                }
                _ => Err("length(), count() and value() must be compared with something".to_owned()),
            },
            query => check_query(query, patterns),
        },
    }
}

fn check_query(query: &Test, patterns: &mut Patterns<'_>) -> Result<(), String> {
    match query {
        Test::RelQuery(segments) => check_segments(segments, patterns),
        Test::AbsQuery(query) => check_segments(&query.segments, patterns),
        Test::Function(_) => Err("count() and value() take a path".to_owned()),
    }
}

fn check_comparable(side: &Comparable, patterns: &mut Patterns<'_>) -> Result<(), String> {
    match side {
        Comparable::Literal(_) | Comparable::SingularQuery(_) => Ok(()),
        Comparable::Function(function) => match function {
            TestFunction::Match(..) | TestFunction::Search(..) => {
                Err("match() and search() cannot be compared: they are conditions themselves".to_owned())
            }
            function => check_function(function, patterns),
        },
    }
}

/// Checks a function by RFC 9535 section 2.4.3, and requires literal patterns: a pattern from the answer would have no
/// bound.
fn check_function(function: &TestFunction, patterns: &mut Patterns<'_>) -> Result<(), String> {
    match function {
        TestFunction::Custom(name, _) => Err(format!("{name}() is no function of RFC 9535")),
        TestFunction::Length(argument) => check_value(argument, patterns),
        TestFunction::Value(FnArg::Test(query)) | TestFunction::Count(FnArg::Test(query)) => {
            check_query(query, patterns)
        }
        TestFunction::Value(_) | TestFunction::Count(_) => Err("count() and value() take a path".to_owned()),
        TestFunction::Match(text, pattern) | TestFunction::Search(text, pattern) => {
            check_value(text, patterns)?;
            let FnArg::Literal(Literal::String(pattern)) = pattern else {
                return Err("the pattern of match() and search() must be written out, in quotes".to_owned());
            };
            let whole = matches!(function, TestFunction::Match(..));
            if let Entry::Vacant(vacant) = patterns.compiled.entry((pattern.clone(), whole)) {
                vacant.insert(patterns.compiler.compile(pattern, whole)?);
            }
            Ok(())
        }
    }
}

/// Checks an argument that must be one value.
fn check_value(argument: &FnArg, patterns: &mut Patterns<'_>) -> Result<(), String> {
    let one = || Err("length(), match() and search() take one value, as in @.name".to_owned());
    match argument {
        FnArg::Literal(_) => Ok(()),
        FnArg::Filter(_) => one(),
        FnArg::Test(test) => match &**test {
            Test::RelQuery(segments) => {
                if is_singular(segments) {
                    Ok(())
                } else {
                    one()
                }
            }
            Test::AbsQuery(query) => {
                if is_singular(&query.segments) {
                    Ok(())
                } else {
                    one()
                }
            }
            Test::Function(function) => match &**function {
                TestFunction::Match(..) | TestFunction::Search(..) => one(),
                function => check_function(function, patterns),
            },
        },
    }
}

fn is_singular(segments: &[Segment]) -> bool {
    let one = |segment: &Segment| matches!(segment, Segment::Selector(Selector::Name(_) | Selector::Index(_)));
    segments.iter().all(one)
}

/// Returns the two sides of a comparison.
pub(super) fn sides(comparison: &Comparison) -> (&Comparable, &Comparable) {
    comparison.vals()
}

/// Returns the steps of a query for one value, and whether it starts at the root.
pub(super) fn steps(query: &SingularQuery) -> (&[SingularQuerySegment], bool) {
    match query {
        SingularQuery::Current(steps) => (steps, false),
        SingularQuery::Root(steps) => (steps, true),
    }
}
