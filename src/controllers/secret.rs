//! The only way to read a Secret: exactly one, by its name. Keeps nothing, and says nothing of its content: the decoder of
//! an answer quotes what it cannot read.

use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::Api;
use serde::de::Error as _;

/// The Secret of that name, if there is one.
///
/// # Errors
/// Those of the API server, without any content of the Secret.
pub async fn read(client: &Client, namespace: &str, name: &str) -> Result<Option<Secret>, kube::Error> {
    Api::<Secret>::namespaced(client.clone(), namespace).get_opt(name).await.map_err(without_content)
}

/// The same error, without the content of an answer that could not be read.
pub(super) fn without_content(error: kube::Error) -> kube::Error {
    let what = match &error {
        kube::Error::SerdeError(error) => {
            format!("{:?} error at line {}, column {}", error.classify(), error.line(), error.column())
        }
        kube::Error::FromUtf8(_) => "not UTF-8".to_owned(),
        _ => return error,
    };
    kube::Error::SerdeError(serde_json::Error::custom(format!("the answer is not a Secret: {what}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_not_quoted() {
        for (case, answer) in [
            ("a text for a number", r#"{"metadata": {"generation": "canary"}, "data": {}}"#),
            ("a text for a map", r#"{"data": "canary"}"#),
            ("no base64", r#"{"data": {"token": "canary!"}}"#),
            ("cut off", r#"{"data": {"token": "canary"#),
        ] {
            let error = serde_json::from_str::<Secret>(answer).expect_err(case);
            let error = without_content(kube::Error::SerdeError(error));
            let shown = format!("{error} {error:?}");
            assert!(shown.contains("the answer is not a Secret") && !shown.contains("canary"), "{case}: {shown}");
        }
        let bytes = String::from_utf8(b"canary \xff".to_vec()).expect_err("it is not UTF-8");
        let shown = format!("{:?}", without_content(kube::Error::FromUtf8(bytes)));
        assert!(!shown.contains("99, 97"), "{shown}");
    }

    #[test]
    fn what_the_api_server_says_stays() {
        let status = kube::core::Status::failure("secrets is forbidden", "Forbidden").with_code(403);
        let error = without_content(kube::Error::Api(Box::new(status)));
        assert!(error.to_string().contains("forbidden"), "{error}");
    }
}
