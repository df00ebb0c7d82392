//! `events`: shows the Events about resources.

use crate::cli::printing::tell;
use clap_complete::engine::ArgValueCandidates;
use clock::Clock;
use jiff::Timestamp;
use k8s_openapi::api::events::v1::Event;
use kube::api::{DynamicObject, ListParams};
use kube::{Api, Client, Resource as _, ResourceExt as _};
use serde_json::json;

use crate::cli::completion;
use crate::cli::printing::print;

use super::argument::Selected;
use super::failure::Failed;
use super::kind::ResourceType;
use super::output::{Form, Output};
use super::selection::{Selection, get, list};
use crate::cli::text::{age, columns, json, plain, yaml};

/// Namespace of the Events about objects that have none.
pub(super) const CLUSTER_EVENTS: &str = "default";

const EXAMPLES: &str = "\
Examples:
  # What happened to the ConnectorDeployment tax, the latest last
  connect-operator events tax

  # Everything in the namespace
  connect-operator events

  # A staged connector and its preview deployment
  connect-operator events staged/kit deployment/kit-preview

  # All deployments of all namespaces
  connect-operator events deployments --all --all-namespaces";

/// Show the Events about resources, the latest last.
///
/// Without a resource, it shows the Events of all resources of the namespace. The API server keeps Events for an hour,
/// unless it is configured otherwise. Events about a deleted resource are shown as long as they exist.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
#[command(mut_arg("resources", |it| it.add(ArgValueCandidates::new(|| completion::resources(&ResourceType::DEPLOYMENTS_FIRST)))))]
pub(in crate::cli) struct Events {
    #[command(flatten)]
    selection: Selection,

    #[command(flatten)]
    output: Output,
}

/// Prints the Events.
///
/// # Errors
/// If a resource neither exists nor has Events, or the Events cannot be listed.
pub(in crate::cli) async fn events(args: Events) -> Result<(), Failed> {
    let wanted = if args.selection.is_empty() {
        let namespaced = ResourceType::ALL.into_iter().filter(|it| !it.is_cluster_scoped());
        Selected::Matching { types: namespaced.collect(), labels: None }
    } else {
        args.selection.wanted(&ResourceType::DEPLOYMENTS_FIRST)?
    };
    let (client, namespace) = args.selection.place.client().await.map_err(Failed::Cluster)?;
    let place = args.selection.place(&namespace);
    let mut found = Vec::new();
    match wanted {
        Selected::Named(named) => {
            for (resource_type, name) in named {
                let about = events_about(&client, place, resource_type, Some(&name)).await?;
                if about.is_empty() {
                    get(&client, &namespace, resource_type, &name).await?;
                }
                found.extend(about);
            }
        }
        Selected::Matching { types, labels } => {
            for resource_type in types {
                let mut about = events_about(&client, place, resource_type, None).await?;
                if labels.is_some() {
                    let objects = list(&client, place, resource_type, labels.as_deref()).await?;
                    about.retain(|event| objects.iter().any(|(_, object)| regards(event, object)));
                }
                found.extend(about);
            }
        }
    }
    found.sort_by_key(last);
    if found.is_empty() && args.output.form().is_none_or(|form| form == Form::Wide) {
        tell!("No events found.");
        return Ok(());
    }
    Ok(print(&text(found, args.output.form(), Clock::system().now()).map_err(Failed::Argument)?)?)
}

async fn events_about(
    client: &Client,
    namespace: Option<&str>,
    resource_type: ResourceType,
    name: Option<&str>,
) -> Result<Vec<Event>, Failed> {
    let namespace = if resource_type.is_cluster_scoped() { Some(CLUSTER_EVENTS) } else { namespace };
    let api: Api<Event> = match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    };
    let name = name.map(|name| format!(",regarding.name={name}")).unwrap_or_default();
    let selected = ListParams::default().fields(&format!("regarding.kind={}{name}", resource_type.kind()));
    let resource = format!("{}.{}", Event::plural(&()), Event::group(&()));
    let listed = api.list(&selected).await.map_err(|error| Failed::about("list", &resource, namespace, error))?;
    Ok(listed.items)
}

fn regards(event: &Event, object: &DynamicObject) -> bool {
    let about = event.regarding.as_ref();
    about.is_some_and(|about| {
        about.name.as_deref() == object.metadata.name.as_deref() && about.namespace == object.metadata.namespace
    })
}

/// Returns when an Event was last reported.
fn last(event: &Event) -> Timestamp {
    let of_series = event.series.as_ref().map(|series| series.last_observed_time.0);
    let deprecated = event.deprecated_last_timestamp.as_ref().map(|time| time.0);
    let single = event.event_time.as_ref().map(|time| time.0).or(deprecated);
    let created = event.metadata.creation_timestamp.as_ref().map(|time| time.0);
    of_series.or(single).or(created).unwrap_or(Timestamp::MIN)
}

/// Returns the Events in the form that was asked for.
///
/// # Errors
/// If they cannot be written as YAML.
fn text(events: Vec<Event>, form: Option<Form>, now: Timestamp) -> Result<String, String> {
    match form {
        Some(Form::Name) => {
            let line = |event: &Event| format!("event.{}/{}\n", Event::group(&()), event.name_any());
            Ok(events.iter().map(line).collect())
        }
        Some(form @ (Form::Json | Form::Yaml)) => {
            let items: Vec<Event> = events
                .into_iter()
                .map(|mut event| {
                    event.metadata.managed_fields = None;
                    event
                })
                .collect();
            let list = json!({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items});
            if form == Form::Json { Ok(json(&list)) } else { yaml(&list) }
        }
        None | Some(Form::Wide | Form::Table) => Ok(table(&events, form.is_some(), now)),
    }
}

fn table(events: &[Event], wide: bool, now: Timestamp) -> String {
    let mut header = vec!["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"];
    if wide {
        header.splice(0..0, ["NAMESPACE"]);
        header.push("REPORTER");
    }
    let mut rows: Vec<Vec<String>> = vec![header.into_iter().map(ToOwned::to_owned).collect()];
    for event in events {
        let about = event.regarding.clone().unwrap_or_default();
        let word = |text: &Option<String>| plain(text.as_deref().unwrap_or_default());
        let object = format!("{}/{}", word(&about.kind), word(&about.name));
        let mut row = vec![seen(event, now), word(&event.type_), word(&event.reason), object, word(&event.note)];
        if wide {
            row.insert(0, word(&event.metadata.namespace));
            row.push(word(&event.reporting_controller));
        }
        rows.push(row);
    }
    columns(&rows)
}

/// Returns how long ago an Event was last reported, and how often: `2m (x3 over 9m)`.
fn seen(event: &Event, now: Timestamp) -> String {
    let count = event.series.as_ref().map(|series| series.count).or(event.deprecated_count).unwrap_or(1);
    let last = age(last(event), now);
    let first = event.deprecated_first_timestamp.as_ref().map(|time| time.0);
    match event.event_time.as_ref().map(|time| time.0).or(first) {
        Some(first) if count > 1 => format!("{last} (x{count} over {})", age(first, now)),
        _ => last,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(reason: &str, times: &serde_json::Value) -> Event {
        let mut event = json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "type": "Normal", "reason": reason, "note": "of\u{1b}it",
            "metadata": {"name": format!("tax.{reason}"), "namespace": "shop"}, "reportingController": "connect-operator",
            "regarding": {"kind": "ConnectorDeployment", "namespace": "shop", "name": "tax"},
        });
        for (name, value) in times.as_object().expect("an object") {
            event[name] = value.clone();
        }
        serde_json::from_value(event).expect("an Event")
    }

    #[test]
    fn events_are_a_table_with_their_counts() {
        let now = "2026-11-23T09:10:00Z".parse::<Timestamp>().expect("a time");
        let (first, last) = ("2026-11-23T09:00:00.000000Z", "2026-11-23T09:09:00.000000Z");
        let events = vec![
            event("Once", &json!({"eventTime": first})),
            event("Series", &json!({"eventTime": first, "series": {"count": 3, "lastObservedTime": last}})),
            event(
                "Core",
                &json!({"deprecatedFirstTimestamp": "2026-11-23T09:00:00Z",
                    "deprecatedLastTimestamp": "2026-11-23T09:08:00Z", "deprecatedCount": 2}),
            ),
        ];
        assert_eq!(
            text(events.clone(), None, now).expect("a table"),
            "\
LAST SEEN           TYPE     REASON   OBJECT                    MESSAGE
10m                 Normal   Once     ConnectorDeployment/tax   of�it
60s (x3 over 10m)   Normal   Series   ConnectorDeployment/tax   of�it
2m (x2 over 10m)    Normal   Core     ConnectorDeployment/tax   of�it
"
        );
        let wide = text(events.clone(), Some(Form::Wide), now).expect("a table");
        assert!(wide.starts_with("NAMESPACE   LAST SEEN") && wide.contains("of�it     connect-operator\n"), "{wide}");
        let names = text(events.clone(), Some(Form::Name), now).expect("names");
        assert!(names.starts_with("event.events.k8s.io/tax.Once\n"), "{names}");
        let json = text(events.clone(), Some(Form::Json), now).expect("JSON");
        let parsed: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!((&parsed["kind"], &parsed["items"][1]["series"]["count"]), (&json!("List"), &json!(3)));
        let yaml = text(events, Some(Form::Yaml), now).expect("YAML");
        assert_eq!(serde_saphyr::from_str::<serde_json::Value>(&yaml).expect("YAML"), parsed);
    }
}
