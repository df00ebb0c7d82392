//! Query parameters as frontends write them: `list[0]=a&list[1]=b`, `list[]=a` and `list=a&list=b` are lists. Pure.

use form_urlencoded::parse;
use serde_json::{Map, Value};

/// Returns one member for each name: a string, or a list of strings in order.
pub(super) fn parameters(query: &str) -> Map<String, Value> {
    let mut indexed: Vec<(String, Option<u32>, String)> = Vec::new();
    for (name, value) in parse(query.as_bytes()) {
        let (name, index) = match name.strip_suffix(']').and_then(|name| name.rsplit_once('[')) {
            Some((list, "")) if !list.is_empty() => (list.to_owned(), Some(u32::MAX)),
            Some((list, index)) if !list.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit()) => {
                (list.to_owned(), Some(index.parse().unwrap_or(u32::MAX)))
            }
            _ => (name.into_owned(), None),
        };
        indexed.push((name, index, value.into_owned()));
    }
    // The sort is stable: values without an index, or with the same one, keep their order.
    indexed.sort_by_key(|(_, index, _)| index.unwrap_or_default());
    let mut parameters = Map::new();
    for (name, index, value) in indexed {
        let value = Value::String(value);
        match parameters.get_mut(&name) {
            None if index.is_some() => drop(parameters.insert(name, Value::Array(vec![value]))),
            None => drop(parameters.insert(name, value)),
            Some(Value::Array(list)) => list.push(value),
            Some(first) => *first = Value::Array(vec![first.take(), value]),
        }
    }
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_come_in_several_spellings() {
        for (query, expected) in [
            ("", json!({})),
            ("a=1&b=x+y", json!({"a": "1", "b": "x y"})),
            ("list[0]=a&list[1]=b", json!({"list": ["a", "b"]})),
            ("list%5B1%5D=b&list%5B0%5D=a", json!({"list": ["a", "b"]})),
            ("list[0]=a", json!({"list": ["a"]})),
            ("list[]=a&list[]=b", json!({"list": ["a", "b"]})),
            ("list=a&list=b", json!({"list": ["a", "b"]})),
            ("list[x]=a", json!({"list[x]": "a"})),
            ("[0]=a", json!({"[0]": "a"})),
            ("list[99999999999]=b&list[2]=a", json!({"list": ["a", "b"]})),
        ] {
            assert_eq!(Value::Object(parameters(query)), expected, "{query}");
        }
    }
}
