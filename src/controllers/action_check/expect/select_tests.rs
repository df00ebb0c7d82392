//! Tests of the evaluator with examples of RFC 9535, and against the evaluator of `jsonpath-rust` with random input.

use jsonpath_rust::JsonPath as _;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::pattern::Compiler;
use super::*;

fn to_value(json: &Json<'_>) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => Value::Number(number.clone()),
        Json::Text(text) => Value::String(text.to_string()),
        Json::List(values) => values.iter().map(to_value).collect(),
        Json::Object(members) => {
            Value::Object(members.iter().map(|(name, value)| (name.to_string(), to_value(value))).collect())
        }
    }
}

fn selected(path: &str, value: &Value) -> Vec<Value> {
    let text = value.to_string();
    let json = Json::read(text.as_bytes()).expect("it is JSON");
    let path = Path::read(path, &mut Compiler::default()).expect(path);
    let mut all = Vec::new();
    let mut budget = Budget::of(100_000);
    let done = select(&path, &json, &mut budget, &mut |found, _| {
        all.push(to_value(found));
        Ok(())
    });
    assert_eq!(done, Ok(()));
    all
}

#[test]
fn paths_select_what_the_rfc_says() {
    let shop = json!({
        "a": [3, 5, 1, 2, 4, 6, {"b": "j"}, {"b": "k"}, {"b": {}}, {"b": "kilo"}],
        "o": {"p": 1, "q": 2, "r": 3, "s": 5, "t": {"u": 6}},
        "e": "f",
    });
    for (path, expected) in [
        ("$.a[?@.b == 'kilo']", json!([{"b": "kilo"}])),
        ("$.a[?(@.b == 'kilo')]", json!([{"b": "kilo"}])),
        ("$.a[?@ > 3.5]", json!([5, 4, 6])),
        ("$.a[?@.b]", json!([{"b": "j"}, {"b": "k"}, {"b": {}}, {"b": "kilo"}])),
        ("$.o[?@ < 3, ?@ < 3]", json!([1, 2, 1, 2])),
        ("$.a[?@ < 2 || @.b == 'k']", json!([1, {"b": "k"}])),
        ("$.a[?match(@.b, '[jk]')]", json!([{"b": "j"}, {"b": "k"}])),
        ("$.a[?search(@.b, '[jk]')]", json!([{"b": "j"}, {"b": "k"}, {"b": "kilo"}])),
        ("$.o[?@ > 1 && @ < 4]", json!([2, 3])),
        ("$.o[?@.u || @.x]", json!([{"u": 6}])),
        ("$.a[?@.b == $.x]", json!([3, 5, 1, 2, 4, 6])),
        ("$.a[?@ == @]", shop["a"].clone()),
        ("$.a[1:5:2]", json!([5, 2])),
        ("$.a[5:1:-2]", json!([6, 2])),
        ("$.a[::-4]", json!([{"b": "kilo"}, 6, 5])),
        ("$.a[-2:]", json!([{"b": {}}, {"b": "kilo"}])),
        ("$.a[99:5:-3]", json!([{"b": "kilo"}, {"b": "j"}])),
        ("$.a[0:5:0]", json!([])),
        ("$.a[9007199254740991:]", json!([])),
        ("$['o','e'].p", json!([1])),
        ("$.o..u", json!([6])),
        ("$[?count(@.*) > 4].t.u", json!([6])),
        ("$[?length(@) == 1]", json!(["f"])),
        ("$.o[?value(@..u) == 6]", json!([{"u": 6}])),
        ("$[?value(@.*) == 1]", json!([])),
        ("$.a[?!@.b]", json!([3, 5, 1, 2, 4, 6])),
        ("$.a[?@.b != 'j' && @.b <= 'k']", json!([{"b": "k"}])),
    ] {
        assert_eq!(Value::from(selected(path, &shop)), expected, "{path}");
    }
}

#[test]
fn lists_and_objects_are_compared_as_a_whole() {
    let list = json!({"list": [[1, {"a": 1, "b": 2}], [1.0, {"b": 2, "a": 1}], [1, {"a": 1}], [1, {"a": 1, "b": 3}], 18_446_744_073_709_551_615_u64]});
    assert_eq!(selected("$.list[?@ == $.list[0]]", &list).len(), 2, "numbers by value, members in any order");
    assert_eq!(selected("$.list[?@ > 9007199254740991]", &list).len(), 1);
}

#[test]
fn values_of_each_type_are_compared() {
    let values =
        json!({"v": [true, false, null, 1, 1.5, "a", "b", 9_007_199_254_740_992_u64, 9_007_199_254_740_993_u64]});
    for (path, expected) in [
        ("$.v[?@ == true]", json!([true])),
        ("$.v[?@ < true]", json!([])),
        ("$.v[?@ < 1.5]", json!([1])),
        ("$.v[?@ < 'b']", json!(["a"])),
        ("$.v[?@ > 'a']", json!(["b"])),
        ("$.v[?@ > 1.5 && @ < $.v[8]]", json!([9_007_199_254_740_992_u64])),
        ("$.v[?@ == $.v[7]]", json!([9_007_199_254_740_992_u64])),
    ] {
        assert_eq!(Value::from(selected(path, &values)), expected, "{path}");
    }
}

/// The exact number of steps does not matter, but it must grow with what is read, and no faster.
#[test]
fn a_filter_costs_in_proportion_to_what_it_reads() {
    let text = "a".repeat(64_000);
    let object = |members: usize| (0..members).map(|at| (format!("m{at}"), json!(at))).collect::<Value>();
    for (path, value, steps) in [
        ("$[?@ == $[1]]", json!([text, text]), 2_000),
        ("$[?@ < $[1]]", json!([text, text]), 2_000),
        ("$[?length(@) == 1]", json!([text, text]), 2_000),
        ("$[?@.m0 == 1]", json!([object(8_000), object(8_000)]), 2_000),
        ("$[?@ == $[1]]", json!([object(400), object(400)]), 83_000),
    ] {
        let text = value.to_string();
        let json = Json::read(text.as_bytes()).expect("it is JSON");
        let read = Path::read(path, &mut Compiler::default()).expect(path);
        for (budget, expected) in [(steps / 4 * 3, Err(Stop::TooMuch)), (steps / 4 * 5, Ok(()))] {
            let done = select(&read, &json, &mut Budget::of(budget), &mut |_, _| Ok(()));
            assert_eq!(done, expected, "{path} with {budget} steps");
        }
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..4).prop_map(Value::from),
        "[ab]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[ab]", inner, 0..3).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Paths without the features in which the crate deviates from the RFC: comparisons of lists and objects with the
/// values of several nodes, and slices with a negative step.
fn any_path() -> impl Strategy<Value = String> {
    let step = || prop_oneof![Just(".a"), Just(".b"), Just("[0]"), Just("[-1]"), Just("[1]")];
    let singular = prop::collection::vec(step(), 0..3).prop_map(|steps| steps.concat());
    let literal = prop_oneof![Just("1"), Just("'a'"), Just("true"), Just("null"), Just("-2")];
    let compared = prop_oneof![Just("=="), Just("!="), Just("<"), Just(">="), Just("<="), Just(">")];
    let filter = prop_oneof![
        (singular.clone(), compared, literal).prop_map(|(path, sign, value)| format!("[?@{path} {sign} {value}]")),
        singular.clone().prop_map(|path| format!("[?@{path}]")),
        singular.prop_map(|path| format!("[?!(@{path} || @.a) && @ != 1]")),
        Just("[?count(@..*) > 1]".to_owned()),
        Just("[?length(@) >= 1]".to_owned()),
        Just("[?search(@, 'a')]".to_owned()),
    ];
    let other = prop_oneof![
        Just("[*]"),
        Just("..*"),
        Just("..a"),
        Just("..[0]"),
        Just("[0:2]"),
        Just("[1::2]"),
        Just("['a','b']")
    ];
    let segment = prop_oneof![step().prop_map(str::to_owned), filter, other.prop_map(str::to_owned)];
    prop::collection::vec(segment, 0..4).prop_map(|segments| format!("${}", segments.concat()))
}

proptest! {
    #[test]
    fn the_evaluator_selects_the_same_values_as_the_crate(value in any_json(), path in any_path()) {
        let sorted = |mut values: Vec<String>| { values.sort(); values };
        let own = sorted(selected(&path, &value).iter().map(Value::to_string).collect());
        let crates = value.query(&path).expect("a path");
        let crates = sorted(crates.into_iter().map(Value::to_string).collect());
        prop_assert_eq!(own, crates, "{} over {}", path, value);
    }
}
