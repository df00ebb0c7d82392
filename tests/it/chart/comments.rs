//! The reference of the chart's values: the comments in `values.yaml` that begin with `# -- `.

use crate::prelude::*;

/// A documented value: its path and its text.
pub(super) struct Documented {
    pub(super) path: Vec<String>,
    pub(super) comment: String,
}

/// Returns every key of `values.yaml` under such a comment, in order.
pub(super) fn documented() -> Vec<Documented> {
    let (mut found, mut parents, mut comment) = (Vec::new(), Vec::<(usize, String)>::new(), None::<String>);
    for line in text_of(format!("{CHART}/values.yaml")).lines() {
        let trimmed = line.trim_start();
        let indent = line.len() - trimmed.len();
        if let Some(begin) = trimmed.strip_prefix("# -- ") {
            comment = Some(begin.to_owned());
        } else if let (Some(comment), Some(more)) = (&mut comment, trimmed.strip_prefix("# ")) {
            comment.push(' ');
            comment.push_str(more);
        } else if let Some((key, _)) = trimmed.split_once(':').filter(|(key, _)| is_key(key)) {
            parents.retain(|(above, _)| *above < indent);
            parents.push((indent, key.to_owned()));
            if let Some(comment) = comment.take() {
                found.push(Documented { path: parents.iter().map(|(_, key)| key.clone()).collect(), comment });
            }
        }
    }
    found
}

fn is_key(text: &str) -> bool {
    !text.is_empty() && text.chars().all(char::is_alphanumeric)
}

fn at<'a>(values: &'a Value, path: &[String]) -> &'a Value {
    path.iter().fold(values, |value, key| &value[key])
}

#[test]
fn every_value_is_documented() {
    let values = yaml_of(format!("{CHART}/values.yaml"));
    let documented: Vec<_> = documented().into_iter().map(|it| it.path).collect();
    for path in &documented {
        assert!(!at(&values, path).is_null(), "{}: the comment is above no value", path.join("."));
    }
    let mut undocumented = Vec::new();
    leaves(&values, &mut Vec::new(), &documented, &mut undocumented);
    assert_eq!(undocumented, Vec::<String>::new());
}

/// Collects values that neither have a comment nor are part of a value with one.
fn leaves(value: &Value, path: &mut Vec<String>, documented: &[Vec<String>], undocumented: &mut Vec<String>) {
    if documented.contains(path) {
        return;
    }
    match value.as_object() {
        Some(members) if !members.is_empty() => {
            for (name, member) in members {
                path.push(name.clone());
                leaves(member, path, documented, undocumented);
                path.pop();
            }
        }
        _ => undocumented.push(path.join(".")),
    }
}
