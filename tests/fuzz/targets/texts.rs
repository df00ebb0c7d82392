//! Masking: whatever the values and the text are, the shown text has no value that was sent.

use connect_api::mask::{LEFT_OUT, LONGEST_TEXT, Masker};

use super::bytes::Bytes;

/// Up to four values, then the text; some values are inserted into the text, as they are or as JSON.
pub(crate) fn masking(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let count = 1 + bytes.byte() % 4;
    let values: Vec<String> = (0..count).map(|_| bytes.text(24)).collect();
    let places: Vec<u8> = (0..count).map(|_| bytes.byte() % 3).collect();
    let mut text = String::from_utf8_lossy(bytes.rest()).into_owned();
    for (value, place) in values.iter().zip(places) {
        match place {
            1 => text.push_str(value),
            2 => text.push_str(&serde_json::to_string(value).expect("a text can be encoded")),
            _ => {}
        }
    }
    let masker = Masker::new(values.iter().map(String::as_str));
    let shown = masker.mask(&text);
    assert!(shown.len() <= LONGEST_TEXT);
    assert!(!shown.contains(connect_api::text::is_unsafe));
    if masker.is_clean(&text) {
        assert!(!values.iter().any(|value| !value.trim().is_empty() && text.contains(value)), "{values:?} {text:?}");
    }
    if shown == LEFT_OUT {
        return;
    }
    for value in values.iter().map(|value| value.trim()).filter(|value| !value.is_empty()) {
        // The replacement of a value, together with its neighbours, may look like another value.
        let overlaps = value.contains('*');
        assert!(overlaps || !shown.contains(value), "{value:?} is in {shown:?}");
    }
}
