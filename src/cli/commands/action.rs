//! `action`: calls a frontend action once.

use crate::cli::authorities;
use crate::cli::printing::tell;
use std::io::Read as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use clock::Clock;
use connect_api::action::{Action, ActionMethod, ExtraHeader, Preset};
use connect_api::client_context::ClientContext;
use connect_api::hosts::AllowedHosts;
use connect_api::text::escaped;
use secrecy::SecretString;
use serde_json::value::RawValue;

use crate::cli::printing::print;
use crate::crd::parse_duration;
use crate::operator::clients::action_factory::{ActionFactory as _, HttpActionFactory};

use super::Failed;
use super::project::host;

/// Maximum size of a response that is printed, in bytes.
const LARGEST_ANSWER: usize = 16 << 20;
/// The file name that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// Heading of the options in the help.
const HEADING: &str = "Call options";

const GET_EXAMPLES: &str = "\
Examples:
  # The cart of a visitor, as a page in German would request it
  connect-operator action get cart/getCart --url https://shop-example.frontastic.live --locale de-DE

  # With a query parameter, and a header whose value is in a file
  connect-operator action get product/search --url https://shop-example.frontastic.live \\
    --query query=shirt --header-from Authorization=token.txt";

const POST_EXAMPLES: &str = "\
Examples:
  # Put an item into a cart
  connect-operator action post cart/addToCart --url https://shop-example.frontastic.live \\
    --body item.json

  # The same from standard input
  echo '{\"variant\": {\"sku\": \"A1\", \"count\": 2}}' |
    connect-operator action post cart/addToCart --url https://shop-example.frontastic.live --body -";

const PUT_EXAMPLES: &str = "\
Examples:
  # Call an action that expects PUT
  connect-operator action put account/update --url https://shop-example.frontastic.live \\
    --body account.json";

/// Call an action of a frontend.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = GET_EXAMPLES)]
pub(in crate::cli) struct Actions {
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum Command {
    /// Call the action with GET.
    #[command(after_long_help = GET_EXAMPLES)]
    Get(Call),
    /// Call the action with POST. The call is sent once, without retries.
    #[command(after_long_help = POST_EXAMPLES)]
    Post(Write),
    /// Call the action with PUT. The call is sent once, without retries.
    #[command(after_long_help = PUT_EXAMPLES)]
    Put(Write),
}

#[derive(Clone, Debug, clap::Args)]
struct Write {
    /// JSON to send, from a file, or from standard input with -. Default: an empty object.
    #[arg(long, value_name = "FILE")]
    body: Option<PathBuf>,

    #[command(flatten)]
    call: Call,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    Frontastic,
    Service,
}

#[derive(Clone, Debug, clap::Args)]
struct Call {
    /// Namespace and name of the action, such as cart/getCart.
    #[arg(value_name = "NAMESPACE/ACTION")]
    action: String,

    /// URL of the frontend, such as `https://shop-example.frontastic.live`.
    #[arg(long, help_heading = HEADING)]
    url: String,

    /// Preset for the paths and header names of the frontend. Default: the one that follows from the host of the URL.
    #[arg(long, help_heading = HEADING, value_enum)]
    preset: Option<Kind>,

    /// Locale of the call.
    #[arg(long, help_heading = HEADING, default_value = "en-GB")]
    locale: String,

    /// Version of the frontend extension to call.
    #[arg(long, help_heading = HEADING, value_name = "VERSION", default_value = "1.0.0")]
    extension_version: String,

    /// Path of the page on whose behalf the call is made; only for the preset frontastic.
    #[arg(long, help_heading = HEADING, value_name = "PATH")]
    path: Option<String>,

    /// A query parameter; may be repeated.
    #[arg(long, help_heading = HEADING, value_name = "NAME=VALUE", value_parser = pair)]
    query: Vec<(String, String)>,

    /// A header whose value is read from a file, so that it does not appear in the shell history; may be repeated.
    #[arg(long, help_heading = HEADING, value_name = "NAME=FILE", value_parser = pair)]
    header_from: Vec<(String, String)>,

    /// Maximum time to wait for the response.
    #[arg(long, help_heading = HEADING, value_name = "DURATION", default_value = "10s", value_parser = parse_duration)]
    timeout: Duration,

    /// Certificates in PEM to trust in addition to those of the system.
    #[arg(long, help_heading = HEADING, value_name = "FILE", env = "CA_FILE")]
    ca_file: Option<PathBuf>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or("write it as NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Prints the body of the response to standard output, its status to standard error.
///
/// # Errors
/// If the call cannot be sent, no response arrives, or its status is not 200 to 299.
pub(in crate::cli) async fn run(arguments: Actions) -> Result<(), Failed> {
    let (call, method) = match arguments.command {
        Command::Get(call) => (call, ActionMethod::Get),
        Command::Post(write) => (write.call, ActionMethod::Post(body(write.body)?)),
        Command::Put(write) => (write.call, ActionMethod::Put(body(write.body)?)),
    };
    let wrong = |why: String| Failed::Argument(why);
    let named = call.action.split_once('/').filter(|(namespace, name)| !namespace.is_empty() && !name.is_empty());
    let (namespace, name) = named.ok_or_else(|| wrong(format!("{}: write it as NAMESPACE/ACTION", call.action)))?;
    let preset = match call.preset {
        Some(Kind::Service) => Preset::SERVICE,
        Some(Kind::Frontastic) => Preset::FRONTASTIC,
        None => Preset::of_host(&call.url),
    };
    // A user who passes a URL allows its host.
    let allowed = AllowedHosts::parse(host(&call.url).as_deref()).map_err(|bad| wrong(format!("--url: {bad}")))?;
    let authorities = authorities(call.ca_file.as_deref()).map_err(|error| wrong(error.to_string()))?;
    let around = ClientContext::plain(Clock::system());
    let factory = HttpActionFactory { allowed_hosts: allowed, around, authorities };
    let endpoint = factory.endpoint(&call.url).map_err(|refused| wrong(format!("--url: {refused}")))?;
    let action = Action {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        method,
        query: call.query.clone(),
        locale: call.locale.clone(),
        extension_version: call.extension_version.clone(),
        page_path: call.path.clone(),
        headers: headers(&call.header_from)?,
    };
    let request = action.request(&preset, &endpoint).map_err(|bad| wrong(bad.to_string()))?;
    let client = factory.client(endpoint, call.timeout, LARGEST_ANSWER).map_err(wrong)?;
    let answer = client.send(request, None).await?;
    tell!("{} after {} ms", answer.status, answer.duration.as_millis());
    let mut text = String::from_utf8_lossy(&answer.body).into_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let is_json = serde_json::from_str::<&RawValue>(&text).is_ok();
    print(&if is_json { escaped(&text) } else { text.into() })?;
    if !answer.whole {
        return Err(wrong(format!("the response is longer than {} MiB and was truncated", LARGEST_ANSWER >> 20)));
    }
    if answer.status.is_success() { Ok(()) } else { Err(wrong(format!("the action answered {}", answer.status))) }
}

fn read(path: &std::path::Path) -> Result<Vec<u8>, Failed> {
    let mut content = Vec::new();
    let done = if path.as_os_str() == STANDARD_INPUT {
        std::io::stdin().read_to_end(&mut content).map(drop)
    } else {
        std::fs::read(path).map(|read| content = read)
    };
    done.map_err(|error| Failed::Argument(format!("the file `{}` cannot be read: {error}", path.display())))?;
    Ok(content)
}

fn body(path: Option<PathBuf>) -> Result<Box<RawValue>, Failed> {
    let text = path.as_deref().map_or_else(|| Ok(b"{}".to_vec()), read)?;
    serde_json::from_slice(&text)
        .map_err(|error| Failed::Argument(format!("--body {}: not JSON: {error}", path.unwrap_or_default().display())))
}

fn headers(from: &[(String, String)]) -> Result<Vec<ExtraHeader>, Failed> {
    let header = |(name, file): &(String, String)| {
        let text = String::from_utf8(read(file.as_ref())?)
            .map_err(|_| Failed::Argument(format!("--header-from {name}={file}: not UTF-8")))?;
        let value = SecretString::from(text.trim_end().to_owned());
        Ok(ExtraHeader { name: name.clone(), value, is_masked: true })
    };
    from.iter().map(header).collect()
}
