//! Strict parsing of the query parameters of lists and logs (contract section 3): `InvalidQueryParam` for each mistake.

use axum::extract::Query;
use http::Uri;

use super::list::{ListQuery, Part};
use super::logs::LogQuery;
use super::refusal::{ErrorObject, Refusal, cut, with_details};
use super::staged::StagedListQuery;
use super::world::SearchQuery;
use connect_api::ErrorCode;
use connect_api::model::{DeploymentType, IntegrationType};
use connect_api::routes::{LARGEST_OFFSET, LARGEST_PAGE};

/// Parses the parameters of `queryDeployments`; unknown ones are ignored.
pub(super) fn list(uri: &Uri) -> Result<ListQuery, Refusal> {
    let mut query = ListQuery::default();
    let mut part = Part::default();
    let mut errors = Vec::new();
    for (name, value) in parameters(uri)? {
        match name.as_str() {
            "limit" | "offset" | "sort" => read_part(&mut part, &name, &value, &mut errors),
            "deploymentType" if DeploymentType::KNOWN.contains(&value.as_str()) => query.types.push(value),
            "deploymentType" => errors.push(one_of("deploymentType", &value, DeploymentType::KNOWN)),
            "integrationTypes" => query.integration_types.extend(integration_type(&value, &mut errors)),
            _ => {}
        }
    }
    Refusal::unless_empty(errors)?;
    Ok(ListQuery { limit: part.limit, offset: part.offset, sort: part.sort, ..query })
}

/// Parses the parameters of `searchConnectors`; unknown ones are ignored. If a single-valued parameter is repeated, the
/// last one counts.
pub(super) fn search(uri: &Uri) -> Result<SearchQuery, Refusal> {
    let mut query = SearchQuery::default();
    let mut errors = Vec::new();
    for (name, value) in parameters(uri)? {
        match name.as_str() {
            "limit" | "offset" | "sort" => read_part(&mut query.part, &name, &value, &mut errors),
            "text" => query.text = Some(value),
            "private" => query.private = flag(&name, &value, &mut errors),
            "creator.company" => query.company = Some(value),
            "id" => query.ids.push(value),
            "key" => query.keys.push(value),
            "integrationTypes" => query.integration_types.extend(integration_type(&value, &mut errors)),
            _ => {}
        }
    }
    Refusal::unless_empty(errors)?;
    Ok(query)
}

/// Parses the parameters of `queryConnectorsStaged`; unknown ones are ignored.
pub(super) fn staged(uri: &Uri) -> Result<StagedListQuery, Refusal> {
    let mut query = StagedListQuery::default();
    let mut errors = Vec::new();
    for (name, value) in parameters(uri)? {
        match name.as_str() {
            "limit" | "offset" | "sort" => read_part(&mut query.part, &name, &value, &mut errors),
            "isPrivate" => query.is_private = flag(&name, &value, &mut errors),
            "integrationTypes" => query.integration_types.extend(integration_type(&value, &mut errors)),
            _ => {}
        }
    }
    Refusal::unless_empty(errors)?;
    Ok(query)
}

/// Parses the parameters of the logs; unknown ones are ignored.
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

fn read_part(part: &mut Part, name: &str, value: &str, errors: &mut Vec<ErrorObject>) {
    let mut whole = |largest: u32| {
        let number = value.parse().ok().filter(|number| *number <= largest);
        if number.is_none() {
            errors.push(wrong(&format!("{name} must be a whole number from 0 to {largest}.")));
        }
        number
    };
    match name {
        "limit" => {
            let limit = whole(u32::from(LARGEST_PAGE)).and_then(|limit| u16::try_from(limit).ok());
            part.limit = limit.unwrap_or(part.limit);
        }
        "offset" => part.offset = whole(LARGEST_OFFSET).unwrap_or(part.offset),
        _ => match sort(value) {
            Some(sort) => part.sort.push(sort),
            None => errors.push(wrong("sort must be a field, or a field and asc or desc, as in `createdAt desc`.")),
        },
    }
}

fn flag(name: &str, value: &str, errors: &mut Vec<ErrorObject>) -> Option<bool> {
    let flag = value.parse().ok();
    if flag.is_none() {
        errors.push(wrong(&format!("{name} must be true or false.")));
    }
    flag
}

fn integration_type(value: &str, errors: &mut Vec<ErrorObject>) -> Option<IntegrationType> {
    let is_known = IntegrationType::KNOWN.contains(&value);
    if !is_known {
        errors.push(one_of("integrationTypes", value, IntegrationType::KNOWN));
    }
    is_known.then(|| value.into())
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
    fn searches_accept_every_parameter_of_the_contract_and_report_each_mistake() {
        for (query, expected) in [
            ("", Ok((0, 0, 0))),
            ("text=a+b&private=true&creator.company=Example&sort=name+desc&limit=500", Ok((0, 0, 0))),
            ("id=1&id=2&key=a&integrationTypes=tax&integrationTypes=other&somethingElse=1", Ok((2, 1, 2))),
            ("limit=501&offset=-1&private=yes&integrationTypes=moon&sort=a+b", Err(5)),
            ("limit=1.5", Err(1)),
            ("offset=99999999999", Err(1)),
            ("private=True", Err(1)),
        ] {
            let uri: Uri = format!("/connectors/search?{query}").parse().expect(query);
            let read = search(&uri).map(|read| (read.ids.len(), read.keys.len(), read.integration_types.len()));
            assert_eq!(read.map_err(|refusal| refusal.codes().len()), expected, "{query}");
        }
        for (query, expected) in
            [("isPrivate=false", Ok(Some(false))), ("private=x", Ok(None)), ("isPrivate=0&limit=x", Err(2))]
        {
            let uri: Uri = format!("/connectors/drafts?{query}").parse().expect(query);
            let read = staged(&uri).map(|read| read.is_private);
            assert_eq!(read.map_err(|refusal| refusal.codes().len()), expected, "{query}");
        }
    }

    #[test]
    fn lists_accept_what_the_contract_allows_and_report_each_mistake() {
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
