//! Where the API server is and through which proxy it is reached, with the rules of kubectl: the `proxy-url` of the
//! kubeconfig, otherwise the proxy of the environment, which `NO_PROXY` and addresses of this machine exclude. A pod
//! reaches its own API server without one.
//!
//! kube-rs reads the same variables, but compares `NO_PROXY` with the address of the proxy instead of that of the API
//! server, and refuses a value without a scheme.

use http::Uri;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tower::BoxError;

/// An API server, and how to reach it.
#[derive(Clone, Debug)]
pub struct Access {
    /// Address, certificates and user. Its `proxy_url` is not used.
    pub config: Config,
    /// The proxy; `None`: the API server is called directly.
    pub proxy: Option<Intercept>,
}

impl Access {
    /// Reaches the API server directly.
    pub fn direct(config: Config) -> Self {
        Self { config, proxy: None }
    }

    /// Reads a context of a kubeconfig; `None`: the current one.
    ///
    /// # Errors
    /// If there is no such context, or if it cannot be used.
    pub async fn of_kubeconfig(kubeconfig: Kubeconfig, context: Option<&str>) -> Result<Self, BoxError> {
        let named = named_proxy(&kubeconfig, context);
        let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
        let proxy = match named {
            Some((cluster, url)) => {
                let proxy = Matcher::builder().all(url).build().intercept(&config.cluster_url);
                // It may contain a password, so it is not quoted.
                let form = "give http://, https:// or socks5:// with host and port";
                Some(proxy.ok_or_else(|| format!("the proxy-url of cluster {cluster} cannot be used: {form}"))?)
            }
            None if is_this_machine(&config.cluster_url) => None,
            None => Matcher::from_env().intercept(&config.cluster_url),
        };
        Ok(Self { config, proxy })
    }
}

/// Returns the cluster of the context and its `proxy-url`, if it has one.
fn named_proxy(kubeconfig: &Kubeconfig, context: Option<&str>) -> Option<(String, String)> {
    let context = context.or(kubeconfig.current_context.as_deref())?;
    let context = kubeconfig.contexts.iter().find(|named| named.name == context)?.context.as_ref()?;
    let named = kubeconfig.clusters.iter().find(|named| named.name == context.cluster)?;
    let url = named.cluster.as_ref()?.proxy_url.clone().filter(|url| !url.is_empty())?;
    Some((named.name.clone(), url))
}

/// Returns whether this is `localhost` or a loopback address, which no proxy of the environment reaches.
fn is_this_machine(url: &Uri) -> bool {
    let host = url.host().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    address.map_or_else(|_| host.eq_ignore_ascii_case("localhost"), |address| address.is_loopback())
}
