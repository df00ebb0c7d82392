//! Credentials file for the official command line client, with a token of this server. The client can log in only at
//! the service, so the dev server writes the file that a login would write.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::state::Shared;
use super::state_file::write_private;
use connect_api::model::REGIONS;

/// Folder of the credentials, below the home folder.
const FOLDER: &str = ".commercetools";
const FILE: &str = "credentials";

/// Why the file was not written.
#[derive(Debug, thiserror::Error)]
pub enum CliCredentialsError {
    /// The catalogue has no client with a scope of a project.
    #[error("credentials for the official client: the catalogue has no client with a scope of a project")]
    NoClient,
    /// The file contains another login.
    #[error("{0} contains another login, which is not overwritten; choose another folder")]
    Taken(PathBuf),
    /// The file or its folder cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file or its folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// Writes `HOME/.commercetools/credentials` for the first client of the catalogue, readable by its owner only. Does not
/// overwrite a file with another login.
pub(super) async fn write(shared: &Shared, home: &Path) -> Result<(), CliCredentialsError> {
    let client = shared.world().catalogue().clients.first().cloned().ok_or(CliCredentialsError::NoClient)?;
    let project = client.scopes.iter().find_map(|scope| scope.split_once(':')).map(|(_, project)| project.to_owned());
    let project = project.ok_or(CliCredentialsError::NoClient)?;
    let now = shared.clock.now();
    let lifetime = shared.options.token_lifetime;
    let form = [("grant_type", "client_credentials"), ("client_id", &client.id), ("client_secret", &client.secret)];
    let form: Vec<_> = form.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let granted = shared.tokens().grant(std::slice::from_ref(&client), None, &form, lifetime, now);
    let granted = granted.map_err(|_| CliCredentialsError::NoClient)?;
    let content = json!({
        "authentication": "client-credentials",
        "clientId": client.id,
        "clientSecret": client.secret,
        "projectKey": project,
        "scope": granted["scope"],
        "region": REGIONS[0],
        "accessToken": granted["access_token"],
        "refreshToken": null,
        "issuedAt": now.as_millisecond(),
        "expiresAt": clock::later(now, lifetime).as_millisecond(),
    });
    let folder = home.join(FOLDER);
    let file = folder.join(FILE);
    let failed = |source| CliCredentialsError::Io { path: file.clone(), source };
    match tokio::fs::read(&file).await {
        Ok(found) if !is_ours(&found, &client.id) => return Err(CliCredentialsError::Taken(file)),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        Ok(_) | Err(_) => {}
    }
    tokio::fs::create_dir_all(&folder).await.map_err(failed)?;
    write_private(&file, content.to_string().as_bytes()).await.map_err(failed)
}

fn is_ours(content: &[u8], client: &str) -> bool {
    serde_json::from_slice::<Value>(content).is_ok_and(|found| found["clientId"] == client)
}
