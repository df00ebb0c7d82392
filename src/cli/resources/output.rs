//! The output formats of commands about resources of the cluster and records of the remote, as those of kubectl. Pure.

use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::kind::ResourceType;
use crate::cli::text::{json, yaml};

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::cli) enum Form {
    /// The usual output with more details.
    Wide,
    /// Type and name of each resource; of a record, the key, or its id if it has no key.
    Name,
    /// The resource, or a List of several, as JSON; the record of the API, or an array of several, without secured values.
    Json,
    /// The same as YAML.
    Yaml,
}

/// The output option.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(in crate::cli) struct Output {
    /// Output format. Default: text for people.
    #[arg(long = "output", short = 'o', value_enum, help_heading = "Output options")]
    form: Option<Form>,
}

impl Output {
    /// Returns the format that was asked for; `None`: the usual output.
    pub(in crate::cli) fn form(self) -> Option<Form> {
        self.form
    }

    /// Returns the objects in the form that was asked for; `None`: the command prints its own text.
    ///
    /// # Errors
    /// If an object cannot be written as YAML.
    pub(super) fn objects(self, objects: &[(ResourceType, DynamicObject)]) -> Result<Option<String>, String> {
        let names =
            || objects.iter().map(|(it, object)| it.full_name(object.metadata.name.as_deref().unwrap_or_default()));
        Ok(match self.form {
            None | Some(Form::Wide) => None,
            Some(Form::Name) => Some(names().flat_map(|name| [name, "\n".to_owned()]).collect()),
            Some(Form::Json) => Some(json(&one_or_list(objects)?)),
            Some(Form::Yaml) => Some(yaml(&one_or_list(objects)?)?),
        })
    }

    /// Returns whether names or objects were asked for, in place of a text for people.
    pub(super) fn is_of_objects(self) -> bool {
        matches!(self.form, Some(Form::Name | Form::Json | Form::Yaml))
    }

    /// Returns whether more details were asked for.
    pub(in crate::cli) fn is_wide(self) -> bool {
        self.form == Some(Form::Wide)
    }
}

/// Output format of a command whose result is not a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Data {
    Json,
    Yaml,
}

impl Data {
    /// Returns a value in this format.
    ///
    /// # Errors
    /// If it cannot be written as YAML.
    pub(super) fn text(self, value: &Value) -> Result<String, String> {
        match self {
            Self::Json => Ok(json(value)),
            Self::Yaml => yaml(value),
        }
    }
}

fn one_or_list(objects: &[(ResourceType, DynamicObject)]) -> Result<Value, String> {
    let mut items = Vec::new();
    for (_, object) in objects {
        let mut object = object.clone();
        // As kubectl does: nobody reads them.
        object.metadata.managed_fields = None;
        items.push(serde_json::to_value(object).map_err(|error| error.to_string())?);
    }
    Ok(match <[Value; 1]>::try_from(items) {
        Ok([item]) => item,
        Err(items) => json!({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items}),
    })
}
