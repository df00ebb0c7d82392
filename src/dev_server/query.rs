//! Query parameters of lists and logs (contract section 3), read strictly: `InvalidQueryParam` for each mistake.

use axum::extract::Query;
use http::Uri;

use super::list::ListQuery;
use super::logs::LogQuery;
use super::refusal::{Refusal, cut, with_details};
use crate::connect::ErrorCode;
use crate::connect::model::{DeploymentType, ErrorObject, IntegrationType};
use crate::connect::routes::{LARGEST_OFFSET, LARGEST_PAGE};

/// Parameters of `queryDeployments`; unknown ones are passed over.
pub(super) fn list(uri: &Uri) -> Result<ListQuery, Refusal> {
    let mut query = ListQuery::default();
    let mut errors = Vec::new();
    for (name, value) in parameters(uri)? {
        match name.as_str() {
            "limit" => match bounded(&value, u32::from(LARGEST_PAGE)).and_then(|limit| u16::try_from(limit).ok()) {
                Some(limit) => query.limit = limit,
                None => errors.push(wrong(&format!("limit must be a whole number from 0 to {LARGEST_PAGE}."))),
            },
            "offset" => match bounded(&value, LARGEST_OFFSET) {
                Some(offset) => query.offset = offset,
                None => errors.push(wrong(&format!("offset must be a whole number from 0 to {LARGEST_OFFSET}."))),
            },
            "sort" => match sort(&value) {
                Some(sort) => query.sort.push(sort),
                None => errors.push(wrong("sort must be a field, or a field and asc or desc, as in `createdAt desc`.")),
            },
            "deploymentType" if DeploymentType::KNOWN.contains(&value.as_str()) => query.types.push(value),
            "deploymentType" => errors.push(one_of("deploymentType", &value, DeploymentType::KNOWN)),
            "integrationTypes" if IntegrationType::KNOWN.contains(&value.as_str()) => {
                query.integration_types.push(value.as_str().into());
            }
            "integrationTypes" => errors.push(one_of("integrationTypes", &value, IntegrationType::KNOWN)),
            _ => {}
        }
    }
    Refusal::unless_empty(errors)?;
    Ok(query)
}

/// Parameters of the logs; unknown ones are passed over.
pub(super) fn logs(uri: &Uri) -> Result<LogQuery, Refusal> {
    let mut query = LogQuery::default();
    for (name, value) in parameters(uri)? {
        match name.as_str() {
            "pageToken" => query.page_token = Some(value),
            "applicationName" => query.application_name = Some(value),
            "startDate" => query.start_date = Some(value),
            "endDate" => query.end_date = Some(value),
            _ => {}
        }
    }
    Ok(query)
}

fn parameters(uri: &Uri) -> Result<Vec<(String, String)>, Refusal> {
    let read = Query::<Vec<(String, String)>>::try_from_uri(uri);
    read.map(|Query(pairs)| pairs)
        .map_err(|_| Refusal { status: 400, errors: vec![wrong("The query is not form-encoded.")] })
}

fn bounded(text: &str, largest: u32) -> Option<u32> {
    text.parse().ok().filter(|number| *number <= largest)
}

fn sort(text: &str) -> Option<(String, bool)> {
    let words: Vec<_> = text.split_whitespace().collect();
    match words.as_slice() {
        [field] | [field, "asc"] => Some(((*field).to_owned(), false)),
        [field, "desc"] => Some(((*field).to_owned(), true)),
        _ => None,
    }
}

fn one_of(name: &str, value: &str, known: &[&str]) -> ErrorObject {
    wrong(&format!("{name} '{}' must be one of {}.", cut(value), known.join(", ")))
}

fn wrong(details: &str) -> ErrorObject {
    with_details(ErrorCode::InvalidQueryParam, "A query parameter is not valid.", details)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_take_what_the_contract_allows_and_tell_each_mistake() {
        for (query, expected) in [
            ("", Ok((20, 0, 0))),
            ("limit=0&offset=10000", Ok((0, 10_000, 0))),
            ("limit=500&sort=createdAt+desc&sort=key", Ok((500, 0, 2))),
            ("deploymentType=sandbox&integrationTypes=tax&somethingElse=1", Ok((20, 0, 0))),
            ("limit=501", Err(1)),
            ("offset=-1", Err(1)),
            ("offset=10001&limit=x", Err(2)),
            ("sort=a+b", Err(1)),
            ("deploymentType=staging&integrationTypes=moon", Err(2)),
        ] {
            let uri: Uri = format!("/demo/deployments?{query}").parse().expect(query);
            let read = list(&uri).map(|read| (read.limit, read.offset, read.sort.len()));
            assert_eq!(read.map_err(|refusal| refusal.codes().len()), expected, "{query}");
        }
    }
}
