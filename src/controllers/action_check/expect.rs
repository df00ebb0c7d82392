//! Whether an answer is as expected: status, JSON, and a CEL expression over it. Pure.
//!
//! An expression is written by whoever may create a check, so what it may cost is bounded: its length (by the schema), the
//! size of the body, how deep macros nest, that nothing is put together inside of them, and the rounds of all of them
//! together. A caller who has waited long enough stops it between two rounds.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use cel::common::ast::{CallExpr, EntryExpr, Expr, LiteralValue, operators};
use cel::{Context, ExecutionError, IdedExpr, Program, Value};
use serde_json::Value as Json;

use crate::connect::action::ActionAnswer;
use crate::crd::Expectation;

/// Largest body that is looked at, in bytes.
pub const LARGEST_ANSWER: usize = 256 << 10;
/// Rounds of all macros of one expression together.
const MOST_ROUNDS: u32 = 10_000;
/// Macros within macros.
const DEEPEST: u32 = 2;
/// Most brackets, and most signs that stand before something, of one expression: the parser needs stack for each level.
const MOST_LEVELS: usize = 64;
/// Deepest tree of an expression: each level needs stack when it is evaluated.
const DEEPEST_TREE: u32 = 128;
/// What an expression may name.
const NAMES: [&str; 3] = ["body", "headers", "status"];
/// Names of types, for `type(body.x) == string`.
const TYPES: [&str; 10] = ["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"];
/// Called once in each round; no expression can spell it.
const ROUND: &str = "@round";

/// An expression that can be evaluated.
#[derive(Debug)]
pub struct Compiled(IdedExpr);

/// Reads an expression.
///
/// # Errors
/// With what is wrong with it.
pub fn compile(text: &str) -> Result<Compiled, String> {
    for (signs, what) in [(['(', '[', '{'], "brackets"), (['!', '-', '?'], "signs ! - ?")] {
        if text.matches(signs).count() > MOST_LEVELS {
            return Err(format!("it has more than {MOST_LEVELS} {what}: write less"));
        }
    }
    let program = Program::compile(text).map_err(|errors| {
        let text = errors.to_string();
        text.lines().next().unwrap_or("it is no CEL").to_owned()
    })?;
    let mut expression = program.expression().clone();
    if tree(&expression) > DEEPEST_TREE {
        return Err(format!("its parts are nested more than {DEEPEST_TREE} deep, as in a sum of so many: write less"));
    }
    check(&expression, &mut Vec::new(), 0)?;
    count_rounds(&mut expression);
    Ok(Compiled(expression))
}

/// What an answer fails at; `Ok` if it is as expected. `stop` ends an expression that takes too long.
///
/// # Errors
/// With a sentence that quotes nothing of the answer.
pub fn judge(
    expected: &Expectation,
    compiled: Option<&Compiled>,
    answer: &ActionAnswer,
    stop: &Arc<AtomicBool>,
) -> Result<(), String> {
    let status = answer.status.as_u16();
    match expected.status {
        Some(wanted) if wanted != status => return Err(format!("status {status} instead of {wanted}")),
        None if !answer.status.is_success() => return Err(format!("status {status} instead of 200 to 299")),
        _ => {}
    }
    if !answer.whole {
        return Err(format!("status {status}, and a body of more than {} KiB", LARGEST_ANSWER >> 10));
    }
    let body = answer.json::<Json>();
    let Some(compiled) = compiled else {
        // The default expects JSON where there is something; who expects another status has said what matters.
        let wanted = expected.status.is_none() && !answer.body.is_empty();
        return if wanted && body.is_none() { Err(not_json(status)) } else { Ok(()) };
    };
    let body = body.ok_or_else(|| not_json(status))?;
    let headers = answer.headers.iter().map(|(name, value)| {
        (name.as_str().to_owned(), Value::from(String::from_utf8_lossy(value.as_bytes()).into_owned()))
    });
    let headers: HashMap<String, Value> = headers.collect();
    evaluate(compiled, status, body, headers, stop)
}

fn not_json(status: u16) -> String {
    format!("status {status}, but the body is not JSON")
}

fn evaluate(
    compiled: &Compiled,
    status: u16,
    body: Json,
    headers: HashMap<String, Value>,
    stop: &Arc<AtomicBool>,
) -> Result<(), String> {
    let (rounds, stopped) = (Arc::new(AtomicU32::new(0)), Arc::clone(stop));
    let counted = Arc::clone(&rounds);
    let mut context = Context::default();
    context.add_variable_from_value("body", value(body));
    context.add_variable_from_value("status", Value::Int(i64::from(status)));
    context.add_variable_from_value("headers", Value::from(headers));
    let round = move || {
        let over = counted.fetch_add(1, Ordering::Relaxed) >= MOST_ROUNDS || stopped.load(Ordering::Relaxed);
        if over { Err(ExecutionError::function_error(ROUND, "too many rounds")) } else { Ok(true) }
    };
    context.add_function(ROUND, round).map_err(|error| format!("expect.body: {error}"))?;
    let result = context.resolve(&compiled.0);
    // Also if `||` made something of the error.
    if rounds.load(Ordering::Relaxed) > MOST_ROUNDS || stop.load(Ordering::Relaxed) {
        return Err(format!("expect.body takes too long: its macros may go {MOST_ROUNDS} rounds together"));
    }
    match result {
        Ok(Value::Bool(true)) => Ok(()),
        Ok(Value::Bool(false)) => Err("expect.body is false".to_owned()),
        Ok(_) => Err("expect.body is neither true nor false: compare it with something".to_owned()),
        // Its text could quote the answer.
        Err(error) => Err(format!("expect.body fails: {}", kind_of(&error))),
    }
}

fn kind_of(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(name) => format!("the answer has no member {name}; has() asks for one"),
        ExecutionError::UndeclaredReference(name) => format!("{name} is not known"),
        ExecutionError::FunctionError { function, .. } => format!("{function}() cannot be used here"),
        _ => "a value has another type than the expression takes".to_owned(),
    }
}

/// JSON as CEL has it: whole numbers as int.
fn value(json: Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(bool) => Value::Bool(bool),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => Value::Int(whole),
            (None, Some(whole)) => Value::UInt(whole),
            (None, None) => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::from(text),
        Json::Array(list) => Value::List(Arc::new(list.into_iter().map(value).collect())),
        Json::Object(members) => {
            let members: HashMap<String, Value> = members.into_iter().map(|(name, each)| (name, value(each))).collect();
            Value::from(members)
        }
    }
}

/// How deep the parts of an expression are nested.
fn tree(expression: &IdedExpr) -> u32 {
    let of = |parts: &[&IdedExpr]| parts.iter().map(|part| tree(part)).max().unwrap_or_default();
    let below = match &expression.expr {
        Expr::Unspecified | Expr::Literal(_) | Expr::Ident(_) | Expr::Struct(_) => 0,
        Expr::Select(select) => tree(&select.operand),
        Expr::List(list) => list.elements.iter().map(tree).max().unwrap_or_default(),
        Expr::Map(map) => {
            let entries = map.entries.iter().map(|entry| match &entry.expr {
                EntryExpr::MapEntry(entry) => of(&[&entry.key, &entry.value]),
                EntryExpr::StructField(field) => tree(&field.value),
            });
            entries.max().unwrap_or_default()
        }
        Expr::Call(call) => call.target.iter().map(AsRef::as_ref).chain(&call.args).map(tree).max().unwrap_or_default(),
        Expr::Comprehension(macro_) => of(&[&macro_.iter_range, &macro_.loop_step]),
    };
    below.saturating_add(1)
}

/// Only known names, and nothing that grows without bound. `names`: those of the macros around; `depth`: how many.
fn check(expression: &IdedExpr, names: &mut Vec<String>, depth: u32) -> Result<(), String> {
    let together = || Err("+, lists and maps cannot be written inside of a macro: compare what is there".to_owned());
    match &expression.expr {
        Expr::Unspecified => Err("it is not complete".to_owned()),
        Expr::Literal(_) => Ok(()),
        Expr::Ident(name) => {
            let known = NAMES.contains(&name.as_str()) || TYPES.contains(&name.as_str()) || names.contains(name);
            if known { Ok(()) } else { Err(format!("{name} is not known: there are {}", NAMES.join(", "))) }
        }
        Expr::Select(select) => check(&select.operand, names, depth),
        Expr::List(_) | Expr::Map(_) if depth > 0 => together(),
        Expr::List(list) => list.elements.iter().try_for_each(|each| check(each, names, depth)),
        Expr::Map(map) => map.entries.iter().try_for_each(|entry| match &entry.expr {
            EntryExpr::MapEntry(entry) => {
                check(&entry.key, names, depth).and_then(|()| check(&entry.value, names, depth))
            }
            EntryExpr::StructField(field) => check(&field.value, names, depth),
        }),
        Expr::Struct(_) => Err("types with members cannot be made".to_owned()),
        Expr::Call(call) if depth > 0 && call.func_name == operators::ADD => together(),
        Expr::Call(call) => {
            call.target.iter().map(AsRef::as_ref).chain(&call.args).try_for_each(|each| check(each, names, depth))
        }
        Expr::Comprehension(_) if depth == DEEPEST => Err(format!("macros can be nested {DEEPEST} deep")),
        Expr::Comprehension(macro_) => {
            check(&macro_.iter_range, names, depth)?;
            let before = names.len();
            names.extend([macro_.iter_var.clone(), macro_.accu_var.clone()]);
            names.extend(macro_.iter_var2.clone());
            let written = written(&macro_.loop_step, &macro_.accu_var);
            let checked = written.into_iter().try_for_each(|each| check(each, names, depth + 1));
            names.truncate(before);
            checked
        }
    }
}

/// What a person wrote of a round: without what the macro adds to collect its result.
fn written<'a>(step: &'a IdedExpr, result: &str) -> Vec<&'a IdedExpr> {
    let is_result = |each: &IdedExpr| matches!(&each.expr, Expr::Ident(name) if name == result);
    let Expr::Call(call) = &step.expr else { return vec![step] };
    match (call.func_name.as_str(), call.args.as_slice()) {
        (operators::CONDITIONAL, [guard, step, otherwise]) if is_result(otherwise) => {
            let mut all = vec![guard];
            all.extend(written(step, result));
            all
        }
        (operators::ADD, [first, second]) if is_result(first) => match &second.expr {
            Expr::List(list) => list.elements.iter().collect(),
            _ => vec![second],
        },
        _ => vec![step],
    }
}

/// Has each round of each macro call [`ROUND`] first.
fn count_rounds(expression: &mut IdedExpr) {
    match &mut expression.expr {
        Expr::Select(select) => count_rounds(&mut select.operand),
        Expr::List(list) => list.elements.iter_mut().for_each(count_rounds),
        Expr::Map(map) => {
            for entry in &mut map.entries {
                if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                    count_rounds(&mut entry.key);
                    count_rounds(&mut entry.value);
                }
            }
        }
        Expr::Call(call) => {
            call.target.iter_mut().for_each(|target| count_rounds(target));
            call.args.iter_mut().for_each(count_rounds);
        }
        Expr::Comprehension(macro_) => {
            count_rounds(&mut macro_.iter_range);
            count_rounds(&mut macro_.loop_step);
            let goes_on = std::mem::take(&mut macro_.loop_cond);
            let id = goes_on.id;
            let call = |func_name: &str, args| {
                let call = CallExpr { func_name: func_name.to_owned(), target: None, args };
                IdedExpr { id, expr: Expr::Call(call) }
            };
            let never = IdedExpr { id, expr: Expr::Literal(LiteralValue::Boolean(false.into())) };
            macro_.loop_cond = call(operators::CONDITIONAL, vec![call(ROUND, Vec::new()), goes_on, never]);
        }
        Expr::Unspecified | Expr::Literal(_) | Expr::Ident(_) | Expr::Struct(_) => {}
    }
}

#[cfg(test)]
#[path = "expect_tests.rs"]
mod tests;
