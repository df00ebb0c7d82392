//! What is wrong with a file that is not YAML, in words for its author: what, and what to write instead. Those of the
//! library are for its callers, who have other means. Pure.

use serde_saphyr::granit_parser::ErrorKind;
use serde_saphyr::{Error, ExternalMessageSource};

/// Returns what is wrong, with line and column.
pub(super) fn explain(error: &Error) -> String {
    let what = what(cause(error));
    // The cause of an error behind an alias is where the anchor is; that is where the author looks, too.
    let place = cause(error).location().or_else(|| error.location()).filter(|place| place.line() > 0);
    let place = place.map(|place| format!(" (line {}, column {})", place.line(), place.column()));
    format!("[file content]: {what}{}", place.unwrap_or_default())
}

fn cause(mut error: &Error) -> &Error {
    while let Error::AliasError { error: inner, .. } | Error::WithSnippet { error: inner, .. } = error {
        error = inner;
    }
    error
}

fn what(error: &Error) -> String {
    let text = match error {
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            return format!("`{key}` appears twice in the same object: keep one, with the content of both");
        }
        Error::DuplicateMappingKey { key: None, .. } => "a name appears twice in the same object: keep one",
        Error::ExternalMessage { source, .. } => match &**source {
            ExternalMessageSource::Parser(error) => syntax(error.kind()),
            _ => NO_YAML,
        },
        Error::Eof { .. } => "the file is empty or ends too early: it needs at least `deployAs: []`",
        Error::MultipleDocuments { .. } => {
            "a line `---` begins a second document: remove it, and write everything into one"
        }
        Error::UnknownAnchor { .. } => UNKNOWN_ALIAS,
        Error::MergeValueNotMapOrSeqOfMaps { .. } | Error::MergeKeyNotAllowed { .. } => {
            "`<<` merges objects only: write `<<: *name`, where `&name` stands before an object"
        }
        Error::RecursiveReferencesRequireWeakTypes { .. } => {
            "an alias stands within its own anchor: write the content out instead"
        }
        Error::UnsupportedTag { tag, .. } => return format!("the tag `{tag}` is not supported: remove it"),
        Error::InvalidBinaryBase64 { .. } | Error::BinaryNotUtf8 { .. } => {
            "the content of `!!binary` is not base64 of a text: remove the tag, and write the text"
        }
        Error::NonFiniteFloat { value, .. } => return format!("`{value}` is not a finite number: put it in quotes"),
        Error::NullIntoString { .. }
        | Error::SerdeInvalidType { .. }
        | Error::TaggedScalarCannotDeserializeIntoString { .. } => {
            "the name of a member must be a string: put it in quotes"
        }
        Error::FoldedBlockScalarMustIndentContent { .. } => syntax(&ErrorKind::InvalidBlockScalarIndent),
        Error::Budget { .. }
        | Error::AliasReplayCounterOverflow { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => TOO_COMPLEX,
        _ => NO_YAML,
    };
    text.to_owned()
}

const UNKNOWN_ALIAS: &str =
    "an alias `*name` has no anchor `&name` before it: correct the name, or put a text that starts with `*` in quotes";
const TOO_COMPLEX: &str = "the file is nested too deeply, or too large with all its aliases: write it more simply";
const NO_YAML: &str = "this is not YAML: check indentation, quotes and brackets here and in the line before";

fn syntax(kind: &ErrorKind) -> &'static str {
    use ErrorKind as Kind;
    match kind {
        Kind::TabNotAllowed
        | Kind::TabInBlockIndentation
        | Kind::TabAtBlockScalarStart
        | Kind::TabInIndentation
        | Kind::TabInPlainScalar => "a tab is not allowed here: indent with blanks",
        Kind::UnclosedQuotedScalar | Kind::DocumentIndicatorInQuotedScalar => {
            "a text in quotes has no closing quote: add it; within '…', write ' as ''"
        }
        Kind::InvalidTrailingSingleQuotedScalar | Kind::InvalidTrailingDoubleQuotedScalar => {
            "something follows the closing quote of a text: put the whole value in quotes; within '…', write ' as ''"
        }
        Kind::UnknownQuotedScalarEscape
        | Kind::InvalidQuotedScalarHexEscape
        | Kind::InvalidLowSurrogateHexEscape
        | Kind::InvalidLowSurrogate
        | Kind::MissingLowSurrogate
        | Kind::UnpairedLowSurrogate
        | Kind::InvalidUnicodeEscape => "an escape with \\ in a text in \"…\" is not known: write \\\\, or use '…'",
        Kind::UnexpectedEofFlowSequence
        | Kind::UnexpectedEofFlowMapping
        | Kind::UnexpectedEofImplicitFlowMapping
        | Kind::UnclosedFlowCollection { .. } => "a `[` or `{` is not closed: add the missing `]` or `}`",
        Kind::MisplacedFlowCollectionEnd | Kind::MismatchedFlowCollectionEnd { .. } => {
            "a `]` or `}` closes nothing, or another bracket: correct the brackets"
        }
        Kind::ExpectedFlowMappingSeparator | Kind::ExpectedFlowSequenceSeparator => {
            "a comma or a closing `]` or `}` is missing: add it; put a value that contains `,`, `[`, `]`, `{` or `}` in quotes"
        }
        Kind::UnknownAnchor => UNKNOWN_ALIAS,
        Kind::MissingAnchorOrAliasName => {
            "a `&` or `*` has no name behind it: put a text that starts with `&` or `*` in quotes"
        }
        Kind::UnexpectedCharacter { .. } => {
            "this character is not allowed here: put a text that starts with `@`, `%` or a backquote in quotes, and remove \
             control characters"
        }
        Kind::UndeclaredTagHandle | Kind::ExpectedTagBang | Kind::InvalidTagTerminator | Kind::UnclosedVerbatimTag => {
            "a text that starts with `!` is read as a tag: put it in quotes"
        }
        Kind::SimpleKeyExpected | Kind::InvalidSimpleKey => {
            "a `:` is missing after the name of a member, or this line has the wrong indentation"
        }
        Kind::FlowMappingValueAdjacentCollection => "a blank is missing after a `:`",
        Kind::CommentInterceptedScalar => {
            "a comment is within a text of several lines: remove it, or put the text in quotes"
        }
        Kind::InvalidBlockScalarHeader | Kind::ZeroBlockScalarIndent => {
            "the text of a `|` or `>` begins in the line after it, indented"
        }
        Kind::UnsupportedYamlMajorVersion | Kind::DuplicateVersionDirective | Kind::InvalidDirectiveName => {
            "a line that starts with `%` is not needed: remove it"
        }
        Kind::MappingKeyNotAllowed | Kind::MappingValueNotAllowed => {
            "a `name: value` is not allowed here: correct the indentation, or put a value that contains `: ` in quotes"
        }
        Kind::InvalidIndentation
        | Kind::InvalidFlowScalarIndent
        | Kind::InvalidQuotedScalarIndent
        | Kind::ExpectedBlockMappingKey
        | Kind::ExpectedBlockSequenceEntry
        | Kind::InvalidBlockScalarIndent
        | Kind::BlockSequenceEntryNotAllowed => {
            "the indentation is wrong: members of one object start in the same column, and so do the `-` of one list"
        }
        Kind::BlockEntryInFlowCollection => "a `-` is not allowed within `[…]` or `{…}`: separate items by commas",
        Kind::BomInsideDocument => "a byte order mark (U+FEFF) is within the file: remove it",
        Kind::InvalidDocumentEnd | Kind::ExpectedDocumentStart => {
            "something follows the end of the content: a blank is missing after a `:`, or `...` ends the content too early"
        }
        Kind::RecursionLimitExceeded => TOO_COMPLEX,
        Kind::UnexpectedEof | Kind::UnexpectedEofBlockMapping | Kind::UnexpectedEofBlockSequence => {
            "the file ends too early: complete it"
        }
        _ => NO_YAML,
    }
}

#[cfg(test)]
#[path = "unreadable_tests.rs"]
mod tests;
