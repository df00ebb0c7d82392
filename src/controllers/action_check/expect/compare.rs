//! Comparisons of a filter (RFC 9535 section 2.3.5.2.2). Pure.

use std::borrow::Cow;

use jsonpath_rust::parser::model::Literal;
use serde_json::Number;

use super::budget::{Budget, Stop};
use super::json::Json;

/// Bytes that are compared in one step.
pub(super) const COMPARED: usize = 64;

/// One side of a comparison.
pub(super) enum Operand<'j> {
    Nothing,
    Null,
    Bool(bool),
    Number(Cow<'j, Number>),
    Text(&'j str),
    /// A list or an object.
    Deep(&'j Json<'j>),
}

impl<'j> Operand<'j> {
    pub(super) fn of(value: &'j Json<'j>) -> Self {
        match value {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => Self::Number(Cow::Borrowed(number)),
            Json::Text(text) => Self::Text(text),
            Json::List(_) | Json::Object(_) => Self::Deep(value),
        }
    }

    pub(super) fn literal(literal: &'j Literal) -> Self {
        match literal {
            Literal::Int(number) => Self::Number(Cow::Owned((*number).into())),
            Literal::Float(number) => {
                Number::from_f64(*number).map_or(Self::Nothing, |it| Self::Number(Cow::Owned(it)))
            }
            Literal::String(text) => Self::Text(text),
            Literal::Bool(value) => Self::Bool(*value),
            Literal::Null => Self::Null,
        }
    }

    pub(super) fn count(count: usize) -> Self {
        Self::Number(Cow::Owned(count.into()))
    }

    pub(super) fn equals(&self, other: &Self, budget: &mut Budget) -> Result<bool, Stop> {
        budget.spend(1)?;
        Ok(match (self, other) {
            (Self::Nothing, Self::Nothing) | (Self::Null, Self::Null) => true,
            (Self::Bool(one), Self::Bool(two)) => one == two,
            (Self::Number(one), Self::Number(two)) => same_number(one, two),
            (Self::Text(one), Self::Text(two)) => {
                budget.spend(one.len().min(two.len()) / COMPARED)?;
                one == two
            }
            (Self::Deep(one), Self::Deep(two)) => same(one, two, budget)?,
            _ => false,
        })
    }

    pub(super) fn is_less(&self, other: &Self, budget: &mut Budget) -> Result<bool, Stop> {
        budget.spend(1)?;
        Ok(match (self, other) {
            (Self::Number(one), Self::Number(two)) => match (whole(one), whole(two)) {
                (Some(one), Some(two)) => one < two,
                _ => one.as_f64().zip(two.as_f64()).is_some_and(|(one, two)| one < two),
            },
            (Self::Text(one), Self::Text(two)) => {
                budget.spend(one.len().min(two.len()) / COMPARED)?;
                one < two
            }
            _ => false,
        })
    }
}

/// Whether two lists, or two objects, have the same content.
fn same<'j>(one: &'j Json<'j>, two: &'j Json<'j>, budget: &mut Budget) -> Result<bool, Stop> {
    match (one, two) {
        (Json::List(ones), Json::List(twos)) => {
            if ones.len() != twos.len() {
                return Ok(false);
            }
            for (one, two) in ones.iter().zip(twos) {
                if !Operand::of(one).equals(&Operand::of(two), budget)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Json::Object(ones), Json::Object(twos)) => Ok(within(ones, two, budget)? && named(twos, one, budget)?),
        _ => Ok(false),
    }
}

/// Whether the other object has all these members, with the same values.
fn within<'j>(members: &'j [(Cow<'j, str>, Json<'j>)], other: &'j Json<'j>, budget: &mut Budget) -> Result<bool, Stop> {
    for (name, value) in members {
        budget.spend(other.len() / 8 + 1)?;
        let Some(found) = other.member(name) else { return Ok(false) };
        if !Operand::of(value).equals(&Operand::of(found), budget)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the other object has members of all these names.
fn named<'j>(members: &'j [(Cow<'j, str>, Json<'j>)], other: &'j Json<'j>, budget: &mut Budget) -> Result<bool, Stop> {
    for (name, _) in members {
        budget.spend(other.len() / 8 + 1)?;
        if other.member(name).is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether two numbers are equal, however they are written.
pub(super) fn same_number(one: &Number, two: &Number) -> bool {
    match (whole(one), whole(two)) {
        (Some(one), Some(two)) => one == two,
        #[allow(clippy::float_cmp, reason = "numbers are the same or not")]
        _ => one.as_f64().zip(two.as_f64()).is_some_and(|(one, two)| one == two),
    }
}

fn whole(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}
