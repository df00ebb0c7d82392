//! Evaluates a JSONPath with a bound. Pure.
//!
//! Values are visited one after the other and never collected, so evaluation needs no memory but the stack; each visit
//! spends part of a budget that all assertions of a check share. The evaluator of `jsonpath-rust` collects every value
//! after each segment, with its path as a text, so `$..*..*` over an answer of 256 KiB would need gigabytes.

use jsonpath_rust::parser::model::{
    Comparable, Comparison, Filter, FilterAtom, FnArg, Literal, Segment, Selector, SingularQuerySegment, Test,
    TestFunction,
};

use super::budget::{Budget, Stop};
use super::compare::{COMPARED, Operand};
use super::json::Json;
use super::path::{Path, sides, steps};

/// Calls `found` for each value that a path selects, in the order of RFC 9535, until it returns `Enough`.
///
/// # Errors
/// `TooMuch` when the budget is used up.
pub fn select<'j>(
    path: &'j Path,
    root: &'j Json<'j>,
    budget: &mut Budget,
    found: &mut dyn FnMut(&'j Json<'j>, &mut Budget) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let mut walk = Walk { path, root, budget };
    enough(walk.segments(&path.segments, root, found))
}

fn enough(result: Result<(), Stop>) -> Result<(), Stop> {
    match result {
        Err(Stop::Enough) => Ok(()),
        other => other,
    }
}

type Found<'f, 'j> = &'f mut dyn FnMut(&'j Json<'j>, &mut Budget) -> Result<(), Stop>;

struct Walk<'w, 'j> {
    path: &'j Path,
    root: &'j Json<'j>,
    budget: &'w mut Budget,
}

impl<'j> Walk<'_, 'j> {
    fn segments(&mut self, segments: &'j [Segment], node: &'j Json<'j>, found: Found<'_, 'j>) -> Result<(), Stop> {
        self.budget.spend(1)?;
        match segments.split_first() {
            None => found(node, self.budget),
            Some((Segment::Descendant(inner), rest)) => self.descend(inner, rest, node, found),
            Some((child, rest)) => self.child(child, rest, node, found),
        }
    }

    /// Visits the node itself, then everything below it, parents before their children.
    fn descend(
        &mut self,
        segment: &'j Segment,
        rest: &'j [Segment],
        node: &'j Json<'j>,
        found: Found<'_, 'j>,
    ) -> Result<(), Stop> {
        self.budget.spend(1)?;
        self.child(segment, rest, node, found)?;
        node.children().try_for_each(|child| self.descend(segment, rest, child, found))
    }

    fn child(
        &mut self,
        segment: &'j Segment,
        rest: &'j [Segment],
        node: &'j Json<'j>,
        found: Found<'_, 'j>,
    ) -> Result<(), Stop> {
        match segment {
            Segment::Selector(selector) => self.selector(selector, rest, node, found),
            Segment::Selectors(all) => all.iter().try_for_each(|each| self.selector(each, rest, node, found)),
            // The grammar never nests one descendant segment in another.
            Segment::Descendant(inner) => self.descend(inner, rest, node, found),
        }
    }

    fn selector(
        &mut self,
        selector: &'j Selector,
        rest: &'j [Segment],
        node: &'j Json<'j>,
        found: Found<'_, 'j>,
    ) -> Result<(), Stop> {
        self.budget.spend(1)?;
        match selector {
            Selector::Name(name) => match self.member(node, name)? {
                Some(child) => self.segments(rest, child, found),
                None => Ok(()),
            },
            Selector::Index(index) => match element(node, *index) {
                Some(child) => self.segments(rest, child, found),
                None => Ok(()),
            },
            Selector::Wildcard => node.children().try_for_each(|child| self.segments(rest, child, found)),
            Selector::Slice(start, end, step) => {
                let Json::List(values) = node else { return Ok(()) };
                let indexes = slice(values.len(), *start, *end, step.unwrap_or(1));
                indexes.filter_map(|index| values.get(index)).try_for_each(|child| self.segments(rest, child, found))
            }
            Selector::Filter(filter) => node.children().try_for_each(|child| {
                self.budget.spend(1)?;
                if self.holds(filter, child)? { self.segments(rest, child, found) } else { Ok(()) }
            }),
        }
    }

    fn member(&mut self, node: &'j Json<'j>, name: &str) -> Result<Option<&'j Json<'j>>, Stop> {
        self.budget.spend(node.len() / 8)?;
        Ok(node.member(name))
    }

    fn holds(&mut self, filter: &'j Filter, node: &'j Json<'j>) -> Result<bool, Stop> {
        self.budget.spend(1)?;
        match filter {
            Filter::Or(all) => {
                for each in all {
                    if self.holds(each, node)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Filter::And(all) => {
                for each in all {
                    if !self.holds(each, node)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Filter::Atom(FilterAtom::Filter { expr, not }) => Ok(self.holds(expr, node)? != *not),
            Filter::Atom(FilterAtom::Test { expr, not }) => Ok(self.tests(expr, node)? != *not),
            Filter::Atom(FilterAtom::Comparison(comparison)) => self.compares(comparison, node),
        }
    }

    fn tests(&mut self, test: &'j Test, node: &'j Json<'j>) -> Result<bool, Stop> {
        if let Test::Function(function) = test {
            return match &**function {
                TestFunction::Match(argument, pattern) => self.matches(argument, pattern, true, node),
                TestFunction::Search(argument, pattern) => self.matches(argument, pattern, false, node),
                // `path.rs` rejects the other functions here.
                _ => Ok(false),
            };
        }
        let mut any = false;
        self.query(test, node, &mut |_, _| {
            any = true;
            Err(Stop::Enough)
        })?;
        Ok(any)
    }

    /// Visits everything that a query within a filter selects.
    fn query(&mut self, test: &'j Test, node: &'j Json<'j>, found: Found<'_, 'j>) -> Result<(), Stop> {
        enough(match test {
            Test::RelQuery(segments) => self.segments(segments, node, found),
            Test::AbsQuery(query) => self.segments(&query.segments, self.root, found),
            Test::Function(_) => Ok(()),
        })
    }

    fn matches(&mut self, text: &'j FnArg, pattern: &FnArg, whole: bool, node: &'j Json<'j>) -> Result<bool, Stop> {
        let (Operand::Text(text), FnArg::Literal(Literal::String(pattern))) = (self.argument(text, node)?, pattern)
        else {
            return Ok(false);
        };
        let compiled = self.path.patterns.get(&(pattern.clone(), whole));
        compiled.map_or(Ok(false), |pattern| pattern.is_match(text, self.budget))
    }

    fn compares(&mut self, comparison: &'j Comparison, node: &'j Json<'j>) -> Result<bool, Stop> {
        let (left, right) = sides(comparison);
        let (left, right) = (self.operand(left, node)?, self.operand(right, node)?);
        Ok(match comparison {
            Comparison::Eq(..) => left.equals(&right, self.budget)?,
            Comparison::Ne(..) => !left.equals(&right, self.budget)?,
            Comparison::Lt(..) => left.is_less(&right, self.budget)?,
            Comparison::Gt(..) => right.is_less(&left, self.budget)?,
            Comparison::Lte(..) => left.is_less(&right, self.budget)? || left.equals(&right, self.budget)?,
            Comparison::Gte(..) => right.is_less(&left, self.budget)? || left.equals(&right, self.budget)?,
        })
    }

    fn operand(&mut self, side: &'j Comparable, node: &'j Json<'j>) -> Result<Operand<'j>, Stop> {
        match side {
            Comparable::Literal(literal) => Ok(Operand::literal(literal)),
            Comparable::Function(function) => self.function(function, node),
            Comparable::SingularQuery(query) => {
                let (steps, from_root) = steps(query);
                let mut at = if from_root { self.root } else { node };
                for step in steps {
                    self.budget.spend(1)?;
                    let next = match step {
                        SingularQuerySegment::Name(name) => self.member(at, name)?,
                        SingularQuerySegment::Index(index) => element(at, *index),
                    };
                    let Some(next) = next else { return Ok(Operand::Nothing) };
                    at = next;
                }
                Ok(Operand::of(at))
            }
        }
    }

    fn function(&mut self, function: &'j TestFunction, node: &'j Json<'j>) -> Result<Operand<'j>, Stop> {
        match function {
            TestFunction::Length(argument) => Ok(match self.argument(argument, node)? {
                Operand::Text(text) => {
                    self.budget.spend(text.len() / COMPARED)?;
                    Operand::count(text.chars().count())
                }
                Operand::Deep(value) => Operand::count(value.len()),
                _ => Operand::Nothing,
            }),
            TestFunction::Count(FnArg::Test(query)) => {
                let mut count = 0;
                self.query(query, node, &mut |_, _| {
                    count += 1;
                    Ok(())
                })?;
                Ok(Operand::count(count))
            }
            TestFunction::Value(FnArg::Test(query)) => {
                let (mut first, mut count) = (None, 0);
                self.query(query, node, &mut |value, _| {
                    first = Some(value);
                    count += 1;
                    if count > 1 { Err(Stop::Enough) } else { Ok(()) }
                })?;
                Ok(first.filter(|_| count == 1).map_or(Operand::Nothing, Operand::of))
            }
            // `path.rs` rejects the other functions here.
            _ => Ok(Operand::Nothing),
        }
    }

    /// Evaluates an argument that is one value.
    fn argument(&mut self, argument: &'j FnArg, node: &'j Json<'j>) -> Result<Operand<'j>, Stop> {
        match argument {
            FnArg::Literal(literal) => Ok(Operand::literal(literal)),
            FnArg::Filter(_) => Ok(Operand::Nothing),
            FnArg::Test(test) => match &**test {
                Test::Function(function) => self.function(function, node),
                query => {
                    let mut value = Operand::Nothing;
                    self.query(query, node, &mut |found, _| {
                        value = Operand::of(found);
                        Err(Stop::Enough)
                    })?;
                    Ok(value)
                }
            },
        }
    }
}

/// Returns the element at an index; a negative one counts from the end.
fn element<'j>(node: &'j Json<'j>, index: i64) -> Option<&'j Json<'j>> {
    let Json::List(values) = node else { return None };
    let length = i64::try_from(values.len()).ok()?;
    let index = if index < 0 { length.checked_add(index)? } else { index };
    values.get(usize::try_from(index).ok()?)
}

/// Returns the indexes of a slice (RFC 9535 section 2.3.4.2.2).
fn slice(length: usize, start: Option<i64>, end: Option<i64>, step: i64) -> impl Iterator<Item = usize> {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let from_start = |index: i64| if index < 0 { length.saturating_add(index) } else { index };
    let (first, last) = if step >= 0 {
        let bound = |index: Option<i64>, default: i64| index.map_or(default, from_start).clamp(0, length);
        (bound(start, 0), bound(end, length))
    } else {
        let bound = |index: Option<i64>, default: i64| index.map_or(default, from_start).clamp(-1, length - 1);
        (bound(start, length), bound(end, -1))
    };
    let mut next = Some(first).filter(|_| step != 0);
    std::iter::from_fn(move || {
        let index = next.filter(|index| if step > 0 { *index < last } else { *index > last })?;
        next = index.checked_add(step);
        usize::try_from(index).ok()
    })
}

#[cfg(test)]
#[path = "select_tests.rs"]
mod tests;
