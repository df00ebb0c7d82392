//! Files that are no YAML, and what their authors read.

use super::super::Specification;

/// Words of the YAML library, or of those who write one.
const NOT_FOR_AUTHORS: [&str; 14] = [
    "Options",
    "Policy",
    "from_str",
    "deserial",
    "serde",
    "budget",
    "Budget",
    "anchor id",
    "Option<",
    "scalar",
    "flow ",
    "simple key",
    "mapping",
    "sequence",
];

#[test]
fn what_is_no_yaml_is_explained_to_its_author() {
    let deep = "[".repeat(5_000);
    let line = |name: &str, of: &str| format!("{name}: &{name} [{}]\n", [of; 9].join(","));
    let laughs: String =
        [("a", "x"), ("b", "*a"), ("c", "*b"), ("d", "*c"), ("e", "*d"), ("f", "*e")].map(|(a, b)| line(a, b)).concat();
    let in_list =
        "deployAs:\n- name: svc\n  configuration:\n    securedConfiguration: []\n    securedConfiguration: []";
    let merged = "deployAs:\n- &one {applicationType: assets, name: first}\n- <<: *one\n  name: second";
    let two_anchors = "x: &a [*b]\ny: &b [*a]\ndeployAs: []";
    for (case, text, place, expected) in [
        ("empty", "", "(line 1)", "must be an object with the member deployAs, and is empty"),
        ("a comment only", "# nothing\n", "(line 2)", "is empty"),
        ("a start only", "---\n", "", "is empty"),
        ("a byte order mark", "\u{feff}deployAs: []", "", ""),
        ("a byte order mark within", "deployAs: []\n\u{feff}", "(line 2, column 1)", "byte order mark (U+FEFF)"),
        ("a tab", "deployAs:\n\t- name: aa", "(line 2, column 2)", "indent with blanks"),
        ("no closing quote", "deployAs: \"abc", "(line 1, column 11)", "no closing quote: add it"),
        ("an apostrophe", "deployAs: 'it's'", "(line 1, column 15)", "write ' as ''"),
        ("an escape", "deployAs: \"\\q\"", "(line 1, column 11)", "write \\\\, or use '…'"),
        ("an open bracket", "deployAs: [a", "(line 1, column 11)", "add the missing `]` or `}`"),
        ("another bracket", "deployAs: [a}", "(line 1, column 11)", "correct the brackets"),
        ("no comma", "deployAs: [a b c: d e: f]", "(line 1, column 22)", "a comma or a closing `]`"),
        (
            "a member twice",
            "deployAs: []\ndeployAs: []",
            "(line 2, column 1)",
            "`deployAs` appears twice in the same object",
        ),
        ("deeper", in_list, "(line 5, column 5)", "`securedConfiguration` appears twice in the same object: keep one"),
        (
            "two documents",
            "deployAs: []\n---\ndeployAs: []",
            "(line 3, column 1)",
            "a line `---` begins a second document",
        ),
        ("an unknown alias", "deployAs: *x", "(line 1, column 11)", "no anchor `&name` before it"),
        ("an asterisk", "deployAs: *", "(line 1, column 11)", "starts with `&` or `*` in quotes"),
        ("an alias in itself", "a: &a [*a]", "(line 1, column 8)", "within its own anchor"),
        ("two aliases in each other", two_anchors, "(line 1, column 8)", "no anchor `&name` before it"),
        ("merged", merged, "", ""),
        ("a number merged", "deployAs:\n- <<: 7", "(line 2, column 7)", "`<<` merges objects only"),
        ("binary", "deployAs: !!binary /w==", "(line 1, column 20)", "remove the tag, and write the text"),
        ("no number", "deployAs: .nan", "(line 1, column 11)", "put it in quotes"),
        ("a null as name", "null: a", "(line 1, column 1)", "the name of a member must be a string"),
        ("a list as name", "[a]: b", "(line 1, column 1)", "this is not YAML: check"),
        ("a colon in a value", "deployAs: b: c", "(line 1, column 12)", "put a value that contains `: ` in quotes"),
        ("indented too far", "deployAs: b\n  c: d", "(line 2, column 4)", "correct the indentation"),
        ("not indented enough", "a:\n  b: c\n d: e", "(line 3, column 2)", "start in the same column"),
        ("a list, then a member", "- a\nb: c", "(line 2, column 1)", "start in the same column"),
        ("an at sign", "a: @x", "(line 1, column 4)", "starts with `@`, `%` or a backquote in quotes"),
        ("a control character", "a: \"\u{1b}\"", "(line 1, column 5)", "remove control characters"),
        ("no blank", "a: {b:[c]}", "(line 1, column 6)", "a blank is missing after a `:`"),
        ("a comment in a text", "a: b # c\n  d", "(line 1, column 6)", "a comment is within a text"),
        ("a text behind its sign", "a: >x\n b", "(line 1, column 4)", "begins in the line after it"),
        ("a dash in brackets", "a: [- b]", "(line 1, column 5)", "separate items by commas"),
        ("a tag", "a: !<x", "(line 1, column 4)", "starts with `!` is read as a tag"),
        ("no colon", "deployAs: [a]\nfoo bar\nx: y", "(line 2, column 1)", "a `:` is missing"),
        ("another version", "%YAML 3.0\n---\na: b", "(line 1, column 1)", "remove it"),
        ("nested", deep.as_str(), "(line 1, ", "nested too deeply"),
        ("many aliases", &laughs, "(line 1, ", "too large with all its aliases"),
    ] {
        match Specification::parse(text) {
            Ok(_) => assert_eq!(expected, "", "{case} is valid"),
            Err(what) => {
                assert!(!expected.is_empty() && what.contains(expected) && what.contains(place), "{case}: {what}");
                assert!(what.starts_with("[file content]: ") && !what.contains('\n'), "{case}: {what}");
                let word = NOT_FOR_AUTHORS.into_iter().find(|word| what.contains(word));
                assert_eq!(word, None, "{case}: {what}");
            }
        }
    }
}
