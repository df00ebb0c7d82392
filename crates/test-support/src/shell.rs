//! Parses the commands of a script: as much of the shell language as pages and help texts use.

/// A command: its program and its arguments.
pub type Command = Vec<String>;

/// Returns the commands of a script, including those in `$(…)` and `<(…)`. Here documents are skipped.
#[must_use]
pub fn commands(script: &str) -> Vec<Command> {
    let script = without_here_documents(script);
    let mut reader = Reader { signs: script.chars().collect(), at: 0, found: Vec::new() };
    reader.list();
    reader.found.retain(|command| !command.is_empty());
    reader.found
}

/// Returns the lines that a user types in a session: those with a prompt, and their continuations. The rest is output.
#[must_use]
pub fn typed(session: &str) -> String {
    let mut typed = String::new();
    let mut goes_on = false;
    for line in session.lines() {
        let command = if goes_on { Some(line) } else { line.strip_prefix("$ ") };
        goes_on = false;
        if let Some(command) = command {
            goes_on = command.ends_with('\\');
            typed.push_str(command);
            typed.push('\n');
        }
    }
    typed
}

fn without_here_documents(script: &str) -> String {
    let mut kept = String::new();
    let mut lines = script.lines();
    while let Some(line) = lines.next() {
        let (command, end) = line.split_once("<<").unwrap_or((line, ""));
        kept.push_str(command);
        kept.push('\n');
        let end = end.trim().trim_matches(['\'', '"', '-']);
        if !end.is_empty() {
            lines.by_ref().find(|line| line.trim() == end);
        }
    }
    kept
}

/// Words that start a construct, and are no program.
const KEYWORDS: [&str; 7] = ["do", "done", "if", "then", "fi", "while", "!"];

struct Reader {
    signs: Vec<char>,
    at: usize,
    found: Vec<Command>,
}

impl Reader {
    fn next(&mut self) -> Option<char> {
        let sign = self.signs.get(self.at).copied();
        self.at += 1;
        sign
    }

    fn sees(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(offset, sign)| self.signs.get(self.at + offset) == Some(&sign))
    }

    /// Parses commands up to the closing bracket.
    fn list(&mut self) {
        let (mut words, mut word, mut in_word): (Command, String, bool) = (Vec::new(), String::new(), false);
        loop {
            let sign = self.next();
            let ends_word = matches!(sign, None | Some(' ' | '\t' | '\n' | ';' | '|' | '&' | ')' | '>' | '<'));
            if ends_word && in_word {
                words.push(std::mem::take(&mut word));
                in_word = false;
            }
            match sign {
                None | Some(')') => break,
                Some(' ' | '\t') => continue,
                Some('\n' | ';' | '|' | '&') => {
                    self.found.push(program(std::mem::take(&mut words)));
                    continue;
                }
                Some('#') if !in_word => {
                    while self.next().is_some_and(|sign| sign != '\n') {}
                    self.found.push(program(std::mem::take(&mut words)));
                    continue;
                }
                Some('<') if self.sees("(") => {
                    self.at += 1;
                    self.list();
                    continue;
                }
                // A redirection: a file follows.
                Some('>' | '<') => {
                    while self.sees(" ") || self.sees(">") {
                        self.at += 1;
                    }
                    while self.signs.get(self.at).is_some_and(|sign| !matches!(sign, ' ' | '\n' | '|' | ')')) {
                        self.at += 1;
                    }
                    continue;
                }
                Some('\\') => {
                    if let Some(sign) = self.next().filter(|sign| *sign != '\n') {
                        word.push(sign);
                        in_word = true;
                    }
                    continue;
                }
                Some('\'') => {
                    while let Some(sign) = self.next().filter(|sign| *sign != '\'') {
                        word.push(sign);
                    }
                }
                Some('"') => self.quoted(&mut word),
                Some('$') if self.sees("(") => self.inner(&mut word),
                Some(sign) => word.push(sign),
            }
            in_word = true;
        }
        self.found.push(program(words));
    }

    fn quoted(&mut self, word: &mut String) {
        while let Some(sign) = self.next().filter(|sign| *sign != '"') {
            match sign {
                '$' if self.sees("(") => self.inner(word),
                '\\' => word.extend(self.next()),
                sign => word.push(sign),
            }
        }
    }

    /// The output of a command substitution is a placeholder in the word.
    fn inner(&mut self, word: &mut String) {
        self.at += 1;
        self.list();
        word.push_str("ANSWER");
    }
}

/// Removes keywords, the head of a loop, and variables that are set for the command.
fn program(words: Command) -> Command {
    if words.first().is_some_and(|word| word == "for") {
        return Vec::new();
    }
    let is_setting = |word: &str| {
        let name = word.split_once('=').map(|(name, _)| name).unwrap_or_default();
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    };
    words.into_iter().skip_while(|word| KEYWORDS.contains(&word.as_str()) || is_setting(word)).collect()
}
