//! Calls of actions, all of whose parts users write: none of them may change the host, path or headers.

use connect_api::action::{Action, ActionMethod, ExtraHeader, Preset};
use connect_api::hosts::AllowedHosts;

/// The first three lines are parts of a host; then follow namespace, name, locale, page path, the name of a header, and
/// its value.
pub(crate) fn actions(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let lines: Vec<_> = text.splitn(9, '\n').chain([""; 9]).take(9).collect();
    let &[project, company, tld, namespace, name, locale, page, header, value] = lines.as_slice() else { return };
    let frontends = AllowedHosts::parse(["*.service.live", "*.frontastic.live"]).expect("two patterns");
    for (preset, part) in [(Preset::SERVICE, "service"), (Preset::FRONTASTIC, "frontastic")] {
        if let Ok(endpoint) = frontends.endpoint(&format!("https://{project}-{company}.{part}{tld}")) {
            let url = endpoint.url();
            assert!(url.scheme() == "https" && url.username().is_empty() && url.port().is_none(), "{url}");
            let host = url.host_str().expect("a host");
            assert!(host.ends_with(".service.live") || host.ends_with(".frontastic.live"), "{url}");
            let is_service = Preset::of_host(url.as_str()) == Preset::SERVICE;
            assert!(!is_service || host.ends_with(".service.live"), "{url}");
        }
        let action = Action {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            method: ActionMethod::Post(Box::default()),
            query: vec![(header.to_owned(), value.to_owned())],
            locale: locale.to_owned(),
            extension_version: "1".to_owned(),
            page_path: (!page.is_empty()).then(|| page.to_owned()),
            headers: vec![ExtraHeader { name: header.to_owned(), value: value.into(), is_masked: true }],
        };
        let hosts = AllowedHosts::parse(["frontend.test"]).expect("a host");
        let endpoint = hosts.endpoint("https://frontend.test").expect("the host is allowed");
        match action.request(&preset, &endpoint) {
            Ok(request) => {
                assert_eq!(request.url.origin(), endpoint.url().origin(), "the host stays the same");
                let segments: Vec<_> = request.url.path().split('/').collect();
                assert_eq!(segments.len(), 5, "{}", request.url);
                assert_eq!(segments[..3].join("/"), preset.prefix, "the path prefix stays the same");
                assert!(segments[3..].iter().all(|segment| !segment.is_empty()), "{}", request.url);
                assert!(request.url.fragment().is_none());
                assert_eq!(request.headers[preset.locale], locale, "no header is replaced");
            }
            Err(error) => assert!(!error.to_string().contains(connect_api::text::is_unsafe), "{error:?}"),
        }
    }
}
