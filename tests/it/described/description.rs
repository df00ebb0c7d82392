//! An `OpenAPI` document, and whether an answer matches it.

use dev_server::Answer;
use jsonschema::Validator;

use crate::prelude::*;

/// Length of the longest excerpt of a body in a message, in characters.
const LONGEST_EXCERPT: usize = 400;
/// An operation is an object below one of these.
const METHODS: [&str; 4] = ["get", "post", "put", "delete"];
/// The schema of answers to requests that are no operation.
const ERROR: &str = "#/components/schemas/ErrorResponse";
const ACTION_ERROR: &str = "#/components/schemas/ActionError";

/// The document, ready for comparison with answers.
#[derive(Debug)]
pub(super) struct Description {
    pub(super) document: Value,
    pub(super) operations: Vec<Operation>,
    /// By the text of the schema.
    validators: BTreeMap<String, Validator>,
}

/// One operation.
#[derive(Debug)]
pub(super) struct Operation {
    /// Its `operationId`.
    pub(super) name: String,
    /// In upper case.
    pub(super) method: String,
    /// Path with parameters in braces.
    pub(super) path: String,
    /// Those of the path first, without `$ref`.
    pub(super) parameters: Vec<Value>,
    pub(super) request_body: Option<Value>,
    /// By status, range or `default`: the schemas by content type; `None` if no body is described.
    pub(super) responses: BTreeMap<String, Option<BTreeMap<String, Value>>>,
}

impl Operation {
    /// Whether a request with this method and path belongs to it. Empty segments do not count.
    fn takes(&self, method: &str, path: &str) -> bool {
        let parts = |path: &str| -> Vec<String> {
            path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect()
        };
        let (ours, theirs) = (parts(&self.path), parts(path));
        self.method == method
            && ours.len() == theirs.len()
            && ours.iter().zip(&theirs).all(|(ours, theirs)| {
                let theirs = theirs.replace("%3D", "=").replace("%3d", "=");
                match ours.split_once('{') {
                    Some((literal, _)) => theirs.starts_with(literal),
                    None => *ours == theirs,
                }
            })
    }

    /// Returns how specific its path is: of two that match a request, the one with more literal text wins.
    fn literal(&self) -> usize {
        self.path.split('/').filter_map(|part| part.split('{').next()).map(str::len).sum()
    }

    /// Returns the description for a status.
    fn response(&self, status: u16) -> Option<&Option<BTreeMap<String, Value>>> {
        let range = format!("{}XX", status / 100);
        let stated = self.responses.get(&status.to_string()).or_else(|| self.responses.get(&range));
        // Statuses that a client must expect of any server are general; all others are listed. Actions answer freely.
        let general = status == 413 || status >= 500 || self.is_action();
        stated.or_else(|| self.responses.get("default").filter(|_| general))
    }

    fn is_action(&self) -> bool {
        self.path.contains("/action/")
    }
}

impl Description {
    pub(super) fn parse(text: &str) -> Self {
        let document: Value = serde_saphyr::from_str(text).expect("the description is YAML");
        let mut operations = Vec::new();
        for (path, item) in document["paths"].as_object().expect("the document has paths") {
            for method in METHODS {
                if let Some(operation) = item.get(method) {
                    operations.push(operation_of(&document, path, method, item, operation));
                }
            }
        }
        let mut description = Self { document, operations, validators: BTreeMap::new() };
        let schemas: Vec<Value> = description
            .operations
            .iter()
            .flat_map(|operation| operation.responses.values().flatten().flat_map(BTreeMap::values))
            .chain(description.operations.iter().flat_map(|operation| &operation.parameters).map(|one| &one["schema"]))
            .cloned()
            .chain(description.schema_names().map(|name| json!({"$ref": format!("#/components/schemas/{name}")})))
            .collect();
        for schema in schemas {
            let whole = json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "allOf": [schema],
                "components": description.document["components"],
            });
            let validator = jsonschema::options().should_validate_formats(true).build(&whole);
            let validator = validator.unwrap_or_else(|error| panic!("{schema}: {error}"));
            description.validators.insert(schema.to_string(), validator);
        }
        description
    }

    fn schema_names(&self) -> impl Iterator<Item = &String> {
        self.document["components"]["schemas"].as_object().expect("schemas").keys()
    }

    /// Returns the object itself, or the one that its `$ref` names.
    pub(super) fn resolve<'a>(&'a self, value: &'a Value) -> &'a Value {
        resolve(&self.document, value)
    }

    /// Returns the operation of an answer; `None` if its path or method matches none.
    pub(super) fn operation_of(&self, answer: &Answer) -> Option<&Operation> {
        self.operation_at(&answer.method, &answer.target)
    }

    /// Returns the operation of a request; `None` if its path or method matches none.
    pub(super) fn operation_at(&self, method: &str, target: &str) -> Option<&Operation> {
        let path = target.split('?').next().unwrap_or_default();
        let taking = self.operations.iter().filter(|operation| operation.takes(method, path));
        taking.max_by_key(|operation| operation.literal())
    }

    /// Returns what is wrong with a value for a schema, except for values that the test has invented.
    pub(super) fn mistakes(&self, schema: &Value, value: &Value, invented: &[&str]) -> Vec<String> {
        let validator = &self.validators[&schema.to_string()];
        let known = |value: &Value| value.as_str().is_some_and(|text| invented.contains(&text));
        let errors = validator.iter_errors(value).filter(|error| !known(error.instance()));
        errors.map(|error| format!("{}: {error}", error.instance_path())).collect()
    }

    /// Checks that the answer is described for its operation.
    pub(super) fn check(&self, answer: &Answer, invented: &[&str]) -> Result<(), String> {
        let problems = self.problems(answer, invented);
        if problems.is_empty() {
            return Ok(());
        }
        let body: String = String::from_utf8_lossy(&answer.body).chars().take(LONGEST_EXCERPT).collect();
        let Answer { operation, method, target, status, .. } = answer;
        Err(format!("{operation}: {method} {target}: {status}: {}\n  {body}", problems.join("; ")))
    }

    fn problems(&self, answer: &Answer, invented: &[&str]) -> Vec<String> {
        let operation = self.operation_of(answer);
        let named = operation.map_or("none", |operation| operation.name.as_str());
        // The server does not treat a path that violates a rule as an operation, but a caller does.
        if answer.operation != "none" && answer.operation != named {
            return vec![format!("the path is that of {named}")];
        }
        let Some(operation) = operation else { return self.problems_elsewhere(answer) };
        let Some(content) = operation.response(answer.status) else {
            return vec!["the status is not described".to_owned()];
        };
        let mut problems = match content {
            None if answer.body.is_empty() || operation.is_action() => Vec::new(),
            None => self.problems_of(answer, &json!({"$ref": ERROR}), invented),
            Some(content) => self.problems_of_content(answer, content, invented),
        };
        if answer.status >= 400 && !operation.is_action() && operation.name != "token" && !answer.body.is_empty() {
            problems.extend(problems_of_error(answer));
        }
        problems
    }

    /// Checks that a request that is no operation is refused, in the shape of the errors of similar operations.
    fn problems_elsewhere(&self, answer: &Answer) -> Vec<String> {
        if ![400, 401, 403, 404, 405].contains(&answer.status) {
            return vec!["it is no operation, but was not refused".to_owned()];
        }
        let path = answer.target.split('?').next().unwrap_or_default();
        let mut actions = self.operations.iter().filter(|operation| operation.is_action());
        let of_action = actions.any(|operation| operation.takes(&operation.method, path));
        let error = if of_action { ACTION_ERROR } else { ERROR };
        self.problems_of(answer, &json!({"$ref": error}), &[])
    }

    fn problems_of_content(
        &self,
        answer: &Answer,
        content: &BTreeMap<String, Value>,
        invented: &[&str],
    ) -> Vec<String> {
        let named = answer.content_type.as_deref().and_then(|name| name.split(';').next()).unwrap_or_default();
        match (content.get(named), content.contains_key("*/*")) {
            (Some(schema), _) => self.problems_of(answer, schema, invented),
            (None, true) => Vec::new(),
            (None, false) => vec![format!("the content type `{named}` is not described")],
        }
    }

    fn problems_of(&self, answer: &Answer, schema: &Value, invented: &[&str]) -> Vec<String> {
        match serde_json::from_slice(&answer.body) {
            Ok(body) => self.mistakes(schema, &body, invented),
            Err(error) => vec![format!("the body is not JSON: {error}")],
        }
    }
}

/// Checks what no schema can express about an error: it repeats the status, and the text of its first error.
fn problems_of_error(answer: &Answer) -> Option<String> {
    let body: Value = serde_json::from_slice(&answer.body).ok()?;
    let right = body["statusCode"] == answer.status && body["message"] == body["errors"][0]["message"];
    (!right).then(|| "status or message is not repeated".to_owned())
}

fn operation_of(document: &Value, path: &str, method: &str, item: &Value, operation: &Value) -> Operation {
    let lists = [item.get("parameters"), operation.get("parameters")];
    let parameters = lists.into_iter().flatten().flat_map(|list| list.as_array().expect("a list"));
    let responses = operation["responses"].as_object().expect("responses").iter().map(|(status, response)| {
        let content = resolve(document, response).get("content").and_then(Value::as_object);
        let content = content.map(|content| {
            content
                .iter()
                .map(|(name, media)| (name.clone(), media.get("schema").cloned().unwrap_or(json!({}))))
                .collect()
        });
        (status.clone(), content)
    });
    Operation {
        name: operation["operationId"].as_str().expect("a name").to_owned(),
        method: method.to_uppercase(),
        path: path.to_owned(),
        parameters: parameters.map(|parameter| resolve(document, parameter).clone()).collect(),
        request_body: operation.get("requestBody").map(|body| resolve(document, body).clone()),
        responses: responses.collect(),
    }
}

fn resolve<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let Some(reference) = value.get("$ref").and_then(Value::as_str) else { return value };
    let pointer = reference.strip_prefix('#').expect("references stay within the page");
    resolve(document, document.pointer(pointer).unwrap_or_else(|| panic!("{reference} leads nowhere")))
}
