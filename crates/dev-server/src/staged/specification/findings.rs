//! Walks a `connect.yaml` and collects its mistakes, each with its member and line.

use connect_api::text::one_line;

use super::node::{Kind, Node};
use crate::refusal::cut;

/// Maximum length of the text of all findings, in bytes.
const LONGEST: usize = 3_000;
/// Maximum length of one finding, in bytes.
const LONGEST_FINDING: usize = 600;

/// The mistakes, in the order in which they were found.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<String>);

/// Path of a member, as a finding shows it.
#[derive(Clone, Debug, Default)]
pub(super) struct Path(String);

/// The members of an object with a fixed set of members.
#[derive(Debug)]
pub(super) struct Members<'a> {
    line: u64,
    path: Path,
    all: &'a [(String, Node)],
}

impl Path {
    /// Returns the path of a member, or of an item by its index.
    pub(super) fn join(&self, name: &str) -> Self {
        if self.0.is_empty() { Self(cut(name)) } else { Self(format!("{}.{}", self.0, cut(name))) }
    }
}

impl Findings {
    pub(super) fn wrong(&mut self, path: &Path, line: u64, what: &str) {
        let place = if path.0.is_empty() { "file content" } else { &path.0 };
        // The file is a text of others, and must not break the line of a finding.
        let text = one_line(&format!("[{place}]: {what} (line {line})"));
        self.0.push(text[..text.floor_char_boundary(LONGEST_FINDING)].to_owned());
    }

    /// Returns all findings in one line as `Err`, if there are any.
    pub(super) fn finish(self) -> Result<(), String> {
        let mut texts = self.0.into_iter();
        let Some(mut listed) = texts.next() else { return Ok(()) };
        while let Some(text) = texts.next() {
            if listed.len() + text.len() > LONGEST {
                return Err(format!("{listed}; and {} more", texts.count() + 1));
            }
            listed.push_str("; ");
            listed.push_str(&text);
        }
        Err(listed)
    }

    /// Returns the members of an object. Members other than `allowed`, and null ones, are mistakes.
    pub(super) fn object<'a>(&mut self, node: &'a Node, path: &Path, allowed: &[&str]) -> Option<Members<'a>> {
        let Kind::Map(members) = &node.kind else {
            self.wrong(path, node.line, "must be an object");
            return None;
        };
        for (name, member) in members {
            let place = path.join(name);
            if !allowed.contains(&name.as_str()) {
                let what = match allowed {
                    [] => "is not allowed here".to_owned(),
                    allowed => format!("is not allowed here; allowed are {}", allowed.join(", ")),
                };
                self.wrong(&place, member.line, &what);
            } else if matches!(member.kind, Kind::Null) {
                self.wrong(&place, member.line, "must not be null; leave it out");
            }
        }
        Some(Members { line: node.line, path: path.clone(), all: members })
    }

    /// Returns the items of a list, each with its path.
    pub(super) fn list<'a>(&mut self, node: &'a Node, path: &Path) -> Vec<(Path, &'a Node)> {
        let Kind::List(items) = &node.kind else {
            self.wrong(path, node.line, "must be a list");
            return Vec::new();
        };
        items.iter().enumerate().map(|(number, item)| (path.join(&number.to_string()), item)).collect()
    }

    pub(super) fn text<'a>(&mut self, node: &'a Node, path: &Path) -> Option<&'a str> {
        match &node.kind {
            Kind::Text(text) => return Some(text),
            Kind::Flag(_) | Kind::Number(_) => self.wrong(path, node.line, "must be a string; put it in quotes"),
            Kind::Null | Kind::List(_) | Kind::Map(_) => self.wrong(path, node.line, "must be a string"),
        }
        None
    }

    /// Returns a string that is not blank.
    pub(super) fn words(&mut self, node: &Node, path: &Path) -> Option<String> {
        let text = self.text(node, path)?;
        if text.trim().is_empty() {
            self.wrong(path, node.line, "must not be blank");
            return None;
        }
        Some(text.to_owned())
    }

    /// Returns an integer within bounds.
    pub(super) fn whole(&mut self, node: &Node, path: &Path, from: i64, to: i64) -> Option<i64> {
        match node.kind {
            Kind::Number(Some(number)) if (from..=to).contains(&number) => Some(number),
            _ => {
                self.wrong(path, node.line, &format!("must be a whole number from {from} to {to}"));
                None
            }
        }
    }

    pub(super) fn flag(&mut self, node: &Node, path: &Path) -> bool {
        let what = match &node.kind {
            Kind::Flag(flag) => return *flag,
            Kind::Text(text) if matches!(text.as_str(), "true" | "false") => "must be true or false, without quotes",
            _ => "must be true or false",
        };
        self.wrong(path, node.line, what);
        false
    }
}

impl<'a> Members<'a> {
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    pub(super) fn path(&self, name: &str) -> Path {
        self.path.join(name)
    }

    /// Returns a member; `None` if it does not exist or is null.
    pub(super) fn get(&self, name: &str) -> Option<&'a Node> {
        let found = self.all.iter().find(|(known, _)| known == name);
        found.map(|(_, node)| node).filter(|node| !matches!(node.kind, Kind::Null))
    }

    /// Returns a required member. [`Findings::object`] has reported it already if it is null.
    pub(super) fn required(&self, name: &str, findings: &mut Findings) -> Option<&'a Node> {
        if self.all.iter().all(|(known, _)| known != name) {
            findings.wrong(&self.path(name), self.line, "is required");
        }
        self.get(name)
    }
}
