//! Packets between the operator and the API server are lost without an error: connections stay open, and nothing
//! arrives.

use std::net::SocketAddr;
use std::time::Duration;

use connect_operator::controllers::connection::{self, Limits};
use kube::config::KubeConfigOptions;
use kube::{Client, Config, config::Kubeconfig};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::patience::in_time;
use crate::shop::{SECRET, Shop};

/// Long enough for a real response on a slow machine.
const LIMITS: Limits = Limits { answer: Duration::from_secs(20), silence: Duration::from_secs(30) };

/// A TCP proxy that forwards everything, until packets are lost.
struct Road {
    address: SocketAddr,
    lost: watch::Sender<u32>,
    _serving: JoinSet<()>,
}

impl Road {
    async fn to(upstream: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, lost) = (listener.local_addr().unwrap(), watch::Sender::new(0));
        let mut serving = JoinSet::new();
        let losses = lost.clone();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (inbound, _) = listener.accept().await.unwrap();
                connections.spawn(hand_on(inbound, upstream, losses.subscribe()));
            }
        });
        Self { address, lost, _serving: serving }
    }

    /// From now on nothing arrives on the connections that are open now, in either direction, and none of them is
    /// closed.
    fn lose_all(&self) {
        self.lost.send_modify(|times| *times += 1);
    }
}

async fn hand_on(mut inbound: TcpStream, upstream: SocketAddr, mut lost: watch::Receiver<u32>) {
    let mut outbound = TcpStream::connect(upstream).await.unwrap();
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut inbound, &mut outbound) => {}
        _ = lost.changed() => std::future::pending().await,
    }
}

/// The operator's client, through this proxy.
async fn client(shop: &Shop) -> (Road, Client) {
    let kubeconfig = Kubeconfig::read_from(shop.sandbox.kubeconfig()).unwrap();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    let port = config.cluster_url.port_u16().unwrap();
    let road = Road::to(([127, 0, 0, 1], port).into()).await;
    config.cluster_url = format!("https://{}", road.address).parse().unwrap();
    (road, connection::client(config, LIMITS).unwrap())
}

#[tokio::test]
async fn silent_connections_are_closed_and_no_event_is_missed() {
    let mut shop = Shop::open().await;
    shop.stop_operator().await;
    let (road, client) = client(&shop).await;
    shop.start_operator_as(client);
    shop.put_secret(SECRET, &[("token", "first-token-of-the-shop")]).await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    shop.until_reason("Deployed").await;

    road.lose_all();
    let mut changed = shop.deployment();
    changed["spec"]["configurations"][0]["standardConfiguration"][0]["value"] = json!("debug");
    shop.sandbox.apply(&changed).await.unwrap();
    let redeployed = async {
        while shop.calls("updateDeploymentById") == 0 {
            shop.clock.sleep(Duration::from_millis(100)).await;
        }
    };
    in_time(redeployed).await.expect("the change is deployed");
    shop.until_reason("Deployed").await;
    assert_eq!(shop.calls("createDeployment"), 1);
    assert_eq!(shop.calls("updateDeploymentById"), 1);
}
