//! Packets between the operator and the API server are lost without an error: connections stay open, and nothing
//! arrives.

use connect_operator::operator::clients::cluster_access::Access;
use connect_operator::operator::clients::kube_client::{self, Limits};
use kube::api::{Api, WatchParams};
use kube::config::KubeConfigOptions;
use kube::{Config, config::Kubeconfig};
use tokio::task::JoinSet;

use crate::patience::patience;
use crate::prelude::*;

/// Long enough for a real response on a slow machine.
const LIMITS: Limits = Limits {
    answer: Duration::from_secs(10),
    silence: Duration::from_mins(2),
    ping: Duration::from_secs(10),
    namespaces: 1,
    repeats: false,
};

/// What happens to packets.
#[derive(Clone, Copy, Debug, Default)]
struct Packets {
    /// How often the connections that were open then lost everything.
    losses: u32,
    /// Whether new connections lose everything, too.
    all_lost: bool,
}

/// A TCP proxy that forwards everything, until packets are lost.
struct Road {
    address: SocketAddr,
    packets: watch::Sender<Packets>,
    /// Number of connections that the client has opened.
    opened: watch::Sender<usize>,
    _serving: JoinSet<()>,
}

impl Road {
    async fn to(upstream: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, packets) = (listener.local_addr().unwrap(), watch::Sender::default());
        let opened = watch::Sender::default();
        let mut serving = JoinSet::new();
        let (losses, count) = (packets.clone(), opened.clone());
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (inbound, _) = listener.accept().await.unwrap();
                count.send_modify(|opened| *opened += 1);
                connections.spawn(hand_on(inbound, upstream, losses.subscribe()));
            }
        });
        Self { address, packets, opened, _serving: serving }
    }

    /// From now on nothing arrives on the connections that are open now, in either direction, and none of them is
    /// closed.
    fn lose_all(&self) {
        self.packets.send_modify(|packets| packets.losses += 1);
    }

    /// The same, also for connections that are opened later.
    fn lose_everything(&self) {
        self.packets.send_modify(|packets| *packets = Packets { losses: packets.losses + 1, all_lost: true });
    }

    /// Connections that are opened from now on work.
    fn forward_again(&self) {
        self.packets.send_modify(|packets| packets.all_lost = false);
    }
}

async fn hand_on(mut inbound: TcpStream, upstream: SocketAddr, mut packets: watch::Receiver<Packets>) {
    let Packets { losses, all_lost } = *packets.borrow_and_update();
    if all_lost {
        std::future::pending::<()>().await;
    }
    let lost = async { while packets.borrow_and_update().losses == losses && packets.changed().await.is_ok() {} };
    let mut outbound = TcpStream::connect(upstream).await.unwrap();
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) = (inbound.split(), outbound.split());
    tokio::select! {
        _ = tokio::io::copy(&mut from_client, &mut to_server) => {}
        _ = tokio::io::copy(&mut from_server, &mut to_client) => {}
        () = lost => std::future::pending().await,
    }
}

/// The operator's client, through this proxy.
async fn client(shop: &Shop, limits: Limits) -> (Road, Client) {
    let kubeconfig = Kubeconfig::read_from(shop.sandbox.kubeconfig()).unwrap();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    let port = config.cluster_url.port_u16().unwrap();
    let road = Road::to(([127, 0, 0, 1], port).into()).await;
    config.cluster_url = format!("https://{}", road.address).parse().unwrap();
    (road, kube_client::client(Access::direct(config), limits).unwrap())
}

#[tokio::test]
async fn many_requests_and_watches_share_few_connections() {
    let shop = Shop::open().await;
    // Nothing is lost here, so no limit may be reached, however slow the machine is.
    let limits = Limits { answer: patience(), silence: patience(), ping: patience(), namespaces: 200, ..LIMITS };
    let (road, client) = client(&shop, limits).await;
    client.apiserver_version().await.expect("the API server responds");
    let burst = (0..300).map(|_| client.apiserver_version());
    futures::future::try_join_all(burst).await.expect("the API server responds");
    assert!(*road.opened.borrow() <= 2, "requests share a connection, once the protocol is known");

    // The watches of 200 namespaces, of 7 kinds each: more than a connection carries.
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), &shop.sandbox.namespace);
    let params = WatchParams::default();
    let watches = (0..1400).map(|_| api.watch(&params, "0"));
    let watches = futures::future::try_join_all(watches).await.expect("each begins, although none ends");
    let answered = in_time(client.apiserver_version()).await.expect("watches hold up no other request");
    answered.expect("the API server responds");
    let opened = *road.opened.borrow();
    assert!(opened <= 2 + 32, "{opened} connections");
    drop(watches);
}

/// A shop with a live deployment, whose operator reaches the API server on this road, with a client that fails on demand.
async fn live() -> (Shop, Road, Unreliable) {
    let mut shop = Shop::open().await;
    shop.stop_operator().await;
    let (road, client) = client(&shop, LIMITS).await;
    let (unreliable, client) = Unreliable::client(&client, &shop.clock);
    shop.start_operator_as(client);
    shop.put_token("first-token-of-the-shop").await;
    shop.deploy().await;
    (shop, road, unreliable)
}

async fn until_redeployed(shop: &Shop) {
    until("the change is deployed", async || shop.calls("updateDeploymentById") > 0).await;
    shop.until_reason("Deployed").await;
    assert_eq!(shop.sent(), [1, 1, 0]);
}

/// At the same time, because both spend most of their time waiting.
#[tokio::test]
async fn what_is_sent_into_silence_ends_and_is_repeated() {
    futures::future::join(silent_connections_are_closed(), a_request_of_a_reconcile_ends()).await;
}

/// And no event is missed.
async fn silent_connections_are_closed() {
    let (shop, road, _unreliable) = live().await;
    road.lose_all();
    shop.sandbox.apply(&shop.with_level("debug")).await.unwrap();
    until_redeployed(&shop).await;
}

/// The number of reconciles of deployments that ended because the API server did not answer.
fn without_answer(shop: &Shop) -> u64 {
    let page = shop.metrics.as_ref().unwrap().encode();
    let line = "connect_operator_reconciles_total{kind=\"ConnectorDeployment\",reason=\"ClusterError\"} ";
    page.lines().find_map(|found| found.strip_prefix(line)).map_or(0, |count| count.parse().unwrap())
}

/// Although nothing arrives.
async fn a_request_of_a_reconcile_ends() {
    let (shop, road, unreliable) = live().await;
    assert_eq!(without_answer(&shop), 0);

    // The operation of the redeploy is about to be written when the connection is lost.
    unreliable.hold(Hold::DeploymentStatuses);
    shop.sandbox.apply(&shop.with_level("debug")).await.unwrap();
    unreliable.until_held(1).await;
    road.lose_everything();
    unreliable.release();
    // It ends while everything is still lost, so by its time limit; the next one needs a new connection, and ends, too.
    for times in [1, 2] {
        until(&format!("reconcile {times} ends"), async || without_answer(&shop) >= times).await;
        assert_eq!(shop.calls("updateDeploymentById"), 0, "nothing is sent that was not persisted");
    }

    road.forward_again();
    until_redeployed(&shop).await;
}
