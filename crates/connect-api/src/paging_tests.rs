//! Sequences of pages that servers may send.

use std::sync::Mutex;

use futures::{FutureExt as _, StreamExt as _};

use super::*;
use crate::error::Failure;
use crate::testing::rows;

struct Item(String);

/// A page with these ids and the announced total.
fn page(ids: impl IntoIterator<Item = u32>, total: i64) -> Paged<Item> {
    let results: Vec<_> = ids.into_iter().map(|id| Item(id.to_string())).collect();
    let count = i64::try_from(results.len()).expect("few");
    Paged { limit: PAGE.into(), offset: 0, count, total, results }
}

/// Reads these pages and returns the ids, whether an error ended the stream, and the requested offsets and limits.
fn walk(answer: impl Fn(PageRequest) -> Option<Paged<Item>> + Send + Sync) -> (Vec<u32>, bool, Vec<(u32, u16)>) {
    let asked = Mutex::new(Vec::new());
    let lost = || ApiError {
        operation: "test",
        failure: Failure::NoAnswer,
        message: String::new(),
        correlation_id: None,
        retry_after: None,
    };
    let read = |request: PageRequest| -> Answer<'_, Paged<Item>> {
        asked.lock().expect("not poisoned").push((request.offset, request.limit));
        assert!(asked.lock().expect("not poisoned").len() < 20_000, "the stream does not end");
        let answer = answer(request).ok_or_else(lost);
        Box::pin(async move { answer })
    };
    let came: Vec<_> = all(|item| &item.0, read).collect::<Vec<_>>().now_or_never().expect("nothing waits");
    let failed = came.last().is_some_and(Result::is_err);
    let ids: Vec<u32> = came.into_iter().filter_map(Result::ok).map(|item| item.0.parse().expect("a number")).collect();
    (ids, failed, asked.into_inner().expect("not poisoned"))
}

#[test]
fn pages_are_read_until_the_list_ends_however_it_changes() {
    // Pages as first id, id behind the last one, and announced total; the number of ids that come; the offsets.
    let table = "
        nothing | 0-0/0 | 0 | 0
        one page | 0-7/7 | 7 | 0
        exactly two pages | 0-100/200 100-200/200 | 200 | 0 100
        three pages | 0-100/250 100-200/250 200-250/250 | 250 | 0 100 200
        a server with small pages | 0-3/5 3-5/5 | 5 | 0 3
        fewer than announced, then empty | 0-100/250 100-140/250 0-0/250 | 140 | 0 100 140
        an empty page at once | 0-0/250 | 0 | 0
        a total that sinks | 0-100/250 100-200/150 | 200 | 0 100
        a total that grows | 0-100/101 100-101/102 101-102/102 | 102 | 0 100 101
        shifted by one: an id comes twice | 0-100/150 99-149/151 149-150/151 | 150 | 0 100 150
        an error | 0-100/250 lost 100-200/250 | 100 | 0 100
    ";
    let parsed = |text: &str| {
        let numbers: Vec<u32> = text.split(['-', '/']).filter_map(|number| number.parse().ok()).collect();
        let [from, to, total] = numbers[..] else { return None };
        Some(page(from..to, total.into()))
    };
    for [case, pages, count, offsets] in rows(table) {
        let error = pages.contains("lost");
        let pages = Mutex::new(pages.split(' ').map(parsed).collect::<Vec<_>>().into_iter());
        let (ids, failed, asked) =
            walk(|_| pages.lock().expect("not poisoned").next().unwrap_or_else(|| panic!("{case}: one page too many")));
        let expected: Vec<u32> = (0..count.parse().expect("a number")).collect();
        assert_eq!((ids, failed), (expected, error), "{case}");
        let asked: Vec<_> = asked.iter().map(|(offset, _)| offset.to_string()).collect();
        assert_eq!(asked.join(" "), offsets, "{case}");
    }
}

#[test]
fn records_that_could_not_be_decoded_count_as_having_come() {
    let (ids, _, asked) = walk(|request| {
        let mut page = page([request.offset], 200);
        page.count = 100;
        Some(page)
    });
    assert_eq!((ids, asked), (vec![0, 100], vec![(0, 100), (100, 100)]));
}

/// A list of `total` items as the service returns it: nothing beyond its largest offset.
fn list(total: u32, largest_page: u16) -> impl Fn(PageRequest) -> Option<Paged<Item>> + Send + Sync {
    move |request| {
        assert!(request.offset <= LARGEST_OFFSET && request.limit <= LARGEST_PAGE, "{request:?} would be refused");
        let limit = u32::from(request.limit.min(largest_page));
        Some(page(request.offset..(request.offset + limit).min(total), total.into()))
    }
}

#[test]
fn lists_are_read_as_far_as_they_reach_without_further_requests() {
    for (case, total, largest_page, reached, pages) in [
        ("just below", 9_999, 500, 9_999, 100),
        ("up to the last offset", 10_000, 500, 10_000, 100),
        ("one more", 10_001, 500, 10_001, 101),
        ("all that can be reached", 10_500, 500, 10_500, 101),
        ("more than can be reached", 12_000, 500, 10_500, 101),
        ("pages that do not meet the last offset", 12_000, 70, 10_070, 144),
    ] {
        let (ids, failed, asked) = walk(list(total, largest_page));
        assert_eq!((ids.len(), failed, asked.len()), (reached, false, pages), "{case}");
        assert_eq!(ids, (0..u32::try_from(reached).expect("few")).collect::<Vec<_>>(), "{case}");
    }
}

#[test]
fn an_endless_list_is_read_up_to_the_last_offset() {
    // The same page forever, with one result.
    let (ids, failed, asked) = walk(|_| Some(page([7], i64::MAX)));
    assert_eq!((ids, failed, asked.len()), (vec![7], false, 10_001));
    // The server announces more than it sends.
    let (ids, _, asked) = walk(|_| {
        let mut page = page([7], i64::MAX);
        page.count = i64::MAX;
        Some(page)
    });
    assert_eq!((ids, asked), (vec![7], vec![(0, 100), (10_000, 500)]));
}
